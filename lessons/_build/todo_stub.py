"""The stub as nbgrader makes it: the build and `nbgrader generate_assignment` share this one class."""

from nbgrader.preprocessors import ClearSolutions

from .regions import stub


class TodoStub(ClearSolutions):
    """Replace each TODO region by `raise NotImplementedError("TODO n: …")`; leave written answers as they are.

    A written answer's cell holds its one bilingual line in the source already, so that it is the same in both languages.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "code":
            if "BEGIN SOLUTION" in cell.source and self.enforce_metadata and not cell.metadata.get("nbgrader", {}).get("solution"):
                raise RuntimeError(f"a TODO region stands in a cell that is not an answer cell:\n{cell.source}")
            cell.source = stub(cell.source)
        return cell, resources
