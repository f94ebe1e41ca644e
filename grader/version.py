"""The version of this project, as pyproject.toml has it."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
