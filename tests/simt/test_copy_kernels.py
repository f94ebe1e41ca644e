"""The golden kernels of asynchronous copies compute what NumPy says: every output, worked out apart from the engine."""

from pathlib import Path

import numpy as np
import pytest

from simt.cli_run import run_files
from simt.launch_file import read_launch_file
from tests.simt.tile_reference import loaded, stored

KERNELS = Path(__file__).parent / "kernels"


def launched(name):
    """(initial arrays, tensor maps by name, outputs) of a golden kernel."""
    path = KERNELS / name
    file = read_launch_file(path.with_suffix(".toml"))
    arrays = {n: s.array.array() for n, s in file.arguments.items() if s.array and not s.array.is_poison}
    shapes = {n: (s.array.shape, str(s.array.dtype)) for n, s in file.arguments.items() if s.array}
    maps = {n: s.value.tensor_map(*shapes[s.value.base]) for n, s in file.arguments.items() if s.kind == "tensormap"}
    report = run_files(path.with_suffix(".cu"), path.with_suffix(".toml"))
    assert report.exit_status == 0, report.diagnostics
    return arrays, maps, report.outputs


def check_loads(name, out, starts):
    """Shared memory of each load, in turn, as it lies; the kernels put -1 where nothing is loaded."""
    arrays, maps, outputs = launched(name)
    tiles = [loaded(arrays[maps["map"].base].reshape(-1), maps["map"], start) for start in starts]
    want = np.concatenate([np.ma.filled(tile, 0xFF) for tile in tiles])
    got = np.ascontiguousarray(outputs[out]).reshape(-1).view(np.uint8)
    assert np.array_equal(got, want)


LOADS = {
    "tma/load_edges": [(32 * x, 16 * y) for y in range(3) for x in range(3)],
    "tma/load_nan": [(-8, -3)],
    "tma/swizzle_32": [(0, 0)],
    "tma/swizzle_64": [(0, 0)],
    "tma/swizzle_128": [(0, 0)],
    "tma/swizzle_narrow": [(0, 0)],
    "tma/steps_3d": [(4, 1, 2)],
    "tma/box_5d": [(16, 2, -1, 1, 0)],
    "tma/line_1d": [(64 * x,) for x in range(4)],
}


@pytest.mark.parametrize("name", LOADS)
def test_tiles_lie_in_shared_memory_as_the_map_says(name):
    check_loads(name, "y", LOADS[name])


def test_a_swizzle_hangs_on_the_address():
    arrays, _, outputs = launched("tma/swizzle_apart")
    want = np.full(1024, -1, np.int32)
    for i, value in enumerate(arrays["x"].reshape(-1)):
        byte = 384 + 4 * i
        want[(byte ^ (byte >> 7 & 7) << 4) // 4] = value
    assert np.array_equal(outputs["y"], want)


def test_stores_over_the_edges():
    arrays, maps, outputs = launched("tma/store_edges")
    want = arrays["x"].reshape(-1)
    for block in range(4):
        tile = (1000 * block + np.arange(128)).astype(np.float32).view(np.uint8)
        want = stored(want, tile, maps["map"], ((0, 16)[block % 2], (4, 16)[block // 2]))
    assert np.array_equal(outputs["x"].reshape(-1), want)


def test_reductions_by_tiles():
    arrays, _, outputs = launched("tma/reduce_add")
    sums = arrays["sums"]
    for part in arrays["x"]:
        sums = sums + part
    assert np.array_equal(outputs["sums"], sums)
    arrays, _, outputs = launched("tma/reduce_kinds")
    rows, x = arrays["rows"], arrays["x"]
    want = [
        rows[0] + x, np.minimum(rows[1], x), np.maximum(rows[2], x), rows[3] & x, rows[4] | x, rows[5] ^ x,
        np.where(rows[6] >= x, 0, rows[6] + 1), np.where((rows[7] == 0) | (rows[7] > x), x, rows[7] - 1),
    ]  # fmt: skip
    assert np.array_equal(outputs["rows"], np.array(want, np.uint32))


def test_reductions_by_rows_of_bytes():
    arrays, _, outputs = launched("tma/bulk_reduce")
    f, h = arrays["f"], arrays["h"].view(np.float16)
    least, bits, q = arrays["least"], arrays["bits"], arrays["q"]
    lanes = np.arange(32, dtype=np.int32) - 16
    for block in range(3):
        f, h = f + arrays["x"][block], h + arrays["xh"].view(np.float16)
        q = q + (np.uint64(1) << (np.arange(16, dtype=np.uint64) + np.uint64(2 * block)))
        least, bits = np.minimum(least, lanes * (block + 1)), bits ^ (lanes * (block + 1)).view(np.uint32)
    for name, want in {"f": f, "h": h.view(np.uint16), "q": q, "least": least, "bits": bits}.items():
        assert np.array_equal(outputs[name], want), name


SIMPLE = {
    "tma/transpose": lambda a: {"y": a["x"].T},
    "tma/gemm": lambda a: {"c": a["x"].astype("f8") @ a["w"].astype("f8")},
    "tma/ring": lambda a: {"y": sum(a["x"][8 * (t // 2) :, 32 * (t % 2) :][:8, :32].astype("f8") for t in range(8))},
    "tma/bulk_ring": lambda a: {"y": 2 * a["x"] + np.arange(1, 7, dtype="f4")[:, None]},
    "tma/copy_to_self": lambda a: {"y": a["x"][::-1]},
    "tma/reduce_to_self": lambda a: {"y": a["x"][::-1] + 100},
    "tma/mbarrier_phases": lambda a: {
        "y": np.stack([a["x"][::-1], 2 * a["x"].reshape(-1, 2)[:, ::-1].reshape(-1), 3 * a["x"][np.arange(64) % 48]])
    },
    "tma/mbarrier_tokens": lambda a: {"y": a["x"][::-1], "left": np.arange(32, 0, -1)},
    "tma/copies_arrive": lambda a: {"y": a["x"][:, ::-1]},
    "async/cuda_barrier": lambda a: {"y": 2 * a["x"]},
    "async/cuda_pipeline": lambda a: {"y": a["x"].reshape(4, 64)[:, ::-1].reshape(-1)},
    "async/cuda_ptx": lambda a: {"y": 1 - a["x"]},
}


@pytest.mark.parametrize("name", SIMPLE)
def test_kernels_compute_what_numpy_says(name):
    arrays, _, outputs = launched(name)
    for output, want in SIMPLE[name](arrays).items():
        assert np.allclose(outputs[output], want, rtol=1e-5, atol=1e-5), output
