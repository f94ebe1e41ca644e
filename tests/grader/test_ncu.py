"""The bridge to NVIDIA's tools: what is read from their text, and what is said where they are missing or refuse."""

import os
import stat

import numpy as np
import pytest

from grader import ncu
from grader.answers import submit
from grader.cli import main
from grader.devices.base import CASE_BUDGET, DeviceMissing
from grader.exercises import exercise
from grader.model import Compiled, Resources
from grader.ncu_job import read_job, write_job
from grader.ncu_profile import launch_of, lines, profiled
from grader.pipeline import check_submission
from grader.worker.wire import Launch
from simt.counters import Counters
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from tests.processes import ended

RAW_PAGE = """==PROF== Connected to process 4242 (/usr/bin/python3.12)
==PROF== Profiling "solve" - 0: 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed.sum","smsp__sass_inst_executed_op_ldsm.sum"
"","","","","","","","","","","","","inst","inst"
"0","4242","python3.12","127.0.0.1","solve","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","1,024","12,288","n/a"
"""

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at solve+0xc0 in kernel.cu:4
=========     by thread (0,0,0) in block (16,0,0)
=========     Access to 0x7f52b4804000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f52b4800000 of size 16,384 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x372] in libcuda.so.1
========= Invalid __global__ read of size 4 bytes
=========     at solve+0xc0 in kernel.cu:4
=========     by thread (1,0,0) in block (16,0,0)
=========     Access to 0x7f52b4804004 is out of bounds
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call
=========     Saved host backtrace up to driver entry point at error
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at solve+0x90 in kernel.cu:4
=========     and Read access at solve+0xd0 in kernel.cu:5 [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def test_counters_are_read_from_the_raw_page_between_what_else_is_printed():
    assert ncu.parse_counters("y[0] = 3\n" + RAW_PAGE + "done\n") == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1024.0, "smsp__inst_executed.sum": 12288.0,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM", '"ID","a__b.sum"\n"","inst"\n', '"ID"\n"1"\n'])
def test_text_without_values_gives_none(text):
    assert ncu.parse_counters(text) == {}


def test_equal_findings_are_counted_together_and_what_follows_from_them_is_left_out():
    (found,) = ncu.parse_findings("memcheck", MEMCHECK)
    assert (found.says, found.line, found.times) == ("Invalid __global__ read of size 4 bytes", 4, 2)
    assert found.place == "thread (0,0,0) in block (16,0,0)"


def test_a_race_names_both_accesses():
    (found,) = ncu.parse_findings("racecheck", RACECHECK)
    assert found.line == 4
    assert found.says == "Error: Race reported between Write access and Read access [1024 hazards]"


def test_a_clean_run_has_no_finding():
    assert ncu.parse_findings("memcheck", CLEAN) == ()


def test_our_counters_stand_beside_nsights():
    ours = Counters(instructions=12288, global_load_requests=1000)
    rows = {row.counter: row for row in ncu.compared(ours, ncu.parse_counters(RAW_PAGE))}
    assert (rows["instructions"].ours, rows["instructions"].nsight) == (12288, 12288.0)
    assert rows["global_load_requests"].nsight == 1024.0 and rows["shared_load_requests"].nsight is None


def some_launch():
    x = np.arange(10, dtype=np.float32)
    compiled = Compiled("ptx", b"cubin", "solve", "sm_90", Resources(16, 0, 0, 0), "", "digest", "source")
    arguments = (Argument("x", Direction.IN, x), Argument("n", Direction.SCALAR, np.int32(10)))
    return Launch(compiled, LaunchConfig(Dim3(2), Dim3(64)), arguments, CASE_BUDGET, False, None)


def test_a_job_survives_its_file(tmp_path):
    write_job(tmp_path / "job", some_launch())
    got = read_job(tmp_path / "job")
    assert got.compiled.cubin == b"cubin" and got.config == some_launch().config
    assert np.array_equal(got.arguments[0].value, np.arange(10)) and got.arguments[1].value == 10


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """Makes `ncu` and `compute-sanitizer` that print a text; what they were called with stands in `calls`."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(**texts):
        for name, text in texts.items():
            path = folder / name.replace("_", "-")
            (folder / f"{name}.txt").write_text(text)
            path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\ncat "{folder}/{name}.txt"\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return folder / "calls"

    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return make


def test_ncu_is_asked_for_our_counters_and_leaves_the_clocks(tools):
    calls = tools(ncu=RAW_PAGE)
    assert ncu.profile(some_launch())["smsp__inst_executed.sum"] == 12288.0
    said = calls.read_text()
    assert "--clock-control none" in said and "smsp__inst_executed.sum" in said and "ncu_target.py" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [("==ERROR== ERR_NVGPUCTRPERM - no permission", "administrator"), ("crashed", "crashed"), ("", "nothing")],
)
def test_an_ncu_that_reads_nothing_says_why(tools, text, says):
    tools(ncu=text)
    with pytest.raises(ncu.ToolMissing, match=says):
        ncu.profile(some_launch())


def test_a_sanitizer_without_a_summary_came_to_no_end(tools):
    tools(compute_sanitizer="========= COMPUTE-SANITIZER\n========= Error: Device not supported\n")
    with pytest.raises(ncu.ToolMissing, match="Device not supported"):
        ncu.sanitize(some_launch(), "memcheck")


def test_a_tool_that_does_not_end_is_ended_with_what_it_started(tools, monkeypatch, tmp_path):
    tools(ncu="")
    pid = tmp_path / "pid"
    (tmp_path / "bin" / "ncu").write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {pid}\nwait\n")
    for seconds in (0.5, 5, 50):  # a busy machine may not have started the tool so soon
        monkeypatch.setattr(ncu, "SECONDS", seconds)
        with pytest.raises(ncu.ToolMissing, match="longer"):
            ncu.profile(some_launch())
        if pid.exists() and pid.read_text():
            break
    assert ended(int(pid.read_text()))


PAST_END = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * x[i] + 1.0f;
}"""


def test_both_tools_stand_beside_ours(tools):
    tools(ncu=RAW_PAGE, compute_sanitizer=MEMCHECK)
    row = exercise("selftest.map")
    answer = submit(row, PAST_END)
    found = profiled(row, answer, check_submission(answer), "sm_90")
    assert found.ours[0].startswith("memcheck.global") and {f.tool for f in found.findings} == set(ncu.CHECKS)
    said = "\n".join(lines(found))
    assert (
        "instructions" in said
        and "12,288" in said
        and "memcheck: Invalid __global__ read of size 4 bytes, line 4" in said
    )
    assert found.to_json()["case"] == found.case == "n=4096"


def test_what_is_missing_is_said_beside_what_is_there(tools, monkeypatch, tmp_path):
    tools(compute_sanitizer=CLEAN)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    row = exercise("selftest.map")
    answer = submit(row, PAST_END)
    found = profiled(row, answer, check_submission(answer), "sm_90")
    assert found.counters == () and "not on the path" in found.absent["ncu"] and found.findings == ()
    assert "no ncu: " in "\n".join(lines(found))


def test_a_text_that_ours_rejects_is_not_run(tools):
    calls = tools(ncu=RAW_PAGE, compute_sanitizer=CLEAN)
    row = exercise("selftest.map")
    answer = submit(row, '#include "/etc/passwd"\n' + PAST_END)
    found = profiled(row, answer, check_submission(answer), "sm_90")
    assert "source_rejected" in found.absent["launch"] and not calls.exists()


def test_exercises_without_a_kernel_have_no_launch():
    row = exercise("thread_mapping.launch")
    assert isinstance(launch_of(row, submit(row, "", {}), "sm_90"), str)


def test_check_shows_both_in_json(tools, monkeypatch, capsys, tmp_path):
    import json

    tools(ncu=RAW_PAGE, compute_sanitizer=CLEAN)
    monkeypatch.setattr("grader.worker.host.WorkerDevice.arch", "sm_90")
    status = main(["check", "solutions/00_start_here.py", "--exercise", "hello.double_it", "--ncu", "--json"])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == 0 and records[0]["verdict"] == "pass"
    assert records[1]["profiled"]["ncu"] and records[1]["profiled"]["compute_sanitizer"] == []


def test_without_tools_the_command_leaves_with_3(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert main(["check", "solutions/00_start_here.py", "--ncu"]) == 3
    assert "ncu is not on the path" in capsys.readouterr().err


def test_without_a_gpu_the_command_leaves_with_3(monkeypatch, capsys, tools):
    def missing(self):
        raise DeviceMissing("no GPU here")

    tools(ncu=RAW_PAGE, compute_sanitizer=CLEAN)
    monkeypatch.setattr("grader.worker.host.WorkerDevice._ready", missing)
    assert main(["check", "solutions/00_start_here.py", "--ncu"]) == 3
    assert "no GPU here" in capsys.readouterr().err
