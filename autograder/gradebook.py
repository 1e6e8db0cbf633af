"""Scores and comments into nbgrader's gradebook. A manual score is never touched, and writing the same again changes nothing."""

import warnings
from datetime import datetime

from nbgrader.api import Assignment, Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import func
from sqlalchemy.exc import SAWarning

from lessons._build.lesson import Lesson

from .course_error import CourseError
from .course_folder import CourseFolder
from .record import GRADED, Marks, QuestionRecord, Record, read_record

NO_RESPONSE = "No response."  # nbgrader's own words, which its formgrader knows


class GradebookReader:
    """Open it once for many questions: opening the gradebook costs more than reading a submission."""

    def __init__(self, course: CourseFolder):
        self._course = course
        self._gradebook = Gradebook(course.db_url, course.directory.course_id)
        self._penalties = AssignLatePenalties(config=course.config)  # holds the plugin that the course's configuration names
        self._penalties.init_plugin()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self._gradebook.close()

    def require_assignment(self, lesson: Lesson) -> None:
        """CourseError if the gradebook does not have this lesson's questions with these points."""
        assignment = lesson.entry.notebook
        known = self.max_scores(assignment)
        if known != {cell.key: float(cell.points) for cell in lesson.cells if cell.points}:
            raise CourseError(f"{assignment} in the gradebook has other questions or points than this version of the lesson: make a new "
                              f"course from it, or grade with the version that the course was made from | "
                              f"成绩册中 {assignment} 的题目或分值与当前版本的课程不同：请用它建立新课程，或用建立课程时的版本评阅")

    def max_scores(self, assignment: str) -> dict[str, float]:
        """grade id → points at most, in the order of the notebook. CourseError if the gradebook does not have this assignment."""
        try:
            return {cell.name: cell.max_score for cell in self._gradebook.find_notebook(assignment, assignment).grade_cells}
        except MissingEntry:
            raise CourseError(f"the gradebook does not know {assignment}: nbgrader generate_assignment {assignment} | "
                              f"成绩册中没有 {assignment}：请先运行 nbgrader generate_assignment {assignment}") from None

    def students(self) -> dict[str, tuple[str, str, str]]:
        """id → first name, last name, email; "" where the gradebook has none."""
        return {student.id: (student.first_name or "", student.last_name or "", student.email or "")
                for student in self._gradebook.students}

    def marks(self, assignment: str, student: str) -> dict[str, Marks]:
        """By grade id; empty before the first grading."""
        notebook = self._notebook(assignment, student)
        grades = notebook.grades if notebook else []
        return {grade.name: Marks(grade.auto_score, grade.manual_score, grade.extra_credit or 0.0, grade.needs_manual_grade)
                for grade in grades}

    def comments(self, assignment: str, student: str) -> dict[str, str]:
        """grade id → what a person wrote about the answer."""
        notebook = self._notebook(assignment, student)
        return {comment.name: comment.manual_comment for comment in notebook.comments if comment.manual_comment} if notebook else {}

    def waiting(self, assignment: str) -> dict[str, int]:
        """student → how many of their answers a person has to look at; only those who have some."""
        found = (self._gradebook.db.query(SubmittedAssignment.student_id, func.count(Grade.id))
                 .select_from(Grade).join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
                 .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                 .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
                 .filter(Assignment.name == assignment, Grade.needs_manual_grade.is_(True)).group_by(SubmittedAssignment.student_id))
        return dict(found.all())

    def late_penalty(self, assignment: str, student: str) -> float:
        """By nbgrader's own rule, for the due date and the manual scores as they are now: what it has stored may be older."""
        notebook = self._notebook(assignment, student)
        return (self._penalty(notebook) or 0.0) if notebook else 0.0

    def _penalty(self, notebook: SubmittedNotebook) -> float | None:
        late = notebook.assignment.total_seconds_late
        if late <= 0:
            return None
        penalty = self._penalties.plugin_inst.late_submission_penalty(notebook.student.id, notebook.score, late)
        return None if penalty is None else min(max(penalty, 0.0), notebook.score)

    def _notebook(self, assignment: str, student: str) -> SubmittedNotebook | None:
        try:
            return self._gradebook.find_submission_notebook(assignment, assignment, student)
        except MissingEntry:
            return None


class GradebookWriter(GradebookReader):
    def write(self, record: Record, timestamp: datetime | None) -> None:
        """Scores and comments in one transaction: killed in the middle, they are as they were. Then the penalty for being late."""
        gradebook = self._gradebook
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own code, at each new submission
            gradebook.update_or_create_student(record.student)
            submission = gradebook.update_or_create_submission(record.assignment, record.student)
        submission.timestamp = timestamp
        notebook = self._notebook(record.assignment, record.student)
        questions = {question.key: question for question in record.questions}
        new = _new_answers(read_record(self._course.record_file(record.student, record.assignment)), record)
        for grade in notebook.grades:
            score = questions[grade.name].score
            changed, grade.auto_score = grade.auto_score != score, score
            if grade.manual_score is None:
                grade.needs_manual_grade = score is None
            elif changed or grade.name in new:  # who graded by hand looks again: what they saw is no longer what is there
                grade.needs_manual_grade = True
        answers = {question.answer_key: question for question in record.questions}
        for comment in notebook.comments:
            comment.auto_comment = _comment(record, answers[comment.name])
        gradebook.db.commit()
        self._store_penalty(notebook)

    def store_late_penalties(self, assignment: str) -> None:
        """For formgrader: of all submissions, since a due date or a manual score may have changed since they were graded."""
        for notebook in self._gradebook.notebook_submissions(assignment, assignment):
            self._store_penalty(notebook)

    def _store_penalty(self, notebook: SubmittedNotebook) -> None:
        penalty = self._penalty(notebook)
        if notebook.late_submission_penalty != penalty:
            notebook.late_submission_penalty = penalty
            self._gradebook.db.commit()


def _new_answers(earlier: Record | None, record: Record) -> set[str]:
    """The questions whose answer is another than before, or may be."""
    if earlier and earlier.sha256 == record.sha256:
        return set()
    before = {question.key: question.answer for question in earlier.questions} if earlier else {}
    return {question.key for question in record.questions if not question.answer or question.answer != before.get(question.key)}


def _comment(record: Record, question: QuestionRecord) -> str | None:
    if record.status != GRADED:
        return str(record.reason)[:1000]
    if question.score is None and question.note:
        return str(question.note)
    return NO_RESPONSE if question.untouched else None
