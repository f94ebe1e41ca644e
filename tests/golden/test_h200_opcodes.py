"""The instruction table against an H200: every pure form, bit for bit, or within its row's bound.

The recording is made by `record_h200.py` on the GPU; these tests need none.
"""

import json
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simt.isa import lookup
from tests.golden.recording import load
from tests.golden.replay import constants_of, disagreements, pure_forms
from tests.simt.isa.rows_all import ROWS

H200 = Path(__file__).with_name("h200")
OPS = sorted({form.op.name for form in pure_forms()})


@cache
def recorded():
    """Opcode -> its recorded cases and results."""
    found = {}
    for case, results in load(H200 / "opcodes.npz"):
        found.setdefault(case.form.opcode, []).append((case, results))
    return found


def absent():
    """Pattern of opcodes -> why they are not recorded, or not with all their rows."""
    return json.loads((H200 / "absent.json").read_text(encoding="utf-8"))


def is_excused(opcode):
    return any(fnmatch(opcode, pattern) for pattern in absent())


@pytest.mark.parametrize("name", OPS)
def test_the_table_gives_what_the_h200_gives(name):
    cases = [pair for opcode, pairs in recorded().items() if opcode.split(".")[0] == name for pair in pairs]
    wrong = [text for case, results in cases for text in disagreements(case, results)]
    assert not wrong, f"{len(wrong)} cases of {len(cases)}:\n" + "\n".join(wrong[:10])


def test_one_wrong_bit_is_noticed():
    case, (gpu,) = recorded()["add.s32"][0]
    wrong = gpu.copy()
    wrong[-1] ^= 1
    assert not list(disagreements(case, (gpu,))) and len(list(disagreements(case, (wrong,)))) == 1


def test_every_pure_form_is_recorded_or_absent_for_a_reason():
    missing = [form.opcode for form in pure_forms() if form.opcode not in recorded() and not is_excused(form.opcode)]
    assert not missing, f"record them with record_h200.py, or give the reason in absent.json: {missing[:20]}"
    assert all(absent().values())


def test_every_hand_written_row_is_recorded():
    missing = [row for row in ROWS if not is_excused(row.opcode) and not is_recorded(row)]
    assert not missing, f"record them with record_h200.py, or give the reason in absent.json: {missing[:5]}"


def is_recorded(row):
    form = lookup(row.opcode)
    wanted = [
        bits.to_bytes(t.n_bytes, "little") for bits, t in zip(row.sources, form.op.shape(form).sources, strict=True)
    ]
    return any(
        case.constants == constants_of(form, row)
        and np.logical_and.reduce(list(map(equals, case.sources, wanted))).any()
        for case, _ in recorded()[row.opcode]
    )


def equals(source, wanted):
    """(n,) bool: where a source has these bytes."""
    return (source.view(np.uint8).reshape(len(source), -1) == np.frombuffer(wanted, np.uint8)).all(axis=1)


def test_nothing_recorded_has_left_the_table():
    assert set(recorded()) <= {form.opcode for form in pure_forms()}


def test_the_recording_names_its_machine():
    machine = json.loads((H200 / "machine.json").read_text(encoding="utf-8"))
    assert machine["gpu"] == "NVIDIA H200" and machine["compute_capability"] == "90"
    assert all(machine[part] for part in ("driver", "cuda_driver", "nvrtc", "cupy", "recorded"))
