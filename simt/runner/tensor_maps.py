"""Tensor maps as arguments: the memory behind them, and the 128 bytes that kernels pass on."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

from simt.diagnostics import Diagnostic, diagnose
from simt.engine.tensor_maps import MAGIC, TileMap
from simt.events import Argument
from simt.ptx.syntax import Variable
from simt.tensor_map import MAP_BYTES, TensorMap, broken_rules

__all__ = ["check_map", "map_bytes"]


def map_bytes(tensor_map: TensorMap, address: int) -> bytes:
    """The map of a tensor that starts at a virtual address, as `simt.engine.tensor_maps` reads it."""
    m = TileMap.structure()()
    m.magic, m.address = MAGIC, address + tensor_map.offset_bytes
    m.rank, m.element, m.element_bytes = tensor_map.rank, tensor_map.element.code, tensor_map.element.n_bytes
    m.swizzle, m.fill = int(tensor_map.swizzle), int(tensor_map.fill)
    for index in range(5):
        inside = index < tensor_map.rank
        m.sizes[index] = tensor_map.global_dim[index] - 1 if inside else 0
        m.box[index] = tensor_map.box[index] - 1 if inside else 0
        m.steps[index] = tensor_map.element_strides[index] if inside and index else 1
        if index < tensor_map.rank - 1:
            m.strides[index] = tensor_map.global_stride_bytes[index]
    raw = bytes(m)
    assert len(raw) == MAP_BYTES == ctypes.sizeof(TileMap.structure())
    return raw


def check_map(
    index: int, argument: Argument, parameter: Variable, arguments: Sequence[Argument]
) -> Iterator[Diagnostic]:
    """What is wrong with a tensor map as an argument: its rules, its memory, its parameter."""
    tensor_map = argument.value
    assert isinstance(tensor_map, TensorMap)
    where = f"argument {index + 1} `{argument.name}`"
    if parameter.n_bytes != MAP_BYTES:
        yield diagnose(
            "host.arg-type",
            f"{where} is a tensor map, but the parameter takes {parameter.n_bytes} bytes",
            help="declare it `const __grid_constant__ CUtensorMap`, not as a pointer",
        )
    if tensor_map.backing is None and all(
        a.name != tensor_map.base or isinstance(a.value, TensorMap) for a in arguments
    ):
        yield diagnose(
            "host.arg-type",
            f"{where} describes `{tensor_map.base}`, and there is no such array",
            help="name one of the launch's arrays",
        )
    yield from broken_rules(argument.name, tensor_map)
