"""docs/sanitizer.md: what compute-sanitizer and `simt` say of each field case, side by side.

    python -m tests.cases.sanitizer_page

The tools' answers are data measured on an H200 (`data/compute_sanitizer_h200.tsv`); ours are made when the page is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from grader.cases import read_case
from simt.diagnostics import Severity
from tests.cases.judged import judged
from tests.cases.run_cases import DATA, case_folders

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sanitizer.md"
MEASURED = DATA / "compute_sanitizer_h200.tsv"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
HEAD = """# Ours beside compute-sanitizer's

Made by `python -m tests.cases.sanitizer_page`. The field cases of `tests/cases/data` are faulty kernels and their repairs.
Each was run on an H200 (driver, CuPy) and under the four tools of compute-sanitizer 2025.3, which is what the columns in
the middle tell; `simt` is what this simulator says, with the line. `found` means that the tool reported something, `hang` that
it had to be ended, `not run` that the launch never started.

Two things to know before one reads it as a contest. The arrays came from CuPy's pool, whose blocks are rounded up: memcheck
missed case 01 for that reason. And the sanitizer looks at machine code and knows nothing of outputs, arguments or
references, where `simt` is told which arrays are outputs; wrong values are found by the grader's comparison.
"""


def measured() -> dict[tuple[str, bool], dict[str, str]]:
    """(case, repaired?) → the row measured on hardware."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return {(row["case"], row["repaired"] == "1"): row for row in csv.DictReader(file, delimiter="\t")}


def page() -> str:
    """The page's text."""
    known, rows, tally = measured(), [], {"faults": 0, "tools": 0, "ours": 0, "repairs": 0, "tool alarms": 0, "our alarms": 0}
    for folder, fixed in _forms():
        row, ours = known.get((folder.name, fixed), {}), _ours(folder, fixed)
        tools = [row.get(name, "") or "–" for name in TOOLS]
        heard = any(word in ("found", "hang") for word in tools)
        tally["repairs" if fixed else "faults"] += 1
        tally["tool alarms" if fixed else "tools"] += heard
        tally["our alarms" if fixed else "ours"] += bool(ours)
        right = {"True": "right", "False": "wrong", "hang": "hang"}.get(row.get("value_right_on_h200", ""), "–")
        form = "repair" if fixed else "fault"
        said = " | ".join(word.replace("-", "–") for word in tools)
        rows.append(f"| {folder.name} | {form} | {right} | {said} | {ours or '–'} |")
    head = ["| case | form | value on the H200 | " + " | ".join(TOOLS) + " | simt |", "|---" * 8 + "|"]
    return "\n".join([HEAD, _summary(tally), *head, *rows]) + "\n"


def _summary(tally: dict[str, int]) -> str:
    return (
        f"Of {tally['faults']} faults the four tools flag {tally['tools']} and `simt` {tally['ours']}; on {tally['repairs']} "
        f"repairs the tools raise {tally['tool alarms']} alarms and `simt` {tally['our alarms']}. "
        "Warnings count as flagged, advice does not.\n"
    )


def _forms() -> Iterator[tuple[Path, bool]]:
    for folder in case_folders():
        for fixed in (False, True)[: 1 + bool(read_case(folder).plain.get("has_fixed"))]:
            yield folder, fixed


def _ours(folder: Path, fixed: bool) -> str:
    """Checks with their lines, errors first; "" for none."""
    report = judged(folder, fixed).report
    if report is None:
        return ""
    expected = read_case(folder).plain["expected"]["check"]
    said = [row for row in report.diagnostics if row.severity is not Severity.ADVICE or (row.check == expected and not fixed)]
    words = [f"`{row.check}`" + (f" line {row.line}" if row.line else "") for row in said]
    return ", ".join(dict.fromkeys(words))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
