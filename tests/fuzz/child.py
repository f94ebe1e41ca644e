"""The process that runs hostile texts: one line before a case and one after it, so that its end names the case.

    python -m tests.fuzz.child SEED FIRST COUNT KIND

A case that spends `CPU_SECONDS` of processor time is stuck: the kernel ends the process with SIGPROF.
"""

from __future__ import annotations

import collections
import faulthandler
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np

from simt.cli_run import RunOptions, run_files
from simt.engine.state import GLOBAL_BASE
from simt.events import ALL_CHECKS, Argument, Budget, Direction, Status
from simt.kernel_names import find_kernels
from simt.launch import Dim3, LaunchConfig
from simt.program import BuildFailed, Program
from simt.runner.host_memory import GUARD_PAGES
from simt.runner.tensor_maps import map_bytes
from simt.tensor_map import ELEMENTS, MAP_BYTES, Swizzle, TensorMap
from tests.fuzz.corpus import pick, pick_ptx
from tests.fuzz.mutations import mutated_bytes, mutated_cuda, mutated_ptx

__all__ = ["KINDS", "attempt", "text_of"]

KINDS = ("ptx", "bytes", "cuda")
SHARES = {"ptx": 16, "bytes": 3, "cuda": 1}
BUDGET = Budget(warp_instructions=200_000, seconds=3.0, printf_bytes=1 << 14, memory_bytes=256 << 20)
CPU_SECONDS = 20
ADDRESS_SPACE = 12 << 30
LAUNCH = """
grid = 2
block = 64
[[args]]
name = "x"
dtype = "float32"
shape = [64]
init = "normal:7"
dir = "inout"
[[args]]
name = "n"
dtype = "int32"
value = 50
"""


class Mistake(AssertionError):
    """An answer that breaks a promise without raising anything."""


def text_of(seed: int, index: int, kind: str = "") -> tuple[str, str, bytes]:
    """(kind, what it was made from, hostile text) of one case; the same wherever and whenever it is asked for."""
    rng = random.Random(f"{seed}:{index}")
    kind = kind or rng.choices(KINDS, [SHARES[name] for name in KINDS])[0]
    if kind == "cuda":
        text = pick(rng, seed, index)
        return kind, text.name, mutated_cuda(rng, text.source)
    name, ptx = pick_ptx(rng, seed, index)
    if kind == "ptx":
        return kind, name, mutated_ptx(rng, ptx).encode("utf-8", "surrogateescape")
    return kind, name, mutated_bytes(rng, ptx)


def _argument(rng: random.Random, number: int, n_bytes: int) -> Argument:
    """Something for a parameter of that size: an array where a pointer fits."""
    if n_bytes == 8 and rng.random() < 0.9:
        direction = rng.choice((Direction.IN, Direction.OUT, Direction.INOUT))
        return Argument(
            f"a{number}", direction, np.arange(1024, dtype=np.float32), offset_bytes=rng.choice((0, 0, 0, 4, 4096))
        )
    if n_bytes == 4:
        return Argument(f"a{number}", Direction.SCALAR, np.int32(rng.choice((0, 1, 31, 64, 100, 1000, -1, 2**31 - 1))))
    if n_bytes == MAP_BYTES and rng.random() < 0.5:
        return Argument(f"a{number}", Direction.SCALAR, _map(rng, f"m{number}"))
    if n_bytes == MAP_BYTES:
        return Argument(f"a{number}", Direction.SCALAR, np.frombuffer(_forged_map(rng), np.uint8))
    return Argument(f"a{number}", Direction.SCALAR, np.frombuffer(rng.randbytes(max(n_bytes, 1))[:n_bytes], np.uint8))


def _forged_map(rng: random.Random) -> bytes:
    """A tensor map of the first array, some of its bytes changed."""
    box = (rng.choice((4, 32, 64)), rng.choice((1, 8)))
    made = TensorMap.of("x", (8, 128), "float32", box, swizzle=rng.choice(list(Swizzle)))
    raw = bytearray(map_bytes(made, GLOBAL_BASE))
    for _ in range(rng.choice((0, 0, 1, 3))):
        raw[rng.randrange(8, 90)] = rng.randrange(256)
    return bytes(raw)


