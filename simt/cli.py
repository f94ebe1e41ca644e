"""`python -m simt`: run a kernel file without a GPU, or list what PTX runs.

Exit status of `run`: 0 ran and clean, 1 findings (also a launch or a launch file that is refused), 2 did not compile,
3 not supported, 4 stopped by a budget, 5 internal failure. A command line that cannot be read exits with 2 as well, and so
does a kernel or a launch file, whose status in JSON is `unreadable`, and a place for a file that cannot be written
(`unwritable`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simt.events import ALL_CHECKS

if TYPE_CHECKING:
    from simt.cli_run import RunReport
    from simt.warp_trace import WarpRequest

__all__ = ["main"]

USAGE, NOT_SUPPORTED, INTERNAL_FAILURE, INTERRUPTED = 2, 3, 5, 130
Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; answers with its exit status."""
    arguments = _parser().parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a kernel's comment may hold letters that the terminal lacks
    try:
        status = arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _lose_output()
        return 0
    except OSError as error:
        _lose_output()
        print(f"error: cannot write to standard output: {error.strerror}", file=sys.stderr)
        print("  help: make room, or send it elsewhere", file=sys.stderr)
        return INTERNAL_FAILURE


def _lose_output() -> None:
    """What is still to be written goes nowhere: Python would complain again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simt", description="CUDA C++ on a CPU: results, counters, findings."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="compile and launch a kernel file", description=__doc__.split("\n\n")[1])
    run.add_argument("kernel", type=Path, metavar="KERNEL.cu|.ptx")
    run.add_argument("--launch", type=Path, required=True, metavar="LAUNCH.toml", help="grid, block and arguments")
    run.add_argument("--json", action="store_true", help="print JSON instead of text")
    run.add_argument("--arch", help="what to compile for, such as sm_90; the launch file's or sm_80 when left out")
    run.add_argument("--check", type=_checks, default=ALL_CHECKS, metavar="all|none|NAME,…",
                     help=f"checks to make: {', '.join(sorted(ALL_CHECKS))}")  # fmt: skip
    run.add_argument("--out", type=Path, metavar="DIR", help="write every output there as NAME.npy")
    run.add_argument("--threads", type=_threads, metavar="N", help="native threads; all cores when left out")
    run.add_argument(
        "--suppress", type=Path, metavar="FILE.toml", help="findings that are accepted, each with its reason"
    )
    run.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings there as SARIF 2.1.0")
    run.add_argument("--trace", type=_warp, metavar="BLOCK:WARP", help="follow one warp, such as 0:1 or 2,0,0:3")
    run.add_argument("--trace-out", type=Path, metavar="FILE.json", help="where its steps go; trace.json when left out")
    run.set_defaults(run=_guarded(_run_and_print))
    _add_estimates(commands)
    coverage = commands.add_parser("coverage", help="the table of PTX instructions: what runs, what does not")
    coverage.set_defaults(run=_coverage)
    return parser


def _add_estimates(commands: argparse._SubParsersAction) -> None:
    """`estimate` and `compare`."""
    estimate = commands.add_parser(
        "estimate", help="time of a kernel at full size on a GPU, from a sample of its blocks"
    )
    estimate.add_argument("kernel", type=Path, metavar="KERNEL.cu|.ptx")
    estimate.add_argument("--launch", type=Path, required=True, metavar="LAUNCH.toml", help="grid, block and arguments")
    estimate.add_argument("--gpu", required=True, help="a product such as h200, a100-80 or t4")
    estimate.add_argument("--json", action="store_true", help="print JSON instead of text")
    estimate.set_defaults(run=_guarded(_estimate))
    compare = commands.add_parser("compare", help="counters of two runs; exit status 1 on a regression")
    compare.add_argument("before", type=Path, metavar="A.json", help="what `simt run --json` printed before")
    compare.add_argument("after", type=Path, metavar="B.json", help="and now")
    compare.add_argument("--fail-on", action="append", default=[], metavar="COUNTER>+PERCENT%",
                         help="what is a regression, such as 'global_load_sectors>+2%%'; may be given again")  # fmt: skip
    compare.add_argument("--json", action="store_true", help="print JSON instead of a table")
    compare.set_defaults(run=_guarded(_compare))


def _checks(text: str) -> frozenset[str]:
    if text in ("all", "none"):
        return ALL_CHECKS if text == "all" else frozenset()
    names = frozenset(name.strip() for name in text.split(","))
    unknown = sorted(names - ALL_CHECKS)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no check is called {unknown[0]!r}; there are {', '.join(sorted(ALL_CHECKS))}"
        )
    return names


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads, 1 or more")
    return int(text)


def _guarded(command: Command) -> Command:
    """The command, with what it did not foresee told in words and by the exit status."""

    def run(arguments: argparse.Namespace) -> int:
        try:
            return command(arguments)
        except Exception as error:
            if isinstance(error, OSError) and error.filename is None:
                raise  # of standard output: every other file has a name
            return _failed(error, arguments.json)

    return run


def _failed(error: Exception, as_json: bool) -> int:
    import traceback

    from simt.nvrtc import CompilerMissing

    missing = isinstance(error, CompilerMissing)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (at {Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    failure = f"simt failed: {type(error).__name__}: {error}{place}. Please report it with both files"
    message = str(error) if missing else failure
    print(message, file=sys.stderr)
    if as_json:
        print(json.dumps({"status": "not_supported" if missing else "failed", "message": message}))
    return NOT_SUPPORTED if missing else INTERNAL_FAILURE


def _estimate(arguments: argparse.Namespace) -> int:
    from simt.cli_estimate import run_estimate

    return run_estimate(arguments.kernel, arguments.launch, arguments.gpu, arguments.json)


def _compare(arguments: argparse.Namespace) -> int:
    from simt.cli_compare import run_compare

    return run_compare(arguments.before, arguments.after, arguments.fail_on, arguments.json)


def _run_and_print(arguments: argparse.Namespace) -> int:
    from simt.cli_report import report_json, report_text, write_outputs
    from simt.cli_run import RunOptions, run_files

    options = RunOptions(
        arguments.arch, arguments.check, arguments.threads, suppress=arguments.suppress, steps=arguments.trace
    )
    report = run_files(arguments.kernel, arguments.launch, options)
    paths: dict[str, Path] = {}
    try:
        if arguments.out:
            paths = write_outputs(report, arguments.out)
        if arguments.sarif:
            _write_sarif(report, arguments)
        if arguments.trace:
            _write_traces(report, arguments.trace_out or Path("trace.json"))
    except OSError as error:
        message = f"cannot write to {error.filename or arguments.out}: {error.strerror}; choose another place"
        print(message, file=sys.stderr)
        if arguments.json:
            print(json.dumps({"status": "unwritable", "message": message}))
        return USAGE
    if arguments.json:
        print(json.dumps(report_json(report, paths)))
    else:
        print(report_text(report, paths), end="")
    return report.exit_status


def _warp(text: str) -> WarpRequest:
    """`1,0,0:2` or `1:2`: a block's coordinates and a warp."""
    from simt.warp_trace import WarpRequest

    block, _, warp = text.partition(":")
    parts = block.split(",")
    if not warp.isdecimal() or not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not BLOCK:WARP, such as 0:1 or 2,0,0:3")
    x, y, z = (*map(int, parts), 0, 0)[:3]
    return WarpRequest((x, y, z), int(warp))


def _write_traces(report: RunReport, path: Path) -> None:
    traces = [run.result.warp_trace.to_json() for run in report.runs if run.result.warp_trace]
    path.write_text(json.dumps({"traces": traces}, allow_nan=False) + "\n", encoding="utf-8")


def _write_sarif(report: RunReport, arguments: argparse.Namespace) -> None:
    from simt.sarif import sarif

    arguments.sarif.write_text(json.dumps(sarif(report, arguments.kernel), indent=1) + "\n", encoding="utf-8")


def _coverage(arguments: argparse.Namespace) -> int:
    from simt.isa.coverage import coverage

    print(coverage())
    return 0
