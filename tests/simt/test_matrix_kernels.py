"""Golden kernels of tensor cores against NumPy in float64, beside the reports that test_kernels compares.

Where the operands are small integers or doubles the results are equal; else floats are right to the tolerance below,
relative to the sum of magnitudes, by the bits that the hardware's sums keep (`simt.engine.sums`).
"""

from pathlib import Path

import numpy as np
import pytest

from simt.cli_run import run_files
from simt.launch_file import read_launch_file
from tests.simt.matrix_layouts import float8_values

FOLDER = Path(__file__).parent / "kernels" / "matrix"
TOLERANCE = {"float32": 2.0**-18, "float64": 2.0**-48, "float16": 0, "int32": 0}
FLOAT8 = 2.0**-8  # wgmma on 8-bit floats keeps 13 bits behind the largest of 32 products, eight times over


def plain(x):
    return x.astype(np.float64)


def bf16(x):
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def tf32(x):
    return (x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)


def e4m3(x):
    return float8_values(x, "e4m3")


def e5m2(x):
    return float8_values(x, "e5m2")


def by_columns(values, shape):
    """(rows, columns) of elements that lie column by column in memory."""
    return values.reshape(-1)[: shape[0] * shape[1]].reshape(shape[::-1]).T


def rows_of_both(read_a=plain, read_b=plain):
    """C = A Bᵀ for operands whose k runs fastest."""
    return lambda a, b: (read_a(a), read_b(b).T)


def wmma_brains(a, b):
    return by_columns(bf16(a), (8, 16)), bf16(b).reshape(16, 32)


def wmma_tensor_floats(a, b):
    return tf32(a), tf32(b)


def wmma_unsigned(a, b):
    return by_columns(plain(a), (32, 16)), plain(b).reshape(16, 8)


# (kernel, names of a, b and c) -> what A and B are, and the order of C in memory.
PRODUCTS = {
    ("wgmma_plain", "a b c"): rows_of_both(),
    ("wgmma_swizzle128", "a b c"): rows_of_both(),
    ("wgmma_swizzle64", "a b c"): lambda a, b: (plain(a), plain(b)),
    ("wgmma_swizzle32", "a b c"): lambda a, b: (plain(a).T, plain(b)),
    ("wgmma_interleaved", "a b c"): lambda a, b: (plain(a).T, plain(b)),
    ("wgmma_registers", "a b c"): rows_of_both(),
    ("wgmma_base_offset", "a b c"): rows_of_both(),
    ("wgmma_bf16", "a b c"): rows_of_both(bf16, bf16),
    ("wgmma_tf32", "a b c"): rows_of_both(tf32, tf32),
    ("wgmma_s8", "a b c"): rows_of_both(),
    ("wgmma_float8", "a b c"): rows_of_both(e4m3, e5m2),
    ("wgmma_half_sums", "a b c"): rows_of_both(),
    ("wgmma_pipeline", "a b c"): rows_of_both(),
    ("mma_types", "a16 b16 c16"): rows_of_both(),
    ("mma_types", "abf bbf cbf"): rows_of_both(bf16, bf16),
    ("mma_types", "atf btf ctf"): rows_of_both(tf32, tf32),
    ("mma_types", "a8 b8 c8"): rows_of_both(e4m3, e5m2),
    ("mma_integers", "a b c"): rows_of_both(),
    ("mma_doubles", "a b c"): rows_of_both(),
    ("mma_doubles", "a b wide"): rows_of_both(),
    ("mma_half_sums", "a b c"): rows_of_both(),
    ("wmma_types", "a16 b16 c16"): rows_of_both(),
    ("wmma_types", "abf bbf cbf"): wmma_brains,
    ("wmma_types", "atf btf ctf"): wmma_tensor_floats,
    ("wmma_types", "a64 b64 c64"): rows_of_both(),
    ("wmma_types", "as8 bs8 cs8"): rows_of_both(),
    ("wmma_types", "au8 bu8 cu8"): wmma_unsigned,
}
COLUMNS = {"ctf", "cu8"}  # outputs of wmma_types that are stored column by column
_RUNS = {}


def run(name):
    """(inputs, outputs) of a golden kernel, run once."""
    if name not in _RUNS:
        path = FOLDER / name
        file, report = (
            read_launch_file(path.with_suffix(".toml")),
            run_files(path.with_suffix(".cu"), path.with_suffix(".toml")),
        )
        inputs = {
            key: spec.array.array() for key, spec in file.arguments.items() if spec.array and not spec.array.is_poison
        }
        _RUNS[name] = inputs, report.outputs
    return _RUNS[name]


@pytest.mark.parametrize("name, operands", PRODUCTS)
def test_products_are_numpys(name, operands):
    inputs, outputs = run(name)
    first, second, result = operands.split()
    a, b = PRODUCTS[name, operands](inputs[first], inputs[second])
    wanted, size = a @ b, np.abs(a) @ np.abs(b)
    got = outputs[result]
    if name == "wmma_types" and result in COLUMNS:
        got = by_columns(got, wanted.shape)
    tolerance = FLOAT8 if name == "wgmma_float8" else TOLERANCE[got.dtype.name]
    assert (np.abs(got.reshape(wanted.shape) - wanted) <= tolerance * size).all()


def test_a_clamped_sum_goes_down_from_the_limit_only():
    inputs, outputs = run("mma_integers")
    a, b = plain(inputs["a"]), plain(inputs["b"])
    total = np.full((16, 8), 2**31 - 1.0)
    for k in range(0, 96, 32):
        total = np.minimum(total + a[:, k : k + 16] @ b[:, k : k + 16].T, 2**31 - 1)
    assert (outputs["clamped"] == total).all()


def test_every_kernel_of_the_folder_has_an_expectation():
    known = {name for name, _ in PRODUCTS} | {"ldmatrix", "mma_tile", "wmma_gemm"}
    assert {path.stem for path in FOLDER.glob("*.cu")} == known
