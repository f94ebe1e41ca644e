"""The one setting that making and grading an assignment share: what becomes of points for speed that no GPU measured."""

from __future__ import annotations

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum

from grader.class_file import Unmeasured

__all__ = ["SpeedPolicy"]


class SpeedPolicy(NbGraderPreprocessor):
    """`c.SpeedPolicy.unmeasured_speed` holds for every preprocessor that needs it; `grader.class_file` says what it means."""

    unmeasured_speed = Enum(
        ["", *(policy.value for policy in Unmeasured)],
        default_value="",
        help="Points for speed that no GPU measured: estimate (counts what the estimate decides), pending (the test cell"
        " waits, for a GPU or a person) or waive (made without that cell). Empty: as the class.toml of the store says,"
        " estimate without one.",
    ).tag(config=True)
