"""Every diagnostic code with a minimal wrong and right kernel: `diagnostics/CODE.toml`, and docs/diagnostics.md made of them.

    python -m tests.simt.diagnostic_pairs            writes docs/diagnostics.md anew
    python -m tests.simt.diagnostic_pairs CODE …     says what the two kernels of a code raise

Keys of a file: `check` (slug), `meaning`, `wrong` and `right` (texts; without `right` the same text is right under
`right_launch`…), and where they differ from the default: `launch` (or `wrong_launch`, `right_launch`), `…_suppress`,
`…_literal`, `wrong_encoding`, and

    via = "ptx"      the texts are PTX
    via = "map"      they are answers to the exercise selftest.map, judged as the grader does
    via = "python"   they use the library and leave `result`
    case = "NAME"    the kernels of a field case in tests/cases/data, judged as there
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from simt.diagnostics import CATALOGUE, Diagnostic
from simt.events import Budget

__all__ = ["PAGE", "Pair", "found_by", "page", "pairs"]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("diagnostics")
CASES = ROOT / "tests" / "cases" / "data"
PAGE = ROOT / "docs" / "diagnostics.md"
BUDGET = Budget(warp_instructions=3_000_000)
DEFAULT_LAUNCH = """grid = 1
block = 64

[[args]]
name = "x"
dtype = "float32"
shape = [64]
init = "normal:1"

[[args]]
name = "y"
dtype = "float32"
shape = [64]
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """One file: `plain` are its keys."""

    code: str
    plain: dict[str, str]

    @property
    def check(self) -> str:
        return self.plain["check"]

    def text(self, side: str) -> str:
        """The kernel of `wrong` or `right`."""
        if "case" in self.plain:
            name = "kernel.cu" if side == "wrong" else "fixed.cu"
            return (CASES / self.plain["case"] / name).read_text(encoding="utf-8")
        return self.plain.get(side, self.plain.get("wrong", ""))

    def part(self, side: str, key: str) -> str:
        """`wrong_launch`, or else `launch`."""
        return self.plain.get(f"{side}_{key}", self.plain.get(key, ""))


def pairs() -> dict[str, Pair]:
    """Every file, by code."""
    files = sorted(FOLDER.glob("*.toml"))
    return {path.stem: Pair(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))) for path in files}


def found_by(pair: Pair, side: str, device=None) -> tuple[Diagnostic, ...]:
    """What the kernel of one side raises; `device` is the grader's, for those that it judges."""
    if "case" in pair.plain:
        return _judged(pair, side, device)
    if pair.plain.get("via") == "map":
        return _graded(pair, side, device)
    if pair.plain.get("via") == "python":
        names: dict = {}
        exec(compile(pair.text(side), f"{pair.code} {side}", "exec"), names)
        return names["result"].diagnostics
    return _run(pair, side)


def _run(pair: Pair, side: str) -> tuple[Diagnostic, ...]:
    from simt.cli_run import RunOptions, run_files

    suffix = "ptx" if pair.plain.get("via") == "ptx" else "cu"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernel, launch, accepted = folder / f"kernel.{suffix}", folder / "launch.toml", folder / "accepted.toml"
        kernel.write_text(pair.text(side), encoding=pair.part(side, "encoding") or "utf-8")
        launch.write_text(pair.part(side, "launch") or DEFAULT_LAUNCH, encoding="utf-8")
        accepted.write_text(pair.part(side, "suppress"), encoding="utf-8")
        suppress = accepted if pair.part(side, "suppress") else None
        return run_files(kernel, launch, RunOptions(budget=BUDGET, suppress=suppress)).diagnostics


def _graded(pair: Pair, side: str, device) -> tuple[Diagnostic, ...]:
    import json

    from grader.answers import submit
    from grader.exercises import exercise
    from grader.hidden import NO_SEEDS
    from grader.pipeline import grade

    asked = exercise("selftest.map")
    literal = pair.part(side, "literal")
    answer = submit(asked, pair.text(side), json.loads(literal) if literal else None)
    return tuple(grade(answer, asked, device, fresh=False, hidden=NO_SEEDS).diagnostics)


def _judged(pair: Pair, side: str, device) -> tuple[Diagnostic, ...]:
    from grader.case_runs import judge

    report = judge(CASES / pair.plain["case"], side == "right", device).report
    return tuple(report.diagnostics) if report else ()


# --- the page

HEAD = """# Diagnostics

Made by `python -m tests.simt.diagnostic_pairs` from the catalogue in `simt/diagnostics.py` and the kernels in
`tests/simt/diagnostics/`; a test runs every pair: the wrong kernel raises its code, the right one does not. An *error*
refuses an answer and makes `simt run` exit with 1; a *warning* and *advice* never do.

Where nothing else is said, a kernel is launched with one block of 64 threads, `x` holds 64 floats and `y` takes 64.
"""


def page() -> str:
    """The text of docs/diagnostics.md."""
    known = pairs()
    rows = sorted(CATALOGUE.values(), key=lambda row: row.code)
    table = ["| code | check | severity | what |", "|---|---|---|---|"]
    table += [f"| [{r.code}](#{r.code.lower()}) | `{r.slug}` | {r.severity} | {r.title} |" for r in rows]
    parts = [HEAD, "\n".join(table) + "\n"]
    parts += [_section(row.code, known[row.code]) for row in rows if row.code in known]
    return "\n".join(parts)


def _section(code: str, pair: Pair) -> str:
    row = CATALOGUE[pair.check]
    lines = [f"## {code}", "", f"`{row.slug}`, {row.severity}: {row.title}.", "", pair.plain["meaning"].strip(), ""]
    same = pair.text("wrong") == pair.text("right")
    for side in ("wrong", "right"):
        if side == "wrong" or not same:
            lines += [f"{'Kernel' if same else side.capitalize()}:", "", *_block(_language(pair), pair.text(side)), ""]
        for key, language in (("launch", "toml"), ("suppress", "toml"), ("literal", "json")):
            if text := pair.plain.get(f"{side}_{key}", pair.plain.get(key, "") if side == "wrong" else ""):
                said = {"launch": "Launch", "suppress": "Suppression file", "literal": "Launch"}[key]
                which = f", {side}" if f"{side}_{key}" in pair.plain else ""
                lines += [f"{said}{which}:", "", *_block(language, text), ""]
        if encoding := pair.plain.get(f"{side}_encoding"):
            lines += [f"The {side} file is saved as {encoding}.", ""]
    return "\n".join(lines)


def _language(pair: Pair) -> str:
    return {"python": "python", "ptx": "asm"}.get(pair.plain.get("via", ""), "cuda")


def _block(language: str, text: str) -> list[str]:
    return [f"```{language}", *text.strip("\n").split("\n"), "```"]


def main(codes: list[str]) -> None:
    if not codes:
        PAGE.write_text(page(), encoding="utf-8")
        return
    from grader.worker.host import WorkerDevice

    device = WorkerDevice("simulator")
    for code in codes:
        for side in ("wrong", "right"):
            print(
                code,
                side,
                [(found.check, found.line, found.message) for found in found_by(pairs()[code], side, device)],
            )
    device.close()


if __name__ == "__main__":
    main(sys.argv[1:])
