"""Which tests need a GPU, found without running or importing any."""

from __future__ import annotations

from pathlib import Path

__all__ = ["gpu_test_files"]

TESTS = Path(__file__).resolve().parents[1]


def gpu_test_files() -> list[Path]:
    """The test files that mark something `gpu`."""
    return [path for path in sorted(TESTS.rglob("test_*.py")) if "mark.gpu" in path.read_text(encoding="utf-8")]
