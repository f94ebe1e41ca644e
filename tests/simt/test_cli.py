"""The command `python -m simt run`: exit status, JSON and text, and what it says about bad input."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simt.cli import main
from simt.cli_report import digest
from simt.cli_run import RunOptions, run_files
from simt.events import ALL_CHECKS, Budget, Status

ROOT = Path(__file__).resolve().parents[2]

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
SAXPY_TOML = """kernel = "saxpy"
grid = 4
block = 256
[[args]]
name = "a"
kind = "scalar"
dtype = "float32"
value = 2.0
[[args]]
name = "x"
kind = "array"
dtype = "float32"
shape = [1000]
dir = "in"
init = "normal:7"
[[args]]
name = "y"
kind = "array"
dtype = "float32"
shape = [1000]
dir = "inout"
init = "ones"
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = 1000
"""
OUT = """grid = 1
block = 32
[[args]]
name = "y"
kind = "array"
dtype = "int32"
shape = [32]
dir = "out"
"""


@pytest.fixture
def files(tmp_path):
    """Writes a kernel and a launch file; answers with the arguments of `run`."""

    def write(source, launch, name="kernel.cu"):
        kernel, toml = tmp_path / name, tmp_path / "launch.toml"
        kernel.write_text(source)
        toml.write_text(launch)
        return ["run", str(kernel), "--launch", str(toml)]

    return write


def report(capsys, arguments):
    """(exit status, the JSON it printed)."""
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_clean_run_says_how_much_was_checked(files, capsys):
    status, found = report(capsys, files(SAXPY, SAXPY_TOML))
    assert (status, found["status"], found["diagnostics"]) == (0, "ok", [])
    assert (found["blocks_run"], found["blocks_total"], found["accesses_checked"]) == (4, 4, 3000)
    assert (found["checks"], found["checks_off"]) == (sorted(ALL_CHECKS), [])


def test_result_is_written_with_its_digest(files, capsys, tmp_path):
    status, found = report(capsys, [*files(SAXPY, SAXPY_TOML), "--out", str(tmp_path / "out")])
    y = np.load(found["outputs"]["y"]["path"])
    x = np.random.default_rng(7).standard_normal(1000).astype(np.float32)
    expected = (2.0 * x.astype(np.float64) + 1.0).astype(np.float32)
    assert status == 0 and (y == expected).all()
    assert found["outputs"]["y"]["digest"] == digest(expected)


def test_counters_are_given_in_total_and_by_line(files, capsys):
    _, found = report(capsys, files(SAXPY, SAXPY_TOML))
    total, lines = found["counters"]["total"], found["counters"]["lines"]
    assert (total["global_load_requests"], total["global_load_sectors"]) == (64, 250)
    assert lines["4"]["global_store_sectors"] == 125
    assert sum(line["instructions"] for line in lines.values()) == total["instructions"]


def test_resources_give_occupancy_by_architecture(files, capsys):
    _, found = report(capsys, [*files(SAXPY, SAXPY_TOML), "--arch", "sm_90"])
    assert found["arch"] == found["resources"]["registers_of"] == "sm_90"
    assert found["resources"]["registers"] > 0 and found["resources"]["spill_bytes"] == 0
    assert found["resources"]["occupancy"]["sm_90"] == {
        "fraction": 1.0, "blocks": 8, "warps": 64, "limited_by": ["warps"],
    }  # fmt: skip


def test_run_is_estimated_on_every_gpu(files, capsys):
    _, found = report(capsys, files(SAXPY, SAXPY_TOML))
    assert found["model"]["h200"]["bound"] == "launch" and found["model"]["h200"]["calibrated"]
    assert {"t4", "a100-80", "rtx3090", "rtx4090", "h100", "b200"} <= set(found["model"]) and found[
        "model_reason"
    ] is None
    assert set(found["seconds"]) == {"compile", "translate", "run"}


def test_finding_exits_with_1_and_names_line_and_lanes(files, capsys):
    status, found = report(capsys, files(SAXPY.replace("if (i < n)", ""), SAXPY_TOML))
    (first, *_) = found["diagnostics"]
    assert (status, found["status"], first["line"], first["severity"]) == (1, "findings", 4, "error")
    assert first["block"] == [3, 0, 0] and first["lanes"]


def test_checks_that_are_off_are_listed_and_find_nothing(files, capsys):
    arguments = files(SAXPY.replace("if (i < n)", ""), SAXPY_TOML)
    status, found = report(capsys, [*arguments, "--check", "synccheck"])
    assert (status, found["checks"]) == (0, ["synccheck"]) and "memcheck" in found["checks_off"]
    assert main([*arguments, "--check", "none"]) == 0
    text = capsys.readouterr().out
    assert "nothing was checked" in text and "clean" not in text


def test_warning_alone_exits_with_0_and_is_printed(files, capsys):
    source = 'extern "C" __global__ void k(const int* x, int* y) { y[threadIdx.x] = threadIdx.x; }\n'
    toml = OUT.replace("[[args]]", '[[args]]\nname = "x"\ndtype = "int32"\nshape = [32]\ninit = "ones"\n[[args]]', 1)
    status = main(files(source, toml))
    assert status == 0 and "warning[CV002]" in capsys.readouterr().out


def test_text_that_does_not_compile_exits_with_2(files, capsys):
    status, found = report(capsys, files(SAXPY.replace("int i", "imt i"), SAXPY_TOML))
    assert (status, found["status"]) == (2, "build_failed")
    assert found["diagnostics"][0]["line"] == 2 and found["blocks_run"] == 0


def test_ptx_that_is_not_supported_exits_with_3_and_is_named(files, capsys):
    ptx = PTX.replace("st.global.u32 [%rd2], %r1;", "tex.1d.v4.f32.s32 {%f1,%f1,%f1,%f1}, [image, {%r1}];")
    status, found = report(capsys, files(ptx, OUT, "kernel.ptx"))
    assert (status, found["status"]) == (3, "not_supported")
    assert "tex.1d" in found["diagnostics"][0]["message"]


def test_budget_exits_with_4(tmp_path, files):
    _, kernel, _, launch = files('extern "C" __global__ void k(int* y) { for (;;) y[0] += 1; }\n', OUT)
    short = RunOptions(checks=frozenset(), budget=replace(Budget(), warp_instructions=100_000))
    found = run_files(Path(kernel), Path(launch), short)
    assert (found.status, found.exit_status) == (Status.BUDGET, 4)
    assert found.diagnostics[0].check == "runtime.budget" and found.diagnostics[0].line == 1


PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y) {
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd1, %rd3;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""


def test_ptx_runs_too(files, capsys):
    status, found = report(capsys, files(PTX, OUT, "kernel.ptx"))
    assert (status, found["outputs"]["y"]["digest"]) == (0, digest(np.arange(32, dtype=np.int32)))
    assert found["resources"]["registers"] is None and found["resources"]["reason"]


TWO = """extern "C" __global__ void square(const float* x, float* t) { t[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }
extern "C" __global__ void halve(const float* t, float* y, float by) { y[threadIdx.x] = t[threadIdx.x] * by; }
"""
TWO_TOML = """block = 64
grid = 1
[[args]]
name = "x"
dtype = "float32"
shape = [64]
dir = "in"
init = "iota"
[[args]]
name = "t"
dtype = "float32"
shape = [64]
dir = "out"
[[args]]
name = "y"
dtype = "float32"
shape = [64]
dir = "out"
[[args]]
name = "half"
kind = "scalar"
dtype = "float32"
value = 0.5
[[launch]]
kernel = "square"
args = ["x", "t"]
[[launch]]
kernel = "halve"
args = ["t", "y", "half"]
"""


def test_launches_share_buffers(files, capsys, tmp_path):
    status, found = report(capsys, [*files(TWO, TWO_TOML), "--out", str(tmp_path)])
    assert status == 0 and found["blocks_run"] == 2
    assert (np.load(tmp_path / "y.npy") == np.arange(64) ** 2 / 2).all()
    assert [launch["kernel"] for launch in found["launches"]] == ["square", "halve"]
    assert found["counters"]["total"]["global_store_requests"] == 4


def test_shared_output_that_no_launch_fills_is_found_once(files, capsys):
    status, found = report(capsys, files(TWO, TWO_TOML.replace("[64]", "[80]")))
    unwritten = [row["message"] for row in found["diagnostics"] if row["check"] == "coverage.unwritten-output"]
    assert status == 1 and sum("`t`" in message for message in unwritten) == 1


def test_template_instance_constants_and_options_reach_the_compiler(files, capsys, tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "scale.h").write_text("#define SCALE 2\n")
    source = """#include "scale.h"
__constant__ int table[4];
template <int N> __global__ void k(int* y) { y[threadIdx.x] = table[threadIdx.x % 4] * SCALE + N + EXTRA; }
"""
    toml = (
        'name_expression = "k<5>"\noptions = ["-DEXTRA=100", "-Iinclude"]\n'
        + OUT
        + "[constants]\ntable = [1, 2, 3, 4]\n"
    )
    status, found = report(capsys, [*files(source, toml), "--out", str(tmp_path)])
    assert status == 0, found["diagnostics"]
    assert (np.load(tmp_path / "y.npy") == np.tile([1, 2, 3, 4], 8) * 2 + 105).all()


def test_a_struct_is_passed_by_value(files, capsys, tmp_path):
    source = """struct Window { signed char kind; double scale; int first; float tail[2]; };
extern "C" __global__ void cut(Window w, float* y) {
    y[threadIdx.x] = w.kind * w.scale + w.first + (threadIdx.x < 16 ? w.tail[0] : w.tail[1]);
}
"""
    launch = (
        'grid = 1\nblock = 32\n[[args]]\nname = "w"\nkind = "scalar"\ndtype = ["int8", "float64", "int32", "float32"]\n'
        'value = [-1, 2.5, 3, [4, 50]]\n[[args]]\nname = "y"\ndtype = "float32"\nshape = [32]\n'
    )
    arguments = files(source, launch)
    status, said = report(capsys, [*arguments, "--out", str(tmp_path / "out")])
    assert status == 0, said["diagnostics"]
    assert np.load(said["outputs"]["y"]["path"]).tolist() == [4.5] * 16 + [50.5] * 16
    (tmp_path / "launch.toml").write_text(launch.replace(', "float32"]', "]").replace(", [4, 50]]", "]"))
    status, said = report(capsys, arguments)
    assert status == 1 and said["diagnostics"][0]["check"] == "host.arg-type"


def test_kernel_may_not_change_an_input(files, capsys):
    source = 'extern "C" __global__ void k(int* y) { y[threadIdx.x] = threadIdx.x; }\n'
    status, found = report(capsys, files(source, OUT.replace('dir = "out"', 'dir = "in"\ninit = "ones"')))
    assert status == 1 and "input-modified" in [row["check"] for row in found["diagnostics"]]


def test_printed_text_is_reported(files, capsys):
    source = (
        'extern "C" __global__ void k(int* y) { y[threadIdx.x] = 1; if (!threadIdx.x) printf("hello %d\\n", 42); }\n'
    )
    _, found = report(capsys, files(source, OUT))
    assert found["printed"] == "hello 42\n"


# --- bad input


@pytest.mark.parametrize(
    "change, status, says",
    [
        (('kernel = "saxpy"', 'kernel = "sacpy"'), 2, "sacpy"),
        (("grid = 4", "grid = 0"), 1, "grid.x is 0"),
        (("block = 256", "block = 2048"), 1, "1024"),
        (("[1000]", "[100000000000]"), 1, "GiB"),
        (('dtype = "int32"', 'dtype = "int64"'), 1, "8 bytes"),
        (("[[args]]", "[constants]\nnone = 1\n[[args]]"), 1, "no such variable"),
        (("grid = 4", "grid = four"), 1, "line 2"),
    ],
)
def test_bad_launch_says_what_and_what_next(files, capsys, change, status, says):
    got, found = report(capsys, files(SAXPY, SAXPY_TOML.replace(*change, 1 if "int32" not in change[0] else -1)))
    (first, *_) = found["diagnostics"]
    assert (got, found["blocks_run"]) == (status, 0)
    assert says in first["message"] and first["help"]


@pytest.mark.parametrize("missing", ["kernel", "launch file"])
def test_missing_file_is_unreadable_and_named_with_its_folder(missing, files, capsys):
    arguments = files(SAXPY, SAXPY_TOML)
    arguments[1 if missing == "kernel" else 3] = "nowhere.cu"
    status, found = report(capsys, arguments)
    assert (status, found["status"], found["blocks_run"]) == (2, "unreadable", 0)
    (only,) = found["diagnostics"]
    assert only["check"] == "host.unreadable" and f"{missing} nowhere.cu: No such file" in only["message"]
    assert str(Path.cwd()) in only["help"]


def test_missing_file_is_not_said_to_fail_to_compile(files, capsys):
    arguments = files(SAXPY, SAXPY_TOML)
    status = main([*arguments[:1], "nowhere.cu", *arguments[2:]])
    said = capsys.readouterr().out
    assert status == 2 and "cannot be read" in said and "compile" not in said


@pytest.mark.parametrize(
    "more, says",
    [(["--check", "memchek"], "memchek"), (["--threads", "0"], "1 or more"), (["--arch"], "argument")],
)
def test_command_line_that_cannot_be_read_is_explained(files, capsys, more, says):
    with pytest.raises(SystemExit) as caught:
        main([*files(SAXPY, SAXPY_TOML), *more])
    assert caught.value.code == 2 and says in capsys.readouterr().err


def test_unknown_architecture_lists_the_known_ones(files, capsys):
    status, found = report(capsys, [*files(SAXPY, SAXPY_TOML), "--arch", "sm_77"])
    assert status == 1 and "sm_90" in found["diagnostics"][0]["message"]


def test_threads_do_not_change_the_report(files, capsys):
    arguments = files(SAXPY, SAXPY_TOML)
    one, two = (report(capsys, [*arguments, "--threads", n])[1] for n in "12")
    for found in (one, two):
        del found["seconds"]
        for launch in found["launches"]:
            del launch["seconds"]
    assert one == two


def test_coverage_lists_what_runs_and_what_does_not(capsys):
    assert main(["coverage"]) == 0
    text = capsys.readouterr().out
    assert "shfl.sync" in text and "Not run" in text


def test_the_module_is_a_command(files):
    command = [sys.executable, "-m", "simt", *files(SAXPY, SAXPY_TOML)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "clean" in done.stdout and "4 of 4 blocks" in done.stdout
