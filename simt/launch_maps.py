"""Tensor maps of a launch file: what `kind = "tensormap"` says, with the array that it describes.

[[backing]]                 an array that is no parameter: only the map reaches it
name = "x"
dtype = "float32"
shape = [64, 128]
dir = "in"
init = "normal:7"

[[args]]
name = "map"
kind = "tensormap"
base = "x"                  an array of [[args]] or [[backing]]
box = [32, 8]               elements, innermost dimension first, as are all lists here
swizzle = "128B"            or none, 32B, 64B
fill = "nan"                or zero: what lies outside
global_dim = [128, 64]      these four have defaults: the array's shape in C order, every element
global_stride_bytes = [512]
element_strides = [1, 1]
offset_bytes = 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simt.events import Argument
from simt.launch_values import ValueSpecError
from simt.tensor_map import Fill, Swizzle, TensorMap

__all__ = ["MAP_KEYS", "MapSpec", "map_spec"]

MAP_KEYS = (
    "name", "kind", "base", "dtype", "box", "swizzle", "fill", "global_dim", "global_stride_bytes", "element_strides",
    "offset_bytes", "interleave",
)  # fmt: skip
SWIZZLES = {"none": Swizzle.NONE, "32B": Swizzle.B32, "64B": Swizzle.B64, "128B": Swizzle.B128}
FILLS = {"zero": Fill.ZERO, "nan": Fill.NAN}


@dataclass(frozen=True, slots=True)
class MapSpec:
    """A map before its array is known; None is what the array decides."""

    base: str
    dtype: str | None
    box: tuple[int, ...]
    global_dim: tuple[int, ...] | None
    global_stride_bytes: tuple[int, ...] | None
    element_strides: tuple[int, ...] | None
    swizzle: Swizzle
    fill: Fill
    offset_bytes: int

    def tensor_map(self, shape: tuple[int, ...], dtype: str, backing: Argument | None = None) -> TensorMap:
        """The map of an array of `shape`."""
        return TensorMap.of(
            self.base, shape, self.dtype or dtype, self.box, global_dim=self.global_dim,
            global_stride_bytes=self.global_stride_bytes, element_strides=self.element_strides, swizzle=self.swizzle,
            fill=self.fill, offset_bytes=self.offset_bytes, backing=backing,
        )  # fmt: skip


def map_spec(row: Mapping) -> MapSpec:
    """What a table says of a map; raises `ValueSpecError`."""
    base = row.get("base")
    if not isinstance(base, str) or not base:
        raise ValueSpecError("a tensor map has no base", 'name the array that it describes, such as base = "x"')
    if row.get("interleave", "none") != "none":
        raise ValueSpecError(
            f"interleave = {row['interleave']!r} is not supported", "leave it out: tiles are not interleaved"
        )
    dtype = row.get("dtype")
    if dtype is not None and not isinstance(dtype, str):
        raise ValueSpecError(f"dtype = {dtype!r} is not text", 'such as dtype = "bfloat16"')
    box = _numbers(row, "box")
    if box is None:
        raise ValueSpecError(
            "a tensor map has no box", "elements of one copy, innermost dimension first: box = [32, 8]"
        )
    offset = row.get("offset_bytes", 0)
    if type(offset) is not int or offset < 0:
        raise ValueSpecError(
            f"offset_bytes = {offset!r} is not a number of bytes", "where in the array the tensor starts"
        )
    return MapSpec(
        base, dtype, box, _numbers(row, "global_dim"), _numbers(row, "global_stride_bytes"), _numbers(row, "element_strides"),
        _choice(row, "swizzle", SWIZZLES, "none"), _choice(row, "fill", FILLS, "zero"), offset,
    )  # fmt: skip


def _numbers(row: Mapping, key: str) -> tuple[int, ...] | None:
    values = row.get(key)
    if values is None:
        return None
    if not isinstance(values, list) or not all(type(value) is int and 0 <= value < 1 << 41 for value in values):
        raise ValueSpecError(f"{key} = {values!r} is not a list of whole numbers", "innermost dimension first")
    return tuple(values)


def _choice(row: Mapping, key: str, known: Mapping, default: str):
    value = row.get(key, default)
    if value not in known:
        raise ValueSpecError(f"{key} = {value!r} is not known", f"one of {', '.join(known)}")
    return known[value]
