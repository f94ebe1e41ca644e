"""Every hand-written row: `eval` and the compiled translation give the bits that the PTX ISA asks for."""

import itertools

import numpy as np
import pytest

from simt.isa import FAMILIES, lookup
from simt.isa.op import Role
from tests.simt.isa.compiled import LANES, compiled
from tests.simt.isa.operands import within
from tests.simt.isa.rows_all import ROWS

BY_OPCODE = {
    opcode: tuple(group)
    for opcode, group in itertools.groupby(sorted(ROWS, key=lambda row: row.opcode), lambda row: row.opcode)
}


def columns(values, types):
    """(32,) arrays of operand bits, the last row repeated up to 32."""
    padded = [*values, *[values[-1]] * (LANES - len(values))]
    return tuple(
        np.array([row[index] for row in padded], f"uint{max(8, type_.bits)}" if type_.bits <= 64 else object)
        .astype(f"uint{max(8, type_.bits)}")
        .view(type_.dtype)
        for index, type_ in enumerate(types)
    )


@pytest.fixture(scope="module")
def machine():
    return compiled(map(lookup, BY_OPCODE))


def expect(form, results, wanted, cases, where):
    results = results if isinstance(results, tuple) else (results,)
    for got, bits, type_ in zip(results, wanted, form.op.shape(form).results, strict=True):
        for lane, case in enumerate(cases):
            one = within(form, got[lane : lane + 1], bits[lane : lane + 1], type_)
            assert one.all(), f"{where} {form.opcode}: {case.text}, got {got[lane]!r}"


@pytest.mark.parametrize("opcode", BY_OPCODE)
def test_opcode_gives_the_bits_of_the_isa(opcode, machine):
    form, cases = lookup(opcode), BY_OPCODE[opcode]
    for start in range(0, len(cases), LANES):
        batch = cases[start : start + LANES]
        shape = form.op.shape(form)
        sources = columns([case.sources for case in batch], shape.sources)
        wanted = columns([case.results for case in batch], shape.results)
        expect(form, form.op.eval(form, *sources), wanted, batch, "eval")
        for kind in ("vector", "scalar"):
            expect(form, machine(form, sources, kind), wanted, batch, kind)


def test_every_pure_row_has_cases():
    tested = {lookup(opcode).op for opcode in BY_OPCODE}
    missing = [
        row.forms[0] for family in FAMILIES for row in family.ROWS if row.role is Role.PURE and row not in tested
    ]
    assert not missing
