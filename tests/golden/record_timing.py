"""Records whether the timing holds what it promises on a GPU: run it on a machine that has one.

    python3 tests/golden/record_timing.py --out FOLDER [--seconds 520] [--only aa_idle slower_idle ...]

Each part runs in a process of its own and leaves its result in a temporary folder; a part whose result is there is not
run again, so an interrupted recording goes on where it stopped. `FOLDER/timing.json` holds all parts with the versions
of GPU, driver and tools, and `timing_traces.npz` the recorded pairs. It needs CuPy, NumPy, llvmlite, filelock and an
NVRTC. `--only course` records what the course's goals say on the simulator and on this GPU, in `course.json`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# part -> seconds it gets at most; in the order of what would be missed most.
PARTS = {
    "machine": 30,
    "profiler": 45,
    "limits": 60,
    "aa_idle": 75,
    "aa_neighbour": 60,
    "slower_idle": 70,
    "slower_neighbour": 55,
    "attacks": 75,
    "threshold": 25,
    "reversed": 20,
    "durations": 30,
    "course": 480,
}
ALONE = ("course",)  # only where it is asked for, and into a file of its own
NEIGHBOURS = {"aa_neighbour", "slower_neighbour"}


def main() -> None:
    """Runs the parts that the command line asks for, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--seconds", type=float, default=520.0, help="for everything; parts that do not fit are left out"
    )
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(p for p in PARTS if p not in ALONE))
    parser.add_argument("--part", choices=tuple(PARTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        _one(arguments.part, arguments.out, arguments.seconds)
        return
    work = Path(tempfile.gettempdir()) / "warpwise-timing"
    for folder in (arguments.out, work):
        folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.seconds
    for part in arguments.only:
        _start(part, work, end)
        _gather(work, arguments.out)


def _start(part: str, out: Path, end: float) -> None:
    """One part in its own process, with what is left of the time; a failure is printed and the next part runs."""
    left = min(end - time.monotonic(), PARTS[part])
    if (out / f"{part}.json").exists():
        print(f"{part}: there already", flush=True)
        return
    if left < 12:
        print(f"{part}: no time left", flush=True)
        return
    command = [sys.executable, str(Path(__file__).resolve()), "--out", str(out), "--part", part, "--seconds", str(left)]
    neighbour = _neighbour() if part in NEIGHBOURS else None
    started = time.monotonic()
    try:
        code = subprocess.run(command, timeout=left + 45).returncode
        print(f"{part}: exit {code}, {time.monotonic() - started:.0f} s", flush=True)
    except subprocess.TimeoutExpired:
        print(f"{part}: did not end", flush=True)
    finally:
        if neighbour is not None:
            neighbour.kill()
            neighbour.wait()


NEIGHBOUR = """
import random, sys, time
import cupy
a, b = (cupy.zeros(64 << 20, cupy.float32) for _ in range(2))
print("ready", flush=True)
rng = random.Random(7)
while True:
    for _ in range(rng.randrange(1, 40)):
        cupy.cuda.runtime.memcpyAsync(b.data.ptr, a.data.ptr, a.nbytes, 3, 0)
    cupy.cuda.runtime.deviceSynchronize()
    time.sleep(rng.random() * 0.004)
"""


def _neighbour() -> subprocess.Popen:
    """A process that copies blocks of 256 MiB at random times."""
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _one(part: str, out: Path, seconds: float) -> None:
    """Runs one part in this process."""
    from tests.golden import timing_parts

    found = getattr(timing_parts, part)(time.monotonic() + seconds - 5)
    traces = found.pop("traces", None)
    if traces:
        np.savez_compressed(
            out / f"{part}.npz", **{name: np.asarray(rows, np.float32) for name, rows in traces.items()}
        )
    (out / f"{part}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps({part: found.get("summary", found)}, ensure_ascii=False)[:1500], flush=True)


def _gather(work: Path, out: Path) -> None:
    """Puts all parts so far into one file, all traces into another, and what tools said word for word into a third."""
    found = {
        part: json.loads((work / f"{part}.json").read_text()) for part in PARTS if (work / f"{part}.json").exists()
    }
    said = found.get("profiler", {}).pop("said", None)
    if said:
        (out / "tools_said.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, names in (("timing", [part for part in PARTS if part not in ALONE]), *((part, [part]) for part in ALONE)):
        parts = {part: found[part] for part in names if part in found}
        if parts:
            (out / f"{name}.json").write_text(_text(parts), encoding="utf-8")
    traces = {}
    for path in sorted(work.glob("*.npz")):
        with np.load(path) as arrays:
            traces |= {f"{path.stem}.{name}": arrays[name] for name in arrays.files}
    if traces:
        np.savez_compressed(out / "timing_traces.npz", **traces)


def _text(value: object, depth: int = 0) -> str:
    """JSON with a line for each row of a list and each entry of the upper levels: readable, and short in a difference."""
    if depth < 3 and isinstance(value, (dict, list)) and value:
        entries = (
            [f"{json.dumps(k)}: {_text(v, depth + 1)}" for k, v in value.items()]
            if isinstance(value, dict)
            else [json.dumps(row, ensure_ascii=False) for row in value]
        )
        lines = ",\n".join(" " * (depth + 1) + entry for entry in entries)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}\n{lines}\n{' ' * depth}{closing}" + ("\n" if depth == 0 else "")
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
