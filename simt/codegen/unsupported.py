"""The exception for PTX that simt does not run."""

from __future__ import annotations

from simt.ptx.syntax import Instruction

__all__ = ["Unsupported"]


class Unsupported(Exception):
    """PTX that simt does not run, with the instruction that says so."""

    def __init__(self, message: str, instruction: Instruction | None = None):
        super().__init__(message)
        self.instruction = instruction
