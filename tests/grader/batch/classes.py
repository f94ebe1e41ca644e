"""Classes made up for tests: folders of students with right, wrong and awkward notebooks, each text a different one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

SOLVE = """extern "C" __global__ void solve(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}  // {salt}"""
BODIES = {
    "right": "if (i < n) y[i] = x[i] * x[i] + 1.0f;",
    "no-guard": "y[i] = x[i] * x[i] + 1.0f;",
    "wrong": "if (i < n) y[i] = x[i] + 1.0f;",
    "endless": "while (y[0] > -1e30f || i < n) {{ y[0] += 0.0f; }}",
    "typo": "if (i < n) y[i] = flaot(x[i]);",
}
CELL = """import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    # exercise: {exercise}
    {name}_src = r\"\"\"
{text}
    \"\"\"
    {name}_launch = {{"grid": "ceil_div(n, 256)", "block": 256}}
    return


if __name__ == "__main__":
    app.run()
"""
WHEN = 1_767_225_600  # 2026-01-01 00:00 UTC


def notebook(kind: str, salt: str) -> str:
    """A marimo file that answers `selftest.map` (`solve`), with a text that no other salt gives."""
    text = SOLVE.format(body=BODIES[kind].format(), salt=salt)
    return CELL.format(exercise="selftest.map", name="map", text=text)


def write(path: Path, text: str | bytes, when: int = WHEN) -> Path:
    """Writes a file with a fixed time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, (when, when))
    return path


def make_class(folder: Path, students: Mapping[str, str] | Iterable[str], lesson: str = "selftest") -> Path:
    """A folder a student; `students` maps names to kinds of answer, all right by default."""
    kinds = dict(students) if isinstance(students, Mapping) else dict.fromkeys(students, "right")
    for name, kind in kinds.items():
        write(folder / name / f"{lesson}.py", notebook(kind, name))
    return folder
