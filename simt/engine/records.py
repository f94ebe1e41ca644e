"""Types of the native subset: integers, floats, pointers, inline arrays and records with C layout.

A `Record` subclass is a plain list of annotated fields. The same declaration gives the LLVM type that native code
indexes, and a ctypes structure with which Python fills and reads it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass

from llvmlite import ir

__all__ = [
    "Array",
    "Float",
    "Int",
    "Ptr",
    "Record",
    "Type",
    "b1",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "llvm_type",
    "void",
]


@dataclass(frozen=True)
class Int:
    bits: int
    signed: bool

    @property
    def llvm(self) -> ir.Type:
        return ir.IntType(self.bits)

    @property
    def ctype(self):
        if self.bits == 1:
            return ctypes.c_bool
        return getattr(ctypes, f"c_{'' if self.signed else 'u'}int{self.bits}")

    def __str__(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.bits}"


@dataclass(frozen=True)
class Float:
    bits: int

    @property
    def llvm(self) -> ir.Type:
        return ir.FloatType() if self.bits == 32 else ir.DoubleType()

    @property
    def ctype(self):
        return ctypes.c_float if self.bits == 32 else ctypes.c_double


@dataclass(frozen=True)
class _Void:
    llvm = ir.VoidType()
    ctype = None


b1 = Int(1, False)
i8, i16, i32, i64 = (Int(bits, True) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (Int(bits, False) for bits in (8, 16, 32, 64))
f32, f64 = Float(32), Float(64)
void = _Void()


@dataclass(frozen=True)
class PtrType:
    element: object

    @property
    def llvm(self) -> ir.Type:
        return ir.PointerType()

    ctype = ctypes.c_void_p


@dataclass(frozen=True)
class ArrayType:
    """Inline array of a record; native code sees it as a pointer to its first element."""

    element: object
    length: int

    @property
    def llvm(self) -> ir.Type:
        return ir.ArrayType(llvm_type(self.element), self.length)

    @property
    def ctype(self):
        element = self.element
        return (element.structure() if isinstance(element, type) else element.ctype) * self.length


class _Subscript:
    def __init__(self, make):
        self._make = make

    def __getitem__(self, item):
        return self._make(*item) if isinstance(item, tuple) else self._make(item)


def llvm_type(kind) -> ir.Type:
    """The LLVM type of a native type or a record."""
    return kind.llvm_struct() if isinstance(kind, type) else kind.llvm


Ptr = _Subscript(PtrType)
Array = _Subscript(ArrayType)
Type = object


class Record:
    """Base of records: annotate fields with native types, in order."""

    fields: dict[str, object]

    def __init_subclass__(cls) -> None:
        scope = globals() | vars(sys.modules[cls.__module__]) | {cls.__name__: cls}
        cls.fields = {
            name: eval(note, scope) if isinstance(note, str) else note for name, note in cls.__annotations__.items()
        }

    @classmethod
    @functools.cache
    def llvm_struct(cls) -> ir.LiteralStructType:
        return ir.LiteralStructType([llvm_type(kind) for kind in cls.fields.values()])

    @classmethod
    @functools.cache
    def structure(cls) -> type[ctypes.Structure]:
        """The ctypes structure with the same layout."""
        columns = [(name, kind.ctype) for name, kind in cls.fields.items()]
        return type(cls.__name__, (ctypes.Structure,), {"_fields_": columns})

    @classmethod
    def index(cls, name: str) -> int:
        return list(cls.fields).index(name)
