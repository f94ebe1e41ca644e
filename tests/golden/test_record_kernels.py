"""The recording of golden kernels, as far as it needs no GPU: ncu's rows, differences, and processes that die."""

import sys

import numpy as np

from simt.counters import Counters
from tests.golden import record_kernels
from tests.golden.kernel_comparison import counter_differences, output_differences
from tests.golden.record_kernels import by_kernel, run_all

CSV = """==PROF== Connected
"ID","Kernel Name","smsp__sass_inst_executed_op_shared_ld.sum"
"","","inst"
"0","fill(float *)","7"
"1","void gemm<128>(const float *, int)","1,024"
"2","scale(float *)","3"
"""
LAUNCHES = [{"name": "a/b", "kernel": "_Z4gemmILi128EEvPKfi"}, {"name": "a/c", "kernel": "scale"}]


def test_rows_of_ncu_find_their_launches_by_order_and_name():
    metric = "smsp__sass_inst_executed_op_shared_ld.sum"
    assert by_kernel(LAUNCHES, CSV, [metric]) == {"a/b": [{metric: 1024.0}], "a/c": [{metric: 3.0}]}
    assert by_kernel(LAUNCHES, "==ERROR== nothing", [metric]) == {}


class Report:
    """What the comparison reads of a run."""

    def __init__(self, outputs=None, counters=None):
        self.outputs = outputs or {}
        self.runs = [type("Run", (), {"result": type("Result", (), {"counters": counters})})]


def test_outputs_are_equal_bit_by_bit_or_within_a_stated_tolerance():
    ours, theirs = np.float32([1, 2, 4]), np.float32([1, 2, 4.000001])
    assert not list(output_differences("memory/copy", Report({"y": ours}), {"y": ours}))
    assert list(output_differences("memory/copy", Report({"y": ours}), {"y": theirs}))
    assert not list(output_differences("math/exp", Report({"y": ours}), {"y": theirs}))
    assert list(output_differences("math/exp", Report({"y": ours}), {"y": np.float32([1, np.nan, 4])}))
    assert list(output_differences("math/exp", Report({"y": np.int32([1])}), {"y": np.int32([2])}))


def test_requests_are_equal_and_wavefronts_nearly():
    names = {"requests": "smsp__sass_inst_executed_op_shared_ld.sum",
             "waves": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}  # fmt: skip
    report = Report(counters=Counters(shared_load_requests=100, shared_load_wavefronts=100))
    assert not list(counter_differences(report, [{names["requests"]: 100.0, names["waves"]: 104.0}]))
    assert list(counter_differences(report, [{names["requests"]: 101.0}]))
    assert list(counter_differences(report, [{names["waves"]: 105.0}]))
    assert list(counter_differences(report, [{names["waves"]: 99.0}]))


CHILD = """import json, os, sys
out, names = sys.argv[1], sys.argv[2:]
for name in names:
    if name == "dies": os._exit(9)
    open(out + "/lines.jsonl", "a").write(json.dumps({"name": name, "error": "spoilt" if name == "spoils" else ""}) + chr(10))
    if name == "spoils": sys.exit(3)
"""


def test_a_kernel_that_spoils_or_ends_its_process_costs_itself_only(tmp_path, monkeypatch):
    popen = record_kernels.subprocess.Popen
    monkeypatch.setattr(
        record_kernels.subprocess,
        "Popen",
        lambda command, cwd: popen([sys.executable, "-c", CHILD, *command[4:]], cwd=cwd),
    )
    lines = run_all(tmp_path, tmp_path, ["a", "spoils", "b", "dies", "c"], float("inf"))
    assert {name: row["error"] for name, row in lines.items()} == {
        "a": "", "spoils": "spoilt", "b": "", "dies": "its process ended with 9", "c": "",
    }  # fmt: skip
