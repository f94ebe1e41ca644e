"""The compiled engine against the NumPy reference: the same bits in every output, the same counters on every line."""

import numpy as np
import pytest

from simt.cli_run import run_files
from simt.events import ALL_CHECKS, Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.launch_file import read_launch_file
from simt.program import Program
from tests.simt.random_ptx import BLOCKS, arguments, random_kernel
from tests.simt.reference import Machine, run
from tests.simt.test_kernels import KERNELS, NAMES

# Where a launch stops in the middle of a block, how far other warps came is not part of the meaning.
STOPS = {"assert/fails"}
# Whole-warp matrices are held against NumPy's products in test_matrix_*.py, copies in test_copy_kernels.py and engine/,
# clusters in test_clusters.py; all of them, and recursion, against an H200 in tests/golden/test_kernels_h200.py.
ELSEWHERE = ("async/", "matrix/", "tma/", "cluster/", "calls/recursive")
COMPARED = [name for name in NAMES if name not in STOPS and not name.startswith(ELSEWHERE)]


def nonzero(counters):
    """By line, what is counted at all."""
    rows = {line: {name: int(n) for name, n in row.items() if n} for line, row in counters.items()}
    return {line: row for line, row in rows.items() if row}


def same_bits(one, other):
    """Equal bytes, except that any NaN is like any other where the dtype is a float."""
    if one.dtype.kind == "f":
        nan = np.isnan(one)
        if not (nan == np.isnan(other)).all():
            return False
        one, other = np.where(nan, 0, one), np.where(nan, 0, other)
    return one.tobytes() == other.tobytes()


def compare(program, config, arguments, result, constants=None):
    """Runs the reference on what the engine ran; answers with its outputs."""
    machine = Machine(program.module, program.kernel, tuple(config.block), program.file_name)
    outcome = run(machine, tuple(config.grid), arguments, config.shared_bytes, constants)
    for name, array in result.outputs.items():
        assert same_bits(array, outcome.outputs[name]), f"{name} differs at {differing(array, outcome.outputs[name])}"
    engine = nonzero({line: row.to_json() for line, row in result.by_line.items()})
    reference = nonzero(outcome.counters)
    assert engine == reference
    return outcome.outputs


def differing(one, other):
    """The first few elements that differ, for a message."""
    flat = [
        (i, a, b) for i, (a, b) in enumerate(zip(one.reshape(-1), other.reshape(-1), strict=True)) if a != b and a == a
    ]
    return flat[:5]


def arguments_of(file, spec, arrays):
    """As the command passes them, on buffers of our own."""
    for name in spec.arguments:
        given = file.arguments[name]
        if given.array is None:
            yield Argument(name, Direction.SCALAR, given.value)
        elif name in arrays:
            yield Argument(name, given.direction, arrays[name], True)
        else:
            yield Argument(name, given.direction, given.array.array(), not given.array.is_poison)


@pytest.mark.parametrize("name", COMPARED)
def test_golden_kernel_gives_what_the_reference_gives(name):
    path = KERNELS / name
    report = run_files(path.with_suffix(".cu"), path.with_suffix(".toml"))
    file = read_launch_file(path.with_suffix(".toml"))
    constants = {constant: array.tobytes() for constant, array in file.constants.items()}
    arrays = {}
    for launched in report.runs:
        arguments = list(arguments_of(file, launched.spec, arrays))
        arrays |= compare(launched.program, launched.spec.config, arguments, launched.result, constants)


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(60, 1000))]
)
def test_random_kernel_gives_what_the_reference_gives(seed):
    program = Program.from_ptx(random_kernel(seed), kernel="k", arch="sm_90")
    config = LaunchConfig(Dim3(1 + seed % 2), Dim3(*BLOCKS[seed % len(BLOCKS)]))
    given = arguments(seed, config.grid.volume * config.block.volume)
    checks = ALL_CHECKS if seed % 3 == 0 else frozenset()
    result = program.launch(config, given, checks=checks, threads=1)
    assert result.status in (Status.OK, Status.FINDINGS), result.diagnostics
    compare(program, config, given, result)
