"""Tensor maps: the rules of the driver's encoder, memory with pitches, what the driver is asked, launch files."""

import ctypes

import numpy as np
import pytest

from simt.launch_file import LaunchFileError, read_launch_text
from simt.tensor_map import Fill, Swizzle, TensorMap, broken_rules, pitched
from simt.tensor_map_driver import DriverRefused, encode


def tile(shape=(20, 36), dtype="float32", box=(32, 8), **more):
    return TensorMap.of("x", shape, dtype, box, **more)


WRONG = {
    "element type": (tile(dtype="complex64"), 2, "complex64"),
    "rank": (tile((1, 1, 1, 1, 1, 16), box=(16, 1, 1, 1, 1, 1)), 3, "tensorRank is 6"),
    "box of another rank": (tile(box=(32,)), 3, "boxDim has 1 entries for 2"),
    "start": (tile(offset_bytes=8), 4, "8 bytes past a multiple of 16"),
    "size": (tile(global_dim=(0, 20), global_stride_bytes=(144,)), 5, "globalDim[0] = 0"),
    "pitch": (tile((20, 33)), 6, "globalStrides[0] = 132 bytes is not a multiple of 16"),
    "far": (tile(global_stride_bytes=(1 << 40,)), 6, "2^40"),
    "large box": (tile((300, 300), box=(32, 257)), 7, "boxDim[1] = 257"),
    "odd box": (tile(box=(30, 8)), 7, "120 bytes, which is not a multiple of 16"),
    "step": (tile(element_strides=(1, 9)), 8, "elementStrides[1] = 9"),
    "wide for its swizzle": (tile(box=(32, 8), swizzle=Swizzle.B64), 10, "more than the 64"),
    "NaN in integers": (tile(dtype="int32", fill=Fill.NAN), 12, "NaN"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_rule_is_named_with_its_number_and_field(name):
    wrong, rule, words = WRONG[name]
    rows = list(broken_rules("map", wrong))
    assert len(rows) == 1 and rows[0].check == "tensormap.encode"
    assert f"rule {rule} " in rows[0].message and words in rows[0].message and rows[0].help


def test_right_maps_break_no_rule():
    for swizzle in Swizzle:
        assert not list(broken_rules("map", tile(box=(8, 8), swizzle=swizzle)))
    assert not list(broken_rules("map", tile((7, 5, 4, 3, 16), box=(16, 2, 2, 2, 2))))


def test_the_help_says_how_to_pad():
    (row,) = broken_rules("map", tile((20, 33)))
    assert "144" in row.help and "3 elements" in row.help


def test_a_map_knows_its_strides_and_bytes():
    m = tile((4, 5, 8), "float16", (8, 3, 4), element_strides=(1, 2, 1))
    assert m.global_dim == (8, 5, 4) and m.global_stride_bytes == (16, 80)
    assert m.box_bytes == 8 * 2 * 2 * 4


def test_pitched_memory_has_the_rows_where_the_map_looks_for_them():
    x = np.arange(66, dtype=np.float32).reshape(2, 33)
    flat = pitched(x, tile((2, 33), global_stride_bytes=(144,)))
    assert (
        flat.shape == (72,) and np.array_equal(flat.reshape(2, 36)[:, :33], x) and not flat.reshape(2, 36)[:, 33:].any()
    )
    assert pitched(x, tile((2, 33))).size == 66


class FakeDriver:
    """Notes what it is asked and answers a CUresult."""

    def __init__(self, answer=0):
        self.answer = answer

    def cuTensorMapEncodeTiled(self, room, *asked):
        self.aligned = room.value % 64 == 0
        self.asked = [list(a) if isinstance(a, ctypes.Array) else a.value for a in asked]
        ctypes.memset(room, 7, 128)
        return self.answer


def test_the_driver_is_asked_for_the_same_map():
    driver = FakeDriver()
    m = tile((20, 36), "float16", (32, 8), swizzle=Swizzle.B64, fill=Fill.NAN, offset_bytes=32)
    assert encode(m, 4096, driver) == b"\x07" * 128 and driver.aligned
    assert driver.asked == [6, 2, 4128, [36, 20], [72], [32, 8], [1, 1], 0, 2, 0, 1]
    with pytest.raises(DriverRefused, match="CUresult 1"):
        encode(m, 0, FakeDriver(1))


FILE = """
grid = 1
block = 64
[[backing]]
name = "x"
dtype = "float16"
shape = [64, 128]
init = "normal:1"
[[args]]
name = "map"
kind = "tensormap"
base = "x"
box = [32, 8]
"""


def test_a_launch_file_describes_a_map_and_the_memory_behind_it():
    file = read_launch_text(FILE + 'swizzle = "64B"\nfill = "nan"\n')
    assert list(file.arguments) == ["map", "x"] and file.launches[0].arguments == ("map",)
    m = file.arguments["map"].value.tensor_map((64, 128), "float16")
    assert m == TensorMap.of("x", (64, 128), "float16", (32, 8), swizzle=Swizzle.B64, fill=Fill.NAN)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('swizzle = "96B"', "128B"), ('fill = "one"', "nan"), ('interleave = "16B"', "interleave"),
        ("offset_bytes = -1", "starts"), ("element_strides = [1.5]", "innermost"), ("colour = 1", "colour"),
    ],
)  # fmt: skip
def test_a_launch_file_says_what_is_wrong_with_a_map(lines, words):
    with pytest.raises(LaunchFileError) as error:
        read_launch_text(FILE + lines)
    assert words in f"{error.value} {error.value.help}"


def test_only_arrays_stand_behind_a_map():
    with pytest.raises(LaunchFileError, match="arrays only"):
        read_launch_text(FILE.replace('shape = [64, 128]\ninit = "normal:1"', "value = 1"))
