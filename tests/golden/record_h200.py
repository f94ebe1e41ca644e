"""Records what a GPU says about opcodes, the device contract and the lessons: run it on a machine that has one.

    python3 tests/golden/record_h200.py --out tests/golden/h200 --lessons assets/recorded/h200

It needs CuPy, NumPy, llvmlite, pytest and an NVRTC, and neither marimo nor nbgrader. On another GPU than an H200 give
other folders. `test_h200_opcodes.py` and `test_h200_contract.py` compare the recordings with this tree, without a GPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.golden.gpu_replay import PTX_VERSION, replayed  # noqa: E402
from tests.golden.recording import save  # noqa: E402
from tests.golden.replay import cases, pure_forms, reason_not_to_replay  # noqa: E402

PARTS = ("machine", "opcodes", "contract", "lessons")


def main() -> None:
    """Records the parts that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for machine.json, opcodes.npz, contract.json")
    parser.add_argument("--lessons", type=Path, help="folder for solutions.jsonl and times.json")
    parser.add_argument(
        "--processes", type=int, default=1, help="of the tests marked gpu; more than 1 needs pytest-xdist"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    facts = machine()
    if "machine" in arguments.only:
        write(arguments.out / "machine.json", facts)
    if "opcodes" in arguments.only:
        record_opcodes(arguments.out, int(facts["compute_capability"]))
    if "contract" in arguments.only:
        tests = contract(arguments.processes)
        write(arguments.out / "contract.json", {"gpu": facts["gpu"], "recorded": facts["recorded"], "tests": tests})
    if "lessons" in arguments.only and arguments.lessons:
        from tests.golden.lessons import record_lessons

        record_lessons(arguments.lessons, facts)


def write(path: Path, value: object) -> None:
    """A JSON file for people, too."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, str]:
    """What the recordings depend on: GPU, driver, versions, date."""
    import cupy

    from grader.compile import compiler_version

    runtime = cupy.cuda.runtime
    return {
        "gpu": runtime.getDeviceProperties(0)["name"].decode(),
        "compute_capability": cupy.cuda.Device(0).compute_capability,
        "driver": _driver(),
        "cuda_driver": str(runtime.driverGetVersion()),
        "cuda_runtime": str(runtime.runtimeGetVersion()),
        "nvrtc": compiler_version(),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "ptx": PTX_VERSION,
        "recorded": date.today().isoformat(),
    }


def _driver() -> str:
    """`580.159.04`; "unknown" where nvidia-smi does not say."""
    if not shutil.which("nvidia-smi"):
        return "unknown"
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip() or "unknown"


def record_opcodes(folder: Path, capability: int) -> None:
    """Writes opcodes.npz, and in absent.json why the remaining forms are not in it."""
    save(folder / "opcodes.npz", replayed(cases(pure_forms(), capability), f"sm_{capability}"))
    absent = {form.opcode: reason for form in pure_forms() if (reason := reason_not_to_replay(form, capability))}
    write(folder / "absent.json", absent)


class _Outcomes:
    """A pytest plugin that keeps each test's outcome: `passed`, `failed`, `skipped`."""

    def __init__(self) -> None:
        self.tests: dict[str, str] = {}

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or not report.passed:
            self.tests[report.nodeid] = report.outcome


def contract(processes: int) -> dict[str, str]:
    """Outcome of every test marked gpu, by its id."""
    import pytest

    from tests.golden.gpu_tests import gpu_test_files

    outcomes = _Outcomes()
    files = [str(path) for path in gpu_test_files()]
    spread = ["-n", str(processes)] if processes > 1 else []
    options = ["-m", "gpu", "--device", "cuda", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *spread]
    pytest.main([*options, *files], [outcomes])
    return dict(sorted(outcomes.tests.items()))


if __name__ == "__main__":
    main()
