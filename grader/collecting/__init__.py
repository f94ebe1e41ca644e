"""Hand-ins out of whatever a class comes as: folders, zips, nbgrader's folders, downloads of learning platforms.

Nothing is unpacked to disk and nothing is run: a hand-in is bytes with a name and a time.
"""

from __future__ import annotations

from grader.collecting.hand_ins import Collected, CollectingProblem, HandIn, Student, collect
from grader.collecting.namesakes import as_known

__all__ = ["Collected", "CollectingProblem", "HandIn", "Student", "as_known", "collect"]
