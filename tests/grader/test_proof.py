"""A pack outside the repository proves itself, and each way of failing to is named."""

import json

import pytest

from grader.cli import main
from grader.commands.status import Status

EXERCISES = """
import numpy as np
from private import WEIGHT
from grader.model import Case, Exercise, Fault, Goal, KernelAnswer, Param, Role, Tolerance

EXERCISES = (
    Exercise(
        id="pack.scale", lesson="pack", title="y = w x", answer=KernelAnswer("scale", {"grid": "ceil_div(n, 256)", "block": 256}),
        params=(Param("x", "float32", Role.IN, ("n",)), Param("y", "float32", Role.OUT, ("n",)),
                Param("n", "int32", Role.SCALAR)),
        inputs=lambda sizes, rng: {"x": rng.uniform(1, 2, sizes["n"]).astype(np.float32), "n": np.int32(sizes["n"])},
        reference=lambda x, n: {"y": WEIGHT * x.astype(np.float64)},
        cases=(Case("n = 33", {"n": 33}), Case("n = 1000", {"n": 1000}, measured=True)),
        tolerance={"y": Tolerance(2.0**-22, why="one product")},
        goals=(Goal("static_shared_bytes", 0, False, 1.0, "no shared memory is needed", "What is it for?"),),
        faults=(Fault("missing-bounds-guard", ("memcheck.global.*",), says="guard it"),),
        hints=("Which threads have an element?",),
    ),
)
"""
KERNEL = """extern "C" __global__ void scale(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
"""
FILES = {
    "exercises.py": EXERCISES,
    "private.py": "WEIGHT = 3.0\n",
    "solutions/pack.scale.cu": KERNEL.format(body="if (i < n) y[i] = 3.0f * x[i];"),
    "starters/pack.scale.cu": KERNEL.format(body="// TODO"),
    "naive/pack.scale.cu": KERNEL.format(
        body="__shared__ float s[256]; if (i < n) { s[threadIdx.x] = x[i]; y[i] = 3.0f * s[threadIdx.x]; }"
    ),
    "mutants/pack.scale/missing-bounds-guard.cu": KERNEL.format(body="y[i] = 3.0f * x[i];"),
}


@pytest.fixture
def pack(tmp_path):
    for name, text in FILES.items():
        (tmp_path / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pack" / name).write_text(text)
    return tmp_path / "pack"


def proven(pack, capsys):
    status = main(["prove", str(pack), "--json"])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_pack_with_a_private_reference_proves_itself(pack, capsys):
    status, claims = proven(pack, capsys)
    assert status == Status.PASSED, [claim for claim in claims if not claim["holds"]]
    assert [claim["claim"] for claim in claims] == [
        "solution passes", "starter does not pass", "mutant missing-bounds-guard is caught as missing-bounds-guard",
        "fault missing-bounds-guard has a mutant", "naive answer is right and misses a goal", "has hints",
    ]  # fmt: skip


def test_every_claim_that_fails_is_named(pack, capsys):
    right = FILES["solutions/pack.scale.cu"]
    (pack / "solutions" / "pack.scale.cu").write_text(FILES["starters/pack.scale.cu"])
    (pack / "starters" / "pack.scale.cu").write_text(right)
    (pack / "naive" / "pack.scale.cu").unlink()
    (pack / "mutants" / "pack.scale" / "missing-bounds-guard.cu").rename(pack / "mutants" / "pack.scale" / "other.cu")
    status, claims = proven(pack, capsys)
    problems = {claim["claim"]: claim["problem"] for claim in claims if not claim["holds"]}
    assert status == Status.NOT_PASSED
    assert set(problems) == {
        "solution passes", "starter does not pass", "mutant other is caught as other",
        "fault missing-bounds-guard has a mutant", "naive answer is right and misses a goal",
    }  # fmt: skip
    assert "named missing-bounds-guard" in problems["mutant other is caught as other"]


def test_what_is_no_pack_is_refused(tmp_path):
    assert main(["prove", str(tmp_path), "--json"]) == Status.USAGE
