"""Runs hostile texts in child processes and prints what went wrong, each with the command that shows it again.

python -m tests.fuzz [--seconds 600] [--cases N] [--seed 0] [--kind ptx|bytes|cuda] [--only INDEX] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from tests.fuzz.child import KINDS, attempt, text_of
from tests.fuzz.parent import fuzz

BATCH = 200


def main(arguments: list[str] | None = None) -> int:
    """1 when something went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="start no further batch after that time")
    parser.add_argument("--cases", type=int, help="that many cases instead of a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--kind", choices=KINDS, default="")
    parser.add_argument("--only", type=int, metavar="INDEX", help="run one case here, in this process")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the text of every failing case there")
    options = parser.parse_args(arguments)
    if options.only is not None:
        kind, name, data = text_of(options.seed, options.only, options.kind)
        print(f"{kind} from {name}", file=sys.stderr)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{options.seed}-{options.only}.txt").write_bytes(data)
        print(attempt(kind, data, random.Random(f"{options.seed}:{options.only}:run")))
        return 0
    return _many(options)


def _many(options: argparse.Namespace) -> int:
    started, first, n_bad = time.monotonic(), options.first, 0
    while True:
        count = BATCH if options.cases is None else min(BATCH, options.first + options.cases - first)
        outcome = fuzz(options.seed, first, count, options.kind)
        first += count
        for failure in outcome.failures:
            n_bad += 1
            kind = f" --kind {options.kind}" if options.kind else ""
            again = f"python -m tests.fuzz --seed {options.seed}{kind} --only {failure.index}"
            print(f"case {failure.index}: {failure.what}\n  {again}")
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{options.seed}-{failure.index}.txt").write_bytes(
                    text_of(options.seed, failure.index, options.kind)[2]
                )
        words = ", ".join(f"{count} {word}" for word, count in sorted(outcome.ended.items()))
        print(f"{first - options.first} cases, {n_bad} bad; {words}", file=sys.stderr, flush=True)
        done = first - options.first >= options.cases if options.cases is not None else False
        if done or (options.cases is None and time.monotonic() - started > options.seconds):
            return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
