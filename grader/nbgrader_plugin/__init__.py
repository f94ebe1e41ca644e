"""nbgrader's preprocessors and table of grades, named in `nbgrader/nbgrader_config.py`; no cell of a student ever runs."""

from grader.nbgrader_plugin.clearing import ClearAnswers
from grader.nbgrader_plugin.exporting import GradesTable
from grader.nbgrader_plugin.feedback import FeedbackPage
from grader.nbgrader_plugin.grading import GradeAnswers, LeaveUnmeasured
from grader.nbgrader_plugin.sanitizing import ForgetStrangers

__all__ = ["ClearAnswers", "FeedbackPage", "ForgetStrangers", "GradeAnswers", "GradesTable", "LeaveUnmeasured"]
