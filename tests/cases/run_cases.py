"""Runs field cases and prints a table: what was found against what is expected, for each fault and each repair.

    python -m tests.cases.run_cases [FOLDER] [--device simulator|cuda] [--only TEXT] [--verbose]

FOLDER holds one folder per case; the default is the public set beside this file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.case_runs import Judgement, judge
from grader.cases import read_case

__all__ = ["DATA", "case_folders", "main", "table"]

DATA = Path(__file__).with_name("data")


def case_folders(folder: Path = DATA, only: str = "") -> list[Path]:
    """The case folders in `folder`, sorted, whose name or kind holds `only`."""
    found = sorted(path.parent for path in folder.glob("*/case.json"))
    return [path for path in found if only in path.name or only == read_case(path).plain.get("kind")]


def table(folders: list[Path], device) -> Iterator[tuple[Path, bool, Judgement]]:
    """(folder, repaired?, judgement) for each case in both forms."""
    for folder in folders:
        for fixed in (False, True)[: 1 + bool(read_case(folder).plain.get("has_fixed"))]:
            yield folder, fixed, judge(folder, fixed, device)


def _row(folder: Path, fixed: bool, judgement: Judgement) -> str:
    report = judgement.report
    expected = "clean" if fixed else "{check} {line}".format(**read_case(folder).plain["expected"])
    words = f"; not said: {', '.join(judgement.missing_words)}" if judgement.missing_words else ""
    verdict = report.verdict if report else "-"
    advice = sum(f.severity == "advice" for f in report.diagnostics) if report and fixed else 0
    note = f"; {advice} advice" if advice and not judgement.why else ""
    mark = "ok  " if judgement.ok else "FAIL"
    return f"{mark} {folder.name:36} {'repair' if fixed else 'fault':6} {expected:40} {verdict:14} {judgement.why}{words}{note}"


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 1 when a case does not give what it expects."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--device", default="simulator")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="also print every finding")
    options = parser.parse_args(arguments)
    from grader.worker.host import warm_device

    device = warm_device(options.device)
    good = total = 0
    for folder, fixed, judgement in table(case_folders(options.folder, options.only), device):
        good, total = good + judgement.ok, total + 1
        print(_row(folder, fixed, judgement), flush=True)
        if options.verbose and judgement.report:
            for finding in judgement.report.diagnostics:
                print(f"       {finding.severity}[{finding.check}] line {finding.line}/{finding.also_line} "
                      f"{finding.message}\n         help: {finding.help}")  # fmt: skip
    print(f"{good} of {total} as expected")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
