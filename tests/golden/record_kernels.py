"""Golden kernels on a GPU: the same outputs, and the same sectors, requests and wavefronts by Nsight Compute?

    python -m tests.golden.record_kernels prepare                 here: machine code into build/golden-kernels
    python3 -m tests.golden.record_kernels run --out FOLDER       on the GPU's machine: kernels.json, kernels.npz
    python -m tests.golden.record_kernels compare FOLDER          here: what simt gives otherwise

`run` needs CuPy, NumPy and llvmlite, and for counters `ncu`. A kernel that fails, hangs or spoils its process costs itself
only; one that ran is then profiled, all in one call of ncu. Both halves keep to `--seconds`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from simt.counters import NCU
from tests.golden.kernel_jobs import JOBS, prepare, read_jobs

ROOT = Path(__file__).resolve().parents[2]
EACH_SECONDS = 30.0
# Counts of tensor and matrix instructions by the names that Nsight may have for them; what this GPU lacks is left out.
MORE = (
    "smsp__inst_executed_pipe_tensor.sum", "smsp__inst_executed_pipe_tensor_op_hmma.sum",
    "smsp__inst_executed_pipe_tensor_op_imma.sum", "smsp__inst_executed_pipe_tensor_op_dmma.sum",
    "smsp__inst_executed_pipe_tensor_op_gmma.sum", "sm__inst_executed_pipe_tensor.sum",
    "sm__inst_executed_pipe_tensor_op_hmma.sum", "sm__inst_executed_pipe_tensor_op_imma.sum",
    "sm__inst_executed_pipe_tensor_op_dmma.sum", "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "smsp__sass_inst_executed_op_ldsm.sum", "smsp__inst_executed_op_ldsm.sum", "smsp__sass_inst_executed_op_stsm.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum", "smsp__inst_executed_op_ldgsts.sum",
    "smsp__sass_inst_executed_op_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_st.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("prepare")
    run = parts.add_parser("run")
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--jobs", type=Path, default=JOBS)
    run.add_argument("--seconds", type=float, default=500.0)
    run.add_argument("--no-ncu", action="store_true")
    run.add_argument("names", nargs="*", help="parts of names; all kernels without")
    compare = parts.add_parser("compare")
    compare.add_argument("folder", type=Path)
    compare.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.part == "prepare":
        for line in prepare():
            print(line)
    elif arguments.part == "run":
        record(arguments)
    else:
        from tests.golden.kernel_comparison import compare_all

        sys.exit(compare_all(arguments.folder, arguments.names))


def record(arguments: argparse.Namespace) -> None:
    """Runs everything, then writes kernels.json and kernels.npz."""
    from tests.golden.record_h200 import machine

    end = time.monotonic() + arguments.seconds
    jobs = {job.name: job for job in read_jobs(arguments.jobs)}
    names = [n for n in jobs if not arguments.names or any(part in n for part in arguments.names)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="golden-kernels-") as temporary:
        work = Path(temporary)
        lines = run_all(arguments.jobs, work, names, end)
        good = [name for name in names if name in lines and not lines[name]["error"]]
        counters, said = ({}, "not asked for") if arguments.no_ncu else profile(arguments.jobs, good, end)
        kernels = {}
        for name in names:
            line = lines.get(name, {"error": "no time was left"})
            kernels[name] = {
                "arch": jobs[name].arch, "digest": jobs[name].digest, "error": line["error"],
                "outputs": line.get("digests", {}), "launches": counters.get(name, []),
            }  # fmt: skip
            print(f"{name}: {line['error'] or 'ran'}, {len(counters.get(name, []))} launches counted")
        arrays = {f"{name}/{key}": value for name in good for key, value in _outputs(work, name)}
        np.savez_compressed(arguments.out / "kernels.npz", **arrays)
    whole = {"machine": machine(), "ncu": said, "kernels": kernels}
    (arguments.out / "kernels.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    print(f"{len(good)} of {len(names)} kernels ran; ncu: {said}")


def _outputs(work: Path, name: str) -> Iterator[tuple[str, np.ndarray]]:
    with np.load(work / f"{name.replace('/', '-')}.npz") as arrays:
        yield from ((key, arrays[key]) for key in arrays.files)


def run_all(jobs: Path, work: Path, names: Sequence[str], end: float) -> dict[str, dict]:
    """Each kernel's line; a process that dies or hangs is replaced for those after the one it was at."""
    left = list(names)
    while left and time.monotonic() < end:
        done = len(_lines(work))
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.golden.gpu_kernels", str(jobs), str(work), *left], cwd=ROOT
        )
        error = _watch(child, work, end)
        lines = _lines(work)
        left = [name for name in left if name not in lines]
        if left and (error or len(lines) == done):  # it said nothing of the one it was at
            _add_line(work, left.pop(0), error or f"its process ended with {child.returncode}")
    return _lines(work)