def _map(rng: random.Random, name: str) -> TensorMap:
    """A tensor map that the driver would take; its tensor may be larger than the memory behind it."""
    dtype, rank = rng.choice(("float32", "float32", "float16", "uint8", "int64")), rng.choice((1, 2, 2, 2, 3, 5))
    unit, swizzle = 16 // ELEMENTS[dtype].n_bytes, rng.choice(tuple(Swizzle))
    box = [
        unit * rng.choice((1, 2, 4, 8) if not swizzle else (1, 2)),
        *(rng.choice((1, 2, 8, 16)) for _ in range(rank - 1)),
    ]
    shape = [*(rng.choice((1, 3, 32)) for _ in range(rank - 1)), unit * rng.choice((1, 4, 32))]
    steps = [1, *(rng.choice((1, 1, 2, 8)) for _ in range(rank - 1))]
    backing = Argument(
        name, rng.choice((Direction.IN, Direction.OUT, Direction.INOUT)), np.arange(2048, dtype=np.float32)
    )
    return TensorMap.of(name, shape, dtype, box, element_strides=steps, swizzle=swizzle, backing=backing)


def _launch(program: Program, rng: random.Random) -> str:
    """Launches with arguments that fit the parameters; answers with the status."""
    params = program.module.functions[program.kernel].params
    if sum(v.n_bytes for v in params) > 1 << 20:
        params = ()
    arguments = [_argument(rng, number, v.n_bytes) for number, v in enumerate(params)]
    block = rng.choice((Dim3(64), Dim3(32), Dim3(33), Dim3(8, 8), Dim3(16, 16), Dim3(1), Dim3(96)))
    config = LaunchConfig(Dim3(rng.choice((1, 2, 3))), block, rng.choice((0, 0, 1024, 1000)))
    if "cluster" in program.ptx or "%envreg" in program.ptx:
        config = replace(config, grid=Dim3(4), cooperative=rng.random() < 0.3)
    checks = rng.choice((ALL_CHECKS, ALL_CHECKS, frozenset(), frozenset({"memcheck"}), ALL_CHECKS - {"racecheck"}))
    result = program.launch(
        config,
        arguments,
        checks=checks,
        budget=BUDGET,
        threads=rng.choice((1, 2)),
        want_writers=rng.random() < 0.2,
        trace=rng.choice((0, 0, 0, 50)),
    )
    if result.status is Status.NOT_SUPPORTED and not any("PTX line" in d.message for d in result.diagnostics):
        raise Mistake(f"not supported, but no PTX line is named: {result.diagnostics}")
    return str(result.status)


def attempt(kind: str, data: bytes, rng: random.Random) -> str:
    """Runs a hostile text and answers with one word for how it ended; raises whatever should not be raised."""
    if kind == "bytes":
        return _files(data, rng)
    try:
        if kind == "cuda":
            program = Program.from_cuda(data.decode("utf-8", "replace"), want_cubin=False)
        else:
            text = data.decode("utf-8", "surrogateescape")
            names = find_kernels(text)
            program = Program.from_ptx(text, kernel=rng.choice(names) if names else None, arch="sm_90")
    except BuildFailed as error:
        if not error.diagnostics or not all(d.message for d in error.diagnostics):
            raise Mistake("refused without a reason") from None
        return "refused"
    return _launch(program, rng)


def _files(data: bytes, rng: random.Random) -> str:
    """The way of the command: both files as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        kernel, launch = Path(folder, "k.ptx"), Path(folder, "launch.toml")
        kernel.write_bytes(data)
        launch.write_bytes(mutated_bytes(rng, LAUNCH) if rng.random() < 0.5 else LAUNCH.encode())
        report = run_files(kernel, launch, RunOptions(budget=BUDGET))
    if report.exit_status not in range(5):
        raise Mistake(f"exit status {report.exit_status}: {report.status}")
    return str(report.status)


def run(seed: int, first: int, count: int, kind: str) -> None:
    """Runs cases, a line before and after each; ends with a line of how many ended how."""
    ended: collections.Counter[str] = collections.Counter()
    for index in range(first, first + count):
        print("begin", index, flush=True)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        made, _, data = text_of(seed, index, kind)
        try:
            word = attempt(made, data, random.Random(f"{seed}:{index}:run"))
        except Exception:
            print("fail", index, json.dumps(traceback.format_exc()), flush=True)
            word = "failed"
        ended[f"{made} {word}"] += 1
        print("end", index, word, flush=True)
    print("tally", json.dumps(ended), flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    os.environ[GUARD_PAGES] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "")
