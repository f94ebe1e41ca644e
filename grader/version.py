"""The version of this project, `grader` and `simt` alike, as pyproject.toml has it."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
