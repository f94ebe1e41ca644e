"""The instruction table against an H200: every pure form, bit for bit, or within its row's bound.

The recording is made by `record_h200.py` on the GPU; these tests need none.
"""

import json
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.golden.replay import constants_of, load, pure_forms
from tests.simt.isa.operands import within
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


def disagreements(case, results):
    """Texts of the lanes where the table says something else than the GPU."""
    with np.errstate(all="ignore"):
        ours = case.form.op.eval(case.form, *case.sources)
    types = case.form.op.shape(case.form).results
    for got, gpu, type_ in zip(ours if isinstance(ours, tuple) else (ours,), results, types, strict=True):
        for lane in np.flatnonzero(~within(case.form, got, gpu, type_))[:1]:
            sources = [source[lane] for source in case.sources]
            yield f"{case.key} of {sources}: the table gives {got[lane]!r}, the H200 {gpu[lane]!r}"


@pytest.mark.parametrize("name", OPS)
def test_the_table_gives_what_the_h200_gives(name):
    cases = [pair for opcode, pairs in recorded().items() if opcode.split(".")[0] == name for pair in pairs]
    wrong = [text for case, results in cases for text in disagreements(case, results)]
    assert not wrong, f"{len(wrong)} cases of {len(cases)}:\n" + "\n".join(wrong[:10])


def test_every_pure_form_is_recorded_or_absent_for_a_reason():
    missing = [form.opcode for form in pure_forms() if form.opcode not in recorded() and not is_excused(form.opcode)]
    assert not missing, f"record them with record_h200.py, or give the reason in absent.json: {missing[:20]}"
    assert all(absent().values())


def test_every_hand_written_row_is_recorded():
    known = {
        (case.key, *(source[lane].tobytes() for source in case.sources))
        for pairs in recorded().values() for case, _ in pairs for lane in range(len(case.sources[0]))
    }  # fmt: skip
    missing = [row for row in ROWS if not is_excused(row.opcode) and _identity(row) not in known]
    assert not missing, f"record them with record_h200.py, or give the reason in absent.json: {missing[:5]}"


def _identity(row):
    from simt.isa import lookup

    form = lookup(row.opcode)
    literals = "".join(f"@{index}={value}" for index, value in constants_of(form, row).items())
    types = form.op.shape(form).sources
    return row.opcode + literals, *(b.to_bytes(t.n_bytes, "little") for b, t in zip(row.sources, types, strict=True))


def test_nothing_recorded_has_left_the_table():
    assert set(recorded()) <= {form.opcode for form in pure_forms()}


def test_the_recording_names_its_machine():
    machine = json.loads((H200 / "machine.json").read_text(encoding="utf-8"))
    assert machine["gpu"] == "NVIDIA H200" and machine["compute_capability"] == "90"
    assert all(machine[part] for part in ("driver", "cuda_driver", "nvrtc", "cupy", "recorded"))
