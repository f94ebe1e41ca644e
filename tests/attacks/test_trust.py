"""What a hostile process can know and do: the wire, the jail, a worker that lies, what feedback tells."""

import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.answers import submit
from grader.compile import compile_text
from grader.devices.base import DeviceLost
from grader.exercises import exercise
from grader.hidden import HiddenCases
from grader.model import Case, Verdict
from grader.pipeline import grade
from grader.preparing import prepare_case
from grader.report.json_form import to_json
from grader.worker.host import WorkerDevice, WorkerFailed
from simt.nvrtc import compile_cuda
from simt.sandbox import Child, ChildDied, ChildTimeout, Limits, layers
from tests.attacks.table import ATTACKS

MAP = exercise("selftest.map")
DOT = exercise("selftest.dot")
SEED = 7_318_846_522_915_401
HIDDEN = Case("kept back", {"n": 1_237}, seed=SEED, hidden=True)

# --- what goes over the wire


@pytest.fixture
def sent(monkeypatch):
    """Everything that a parent gives its children: command lines, environments and messages."""
    said = []
    ask, popen = Child.ask, subprocess.Popen

    def asked(self, message, *rest):
        said.extend(message)
        return ask(self, message, *rest)

    def opened(command, *rest, **options):
        said.extend(str(part).encode() for part in command)
        said.extend(f"{name}={value}".encode() for name, value in (options.get("env") or {}).items())
        return popen(command, *rest, **options)

    monkeypatch.setattr(Child, "ask", asked)
    monkeypatch.setattr(subprocess, "Popen", opened)
    return said


@pytest.mark.parametrize("row", [MAP, DOT], ids=lambda row: row.id)
def test_expected_outputs_seeds_and_verdicts_stay_in_the_parent(row, sent):
    row = replace(row, cases=(*row.cases, HIDDEN))
    text = ATTACKS["c01_honest" if row is not DOT and row.id.endswith("map") else "dot_skips_tail"].text
    device = WorkerDevice("simulator")
    grade(submit(row, text), row, device, fresh=True, hidden=HiddenCases())
    device.close()
    wire = b"\n".join(sent)
    assert len(wire) > 10_000
    for case in row.cases:
        prepared = prepare_case(row, case)
        assert prepared.inputs["x"].tobytes()[:64] in wire, "the inputs do travel"
        for want in prepared.want.values():
            pieces = {want.astype(dtype).tobytes()[:64] for dtype in (np.float32, np.float64)}
            assert not [piece for piece in pieces if len(piece) >= 8 and piece in wire]
    for secret in (str(SEED), "kept back", "tolerance", "expected", "reference", *map(str, Verdict)):
        assert secret.encode() not in wire.replace(text.encode(), b""), secret
    assert struct.pack("<Q", SEED) not in wire


# --- the jail of the compiler, without the scan before it

READS = [
    '#include "/etc/passwd"',
    "#include </proc/self/environ>",
    '#inc\\\nlude "/etc/hostname"',
    '#define F "/etc/passwd"\n#include F',
    '#include_next "/etc/passwd"',
    '#include "../../../../../../../../etc/passwd"',
]


@pytest.mark.parametrize("text", READS)
def test_a_jailed_compiler_shows_no_line_of_a_file(text):
    kernel = '\nextern "C" __global__ void solve(float* y) { y[0] = 1.0f; }'
    build = compile_cuda(text + kernel, limits=Limits(), cache=None)
    assert not build.ok
    said = build.log + " ".join(finding.message for finding in build.diagnostics)
    for path in ("/etc/passwd", "/etc/hostname"):
        lines = Path(path).read_text().split("\n") if os.path.exists(path) else []
        assert not [line for line in lines if len(line) > 5 and line in said]


def test_the_jail_is_complete_here():
    """Every layer that the machine has, in the compiler as in the simulator's worker."""
    device = WorkerDevice("simulator")
    device.start()
    assert list(device.layers) == [layer.name for layer in layers() if layer.available]
    device.close()


# --- a worker that lies

