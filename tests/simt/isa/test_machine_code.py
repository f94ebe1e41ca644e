"""What the translations compile to: vector code on its own, with no call into a scalar library."""

import re

import pytest

from simt.isa import lookup
from tests.simt.isa.compiled import assembly
from tests.simt.isa.rows_all import ROWS

TARGETS = (("x86_64-unknown-linux-gnu", "x86-64-v3"), ("aarch64-unknown-linux-gnu", "generic"))
CALL = re.compile(r'^\s+(?:callq?|bl|b|jmp)\s+"?([A-Za-z_][\w.]*)', re.M)


@pytest.mark.parametrize("triple, cpu", TARGETS)
def test_no_form_calls_a_library(triple, cpu):
    text = assembly((lookup(opcode) for opcode in sorted({row.opcode for row in ROWS})), triple, cpu)
    called = {name for name in CALL.findall(text) if not name.startswith("simt.")}
    assert not called