def _watch(child: subprocess.Popen, work: Path, end: float) -> str:
    """Waits for a child while lines keep coming; "" once it ended by itself, else why it was killed."""
    seen, since = -1, time.monotonic()
    while child.poll() is None:
        time.sleep(0.1)
        n = len(_lines(work))
        if n != seen:
            seen, since = n, time.monotonic()
        if time.monotonic() - since > EACH_SECONDS or time.monotonic() > end:
            child.kill()
            child.wait()
            return f"no end within {EACH_SECONDS:.0f} s"
    return ""


def _lines(work: Path) -> dict[str, dict]:
    path = work / "lines.jsonl"
    rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {row["name"]: row for row in map(json.loads, rows)}


def _add_line(work: Path, name: str, error: str) -> None:
    with (work / "lines.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"name": name, "error": error}) + "\n")


def profile(jobs: Path, names: Sequence[str], end: float) -> tuple[dict[str, list[dict[str, float]]], str]:
    """(metrics of each launch by kernel, what was done) by one call of ncu."""
    ncu = shutil.which("ncu")
    if not ncu:
        return {}, "not on this machine"
    metrics = wanted_metrics(ncu)
    with tempfile.TemporaryDirectory(prefix="golden-ncu-") as temporary:
        work = Path(temporary)
        command = [
            ncu, "--csv", "--page", "raw", "--target-processes", "application-only", "--cache-control", "all",
            "--clock-control", "none", "--metrics", ",".join(metrics),
            sys.executable, "-m", "tests.golden.gpu_kernels", str(jobs), str(work), *names,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=max(end - time.monotonic(), 1.0)
            )
            text, how = done.stdout, f"exit status {done.returncode}, {len(metrics)} metrics"
            if done.returncode:
                how += f": {(done.stderr or done.stdout)[-500:]}"
        except subprocess.TimeoutExpired as late:
            raw = late.stdout or b""
            text, how = raw.decode() if isinstance(raw, bytes) else raw, "stopped for time"
        rows = [json.loads(line) for line in (work / "launches.jsonl").read_text(encoding="utf-8").splitlines()]
        return by_kernel(rows, text, metrics), how


def wanted_metrics(ncu: str) -> list[str]:
    """The metrics of `simt.counters.NCU` and `MORE` that this GPU has; those of NCU when ncu does not say."""
    ours = sorted({name.strip() for metric in NCU.values() for name in metric.split("+") if name.strip()})
    listed = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, timeout=120).stdout
    known = {line.split()[0] for line in listed.splitlines() if line.strip()}
    if not any(name.partition(".")[0] in known for name in ours):
        return ours
    return [name for name in dict.fromkeys((*ours, *MORE)) if name.partition(".")[0] in known]


def by_kernel(launches: Sequence[dict], text: str, metrics: Sequence[str]) -> dict[str, list[dict[str, float]]]:
    """ncu's rows, which come in the order of the launches, by golden kernel; rows of other kernels are passed over."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))) if (row["ID"] or "").isdigit()]
    found: dict[str, list[dict[str, float]]] = {}
    position = 0
    for launch in launches:
        while position < len(rows) and not _same_kernel(rows[position]["Kernel Name"], launch["kernel"]):
            position += 1
        if position == len(rows):
            break
        row = rows[position]
        position += 1
        values = {name: float(row[name].replace(",", "")) for name in metrics if row.get(name)}
        found.setdefault(launch["name"], []).append(values)
    return found


def _same_kernel(shown: str, mangled: str) -> bool:
    """Whether ncu's name, such as `void gemm<128>(…)`, is that of a mangled or plain one."""
    plain = shown.split("(")[0].split("<")[0].split()[-1].split("::")[-1]
    return plain in mangled


if __name__ == "__main__":
    main()
