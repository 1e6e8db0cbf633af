"""What nbgrader does not do by itself: two steps of ours in its own pipelines. nbgrader_config.py puts them there."""

import re

from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor

ANSI_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class CleanSubmission(NbGraderPreprocessor):
    """Before a submission is run: forget what its file says beyond its cells.

    Widgets: Colab saves them without their `state`, and then no feedback could be made. Tags of graded cells: one with the tag of
    cells that are not run would pass unrun, with all its points. What Colab notes of each run, the student's name among it.
    """

    def preprocess(self, nb, resources):
        nb.metadata.pop("widgets", None)
        for cell in nb.cells:
            cell.metadata.pop("executionInfo", None)
            if "nbgrader" in cell.metadata:
                cell.metadata.pop("tags", None)
        return nb, resources


class HideHiddenChecks(ClearHiddenTests):
    """For feedback: the hidden checks leave the cells, as in the release, and no output keeps a line of their code.

    It gets there when a check is interrupted, since the traceback shows the cell, or when a function cannot take a check's arguments.
    Of a traceback the learner's own frames stay; those of the package, with paths of this machine, go too.
    """

    def preprocess(self, nb, resources):
        hidden = _hidden_lines(nb, self.begin_test_delimeter, self.end_test_delimeter)
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    output.traceback = [frame for frame in output.traceback if not _is_ours(ANSI_COLOR.sub("", frame), hidden)]
                elif output.output_type == "stream":
                    for line in hidden:
                        output.text = output.text.replace(line, "…")
        return super().preprocess(nb, resources)


def _is_ours(frame: str, hidden: list[str]) -> bool:
    return any(line in frame for line in hidden) or re.match(r"File \S.*[/\\]advantagelab[/\\]checking[/\\]", frame) is not None


def _hidden_lines(nb, begin: str, end: str) -> list[str]:
    """The lines that stand between the marks and nowhere else in the notebook; markers included, very short ones left out."""
    hidden, shown = set(), set()
    for cell in nb.cells:
        inside = False
        for line in cell.source.splitlines():
            inside = inside or begin in line
            (hidden if inside else shown).add(line.strip())
            inside = inside and end not in line
    return sorted((line for line in hidden - shown if len(line) > 8), key=len, reverse=True)
