"""Golden kernels against an H200: the same outputs, and Nsight's requests, sectors and wavefronts (record_kernels.py)."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.golden.kernel_comparison import counter_differences, output_differences, recorded, simulated
from tests.golden.kernel_jobs import digest_of

HERE = Path(__file__).parent
FOLDER = HERE / "h200"
RECORDED = recorded(FOLDER)
GAPS = {gap["kernel"]: gap for gap in tomllib.loads((HERE / "kernel_gaps.toml").read_text())["gap"]}
LEAST = 70  # kernels that are as they were when they were recorded
# What the course has that older GPUs have not: these areas must be among the kernels that agree.
AREAS = {"tma": 20, "matrix": 15, "async": 4, "cluster": 5}


def as_recorded():
    """Kernels whose text is still the one that ran."""
    return [name for name, row in RECORDED.items() if digest_of(name) == row["digest"]]


@pytest.fixture(scope="module")
def arrays():
    with np.load(FOLDER / "kernels.npz") as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("name", as_recorded())
def test_outputs_and_counters_are_the_hardwares(name, arrays):
    row = RECORDED[name]
    report = simulated(name, row)
    gpu = {key.rpartition("/")[2]: value for key, value in arrays.items() if key.rpartition("/")[0] == name}
    found = [*output_differences(name, report, gpu), *counter_differences(report, row["launches"])]
    assert found == GAPS.get(name, {"differs": []})["differs"]


def test_tensor_instructions_of_products_are_the_hardwares():
    """Nsight's metric holds HFMA2.MMA too, by which ptxas sets constants: the kernels of products have none."""
    seen = 0
    for name in (name for name in as_recorded() if name.startswith("matrix/")):
        runs = simulated(name, RECORDED[name]).runs
        ours = [run.result.counters.tensor_instructions for run in runs]
        assert ours == [launch["sm__inst_executed_pipe_tensor.sum"] for launch in RECORDED[name]["launches"]], name
        seen += sum(ours)
    assert seen > 100


def test_many_kernels_were_compared():
    agreeing = [name for name in as_recorded() if name not in GAPS]
    assert len(agreeing) >= LEAST
    for area, least in AREAS.items():
        assert sum(name.startswith(f"{area}/") for name in agreeing) >= least


def test_recording_says_what_it_was_made_with():
    machine = json.loads((FOLDER / "kernels.json").read_text())["machine"]
    assert "H200" in machine["gpu"] and machine["driver"] and machine["nvrtc"] and machine["recorded"]
    assert all(row["launches"] for row in RECORDED.values())