LIAR = """
import json, os, struct, sys, time
out, asked = os.fdopen(os.dup(1), "wb", buffering=0), sys.stdin.buffer

def exactly(n):
    data = b""
    while len(data) < n:
        piece = asked.read(n - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data

def message(*parts):
    out.write(struct.pack(f"<{len(parts) + 1}Q", len(parts), *map(len, parts)) + b"".join(parts))

facts = {"name": "simulator", "arch": "sm_80", "capabilities": ["counters", "checks", "sm_80"], "layers": [], "uuid": ""}
message(json.dumps(facts).encode())
(count,) = struct.unpack("<Q", exactly(8))
lengths = struct.unpack(f"<{count}Q", exactly(8 * count))
nonce = [exactly(length) for length in lengths][-1]
HOW
time.sleep(100)
"""
LIES = {
    "garbage": ("out.write(bytes(range(256)) * 100)", DeviceLost),
    "nothing at all": ("sys.exit(0)", DeviceLost),
    "a huge length": ('out.write(struct.pack("<3Q", 2, 1 << 62, 5))', DeviceLost),
    "a length beyond any result": ('out.write(struct.pack("<4Q", 3, 40, 1 << 30, 16))', DeviceLost),
    "many parts": ('out.write(struct.pack("<Q", 1 << 40))', DeviceLost),
    "half a frame": ('out.write(struct.pack("<3Q", 2, 10, 10) + b"12345"); sys.exit(0)', DeviceLost),
    "an old answer": ('message(b"{}", b"", b"", bytes(16))', DeviceLost),
    "no parts": ("message(nonce)", WorkerFailed),
    "no failure": ('message(b"[]", nonce)', WorkerFailed),
    "half a failure": ('message(b"{", nonce)', WorkerFailed),
    "no header": ('message(b"[1, 2]", b"", b"", nonce)', WorkerFailed),
    "a deep header": ('message(b"[" * 100000, b"", b"", nonce)', WorkerFailed),
    "a long header": ('message(b" " * (17 << 20), b"", b"", nonce)', WorkerFailed),
    "an endless header": ("while True: out.write(bytes(1 << 16))", DeviceLost),
    "a signal": ("os.kill(os.getpid(), 11)", DeviceLost),
    "silence": ("time.sleep(100)", DeviceLost),
}


@pytest.fixture
def liar(tmp_path, monkeypatch):
    def start(how):
        (tmp_path / "liar.py").write_text(LIAR.replace("HOW", how))
        monkeypatch.setattr("grader.worker.starting.CHILD", tmp_path / "liar.py")
        return WorkerDevice("simulator")

    return start


@pytest.mark.parametrize("lie", LIES)
def test_a_worker_that_lies_costs_a_submission_and_nothing_else(lie, liar, monkeypatch):
    how, error = LIES[lie]
    device = liar(how)
    if lie == "silence":  # the others end at once, so that only what never comes is not waited for
        monkeypatch.setattr("grader.worker.host.SPARE_SECONDS", -7.0)
    prepared = prepare_case(MAP, MAP.cases[0])
    built = compile_text(ATTACKS["c01_honest"].text, "solve", "sm_80")
    from simt.launch import Dim3, LaunchConfig

    with pytest.raises(error) as caught:
        device.run(built, LaunchConfig(Dim3(1), Dim3(256)), prepared.arguments)
    assert getattr(caught.value, "timed_out", False) == (lie == "silence")
    assert device._child is None or not device._child.alive
    report = grade(submit(MAP, ATTACKS["c01_honest"].text), MAP, device, hidden=HiddenCases())
    assert report.score == 0 and report.verdict in (Verdict.INTERNAL_ERROR, Verdict.TIMEOUT)
    assert report.message or report.diagnostics
    device.close()


def test_a_compile_process_that_lies_is_a_limit(tmp_path):
    script = tmp_path / "compiler.py"
    script.write_text(
        "import os, struct, sys\n"
        "out = os.fdopen(os.dup(1), 'wb', buffering=0)\n"
        "out.write(struct.pack('<2Q', 1, 2) + b'{}')\nsys.stdin.buffer.read(8)\nout.write(bytes(1 << 20))\n"
    )
    child = Child([sys.executable, str(script)], Limits(wall_seconds=5))
    child.wait(60)
    with pytest.raises((ChildDied, ChildTimeout)):
        child.ask((b"job",))
    assert not child.alive


# --- what feedback tells


def test_a_report_tells_what_fails_in_a_hidden_case_and_none_of_its_data():
    text = ATTACKS["known_sizes"].text
    row = replace(MAP, cases=(*(case for case in MAP.cases if not case.hidden), HIDDEN))
    device = WorkerDevice("simulator")
    report = grade(submit(row, text), row, device, hidden=HiddenCases())
    device.close()
    assert report.verdict is Verdict.WRONG_ANSWER and report.diagnostics
    told = json.dumps(to_json(replace(report, digest="", when=None)))
    prepared = prepare_case(row, HIDDEN)
    assert "1237" not in told and str(SEED) not in told
    assert not [v for v in prepared.want["y"][:50] if f"{v:.6g}" in told]
    assert not [v for v in prepared.inputs["x"][:50] if f"{v:.6g}" in told]


def test_what_a_kernel_prints_in_a_hidden_case_is_shown_to_nobody():
    text = ATTACKS["d07_printf_exfil"].text
    row = replace(MAP, cases=(HIDDEN,))
    device = WorkerDevice("simulator")
    report = grade(submit(row, text), row, device, hidden=HiddenCases())
    device.close()
    assert report.verdict is Verdict.PASS and report.printed == ""
