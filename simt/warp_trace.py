"""One warp's way through a launch, instruction by instruction, as data for lessons.

A `WarpTrace` holds values, no behaviour of a machine: which lanes were active, what an instruction wrote in each of them,
where it reached, and how many copies were in flight. Lines come from `.loc`; a register gets the name of a variable where
the line it was written on assigns just one variable and declares it with a type that the register fits. Optimised code
keeps no better record, so a name may be missing but is not guessed beyond that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

__all__ = ["Step", "WarpRequest", "WarpTrace", "named_variables"]

LANES = 32
MOST_STEPS = 100_000  # some 130 MB while it is recorded
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class WarpRequest:
    """Which warp to follow, and for how many steps at most."""

    block: tuple[int, int, int] = (0, 0, 0)
    warp: int = 0
    limit: int = 10_000

    def __post_init__(self) -> None:
        if not 0 < self.limit <= MOST_STEPS or self.warp < 0 or min(self.block) < 0:
            raise ValueError(f"a trace has 1 to {MOST_STEPS} steps of a warp and block that exist, got {self}")


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction as the warp ran it.

    Attributes:
        line: 1-based line of the student's text, None where `.loc` says nothing.
        ptx_line, opcode: the instruction.
        active: the lanes that ran it, bit l for lane l; of a branch the lanes that stood there.
        written: register → its value in each lane after the step, None in lanes that did not run it.
        space, addresses: where a memory instruction reached: a byte address, or an offset in shared or local memory, a
            lane; empty for others.
        taken: of a branch, the lanes that jumped.
        in_flight: asynchronous copies of this warp that have not landed, before the step.
        variable: the source variable that the last written register is, or None.
    """

    line: int | None
    ptx_line: int
    opcode: str
    active: int
    written: dict[str, tuple[int | float | bool | None, ...]] = field(default_factory=dict)
    space: str | None = None
    addresses: tuple[int | None, ...] = ()
    taken: int | None = None
    in_flight: int = 0
    variable: str | None = None

    @property
    def lanes(self) -> tuple[int, ...]:
        """Numbers of the active lanes."""
        return tuple(lane for lane in range(LANES) if self.active >> lane & 1)


@dataclass(frozen=True, slots=True)
class WarpTrace:
    """The steps of one warp in order; `truncated` says that it went on after the last of them."""

    kernel: str
    block: tuple[int, int, int]
    warp: int
    steps: tuple[Step, ...]
    truncated: bool = False

    def variables(self, step: int) -> dict[str, tuple[int | float | bool | None, ...]]:
        """Source variables as they stand after a step: in each lane the value that was written there last."""
        found: dict[str, list[int | float | bool | None]] = {}
        for row in self.steps[: step + 1]:
            if row.variable is None:
                continue
            values = found.setdefault(row.variable, [None] * LANES)
            for lane, value in enumerate(list(row.written.values())[-1]):
                if value is not None:
                    values[lane] = value
        return {name: tuple(values) for name, values in found.items()}

    def to_json(self) -> dict:
        """Plain dicts and lists; a step leaves out what is empty. NaN and infinity are the texts "nan", "inf", "-inf"."""
        empty: tuple = (None, {}, ())
        steps = [{key: _plain(value) for key, value in asdict(row).items() if value not in empty} for row in self.steps]
        return {
            "schema": SCHEMA, "kernel": self.kernel, "block": list(self.block), "warp": self.warp, "truncated": self.truncated,
            "steps": steps,
        }  # fmt: skip

    @classmethod
    def from_json(cls, plain: dict) -> WarpTrace:
        """The trace that `to_json` wrote; raises `ValueError` for another schema."""
        if plain.get("schema") != SCHEMA:
            raise ValueError(f"a warp trace of schema {plain.get('schema')!r}, not {SCHEMA}")
        steps = tuple(_step(row) for row in plain["steps"])
        return cls(plain["kernel"], tuple(plain["block"]), plain["warp"], steps, plain["truncated"])


def _plain(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _step(row: dict) -> Step:
    written = {
        name: tuple(float(value) if isinstance(value, str) else value for value in values)
        for name, values in row.get("written", {}).items()
    }
    plain = {"line": None} | {key: value for key, value in row.items() if key not in ("written", "addresses")}
    return Step(**plain, written=written, addresses=tuple(row.get("addresses", ())))


# --- names of variables

# How a declared type is held in a register: kind and bits, as the names of PTX types say them.
_HELD = {
    "float": "f32", "double": "f64", "int": "b32", "unsigned": "b32", "unsigned int": "b32", "long long": "b64",
    "unsigned long long": "b64", "size_t": "b64", "int64_t": "b64", "uint32_t": "b32", "int32_t": "b32",
}  # fmt: skip
_TYPES = "|".join(sorted(_HELD, key=len, reverse=True))
_DECLARED = re.compile(rf"\b({_TYPES})\s+(\w+)\s*(?=[=;,)])")
_ASSIGNED = re.compile(r"(?<![\w\]>.)*])\s*\b(\w+)\s*(?:[+\-*/%&|^]|<<|>>)?=(?!=)")


def named_variables(source: str, steps: Sequence[tuple[int | None, str]], whole: bool = True) -> list[str | None]:
    """For each step (its line, and the type of the register it wrote last or ""), the variable which that register is.

    The register is the one that a stretch of steps on one line wrote last; unless these are the `whole` trace, the last
    stretch may go on and gives no name.
    """
    rows = source.split("\n")
    declared = {name: _HELD[kind] for row in rows for kind, name in _DECLARED.findall(row)}
    names = [_assigned(row, declared) for row in rows]
    found: list[str | None] = [None] * len(steps)
    for last in _ends(steps, whole):
        line, kind = steps[last]
        name = names[line - 1] if line and line <= len(names) else None
        if name is not None and _holds(kind, declared[name]):
            found[last] = name
    return found


def _ends(steps: Sequence[tuple[int | None, str]], whole: bool) -> Iterable[int]:
    """The last writing step of each stretch on one line."""
    latest: int | None = None
    for index, (line, kind) in enumerate(steps):
        if latest is not None and line != steps[latest][0]:
            yield latest
            latest = None
        if kind:
            latest = index
    if latest is not None and whole:
        yield latest


def _assigned(row: str, declared: dict[str, str]) -> str | None:
    """The one variable that a line assigns; loops and conditions in front would make it several."""
    code = row.partition("//")[0]
    names = [name for name in _ASSIGNED.findall(code) if name in declared]
    return names[0] if len(names) == 1 and "for" not in code and "?" not in code.partition("=")[0] else None


def _holds(kind: str, wanted: str) -> bool:
    """Whether a register of PTX type `kind` may hold it: integers of a width are one."""
    if kind == wanted or not kind:
        return bool(kind)
    return wanted[0] == "b" and kind[0] in "bus" and kind[1:] == wanted[1:]
