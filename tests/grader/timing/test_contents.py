"""What a round draws: the same contents in NumPy and in the kernel, orders that are random, launches to verify."""

import numpy as np
import pytest

from grader.compile import compile_text
from grader.devices import choose
from grader.model import TimingPlan
from grader.timing.contents import FLOATS, fresh_inputs, freshened, launch_nonce, mixed
from grader.timing.plan import BASELINE, STUDENT, schedule
from grader.timing.tools import SCRUB_THREADS, SOURCE
from simt.arch import arch
from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5, 0.3]


def test_the_generator_is_splitmix64():
    # First outputs from state 1234567 (the reference implementation's own test vector).
    step = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + step * (i + 1)) % 2**64 for i in range(3)], np.uint64)
    assert mixed(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_kernel_and_numpy_draw_the_same_contents(dtype):
    bits = 8 * np.dtype(dtype).itemsize
    data = np.concatenate([np.array(SPECIAL), np.random.default_rng(1).uniform(-3, 3, 500)]).astype(dtype)
    nonce = launch_nonce(987654321, 3, 1)
    device = choose("simulator")
    arguments = (
        Argument("data", Direction.INOUT, data), Argument("n", Direction.SCALAR, np.uint64(data.size)),
        Argument("nonce", Direction.SCALAR, np.uint64(nonce)),
    )  # fmt: skip
    compiled = compile_text(SOURCE, f"freshen{bits}", device.arch)
    got = device.run(compiled, LaunchConfig(Dim3(2), Dim3(128)), arguments).outputs["data"]
    assert np.array_equal(got.view(FLOATS[bits // 8].word), freshened(data, nonce).view(FLOATS[bits // 8].word))


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_the_kernel_that_scrubs_holds_a_register_file_and_spills_nothing(target):
    resources = compile_text(SOURCE, "scrub", target).resources
    assert SCRUB_THREADS * resources.registers > 0.9 * arch(target).registers_per_sm and resources.registers <= 255
    assert resources.spill_bytes == resources.local_bytes == 0


def test_the_kernel_that_scrubs_writes_all_shared_memory_and_stays_within_it():
    device = choose("simulator")
    whole = arch(device.arch).max_shared_bytes_per_block
    compiled = compile_text(SOURCE, "scrub", device.arch)
    arguments = (
        Argument("words", Direction.SCALAR, np.uint32(whole // 4)), Argument("poison", Direction.SCALAR, np.uint32(7)),
    )  # fmt: skip
    result = device.run(compiled, LaunchConfig(Dim3(2), Dim3(SCRUB_THREADS), whole, whole), arguments)
    assert result.status is Status.OK, result.diagnostics
    assert result.counters.shared_store_requests >= 2 * whole // 4 // 32


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_new_contents_stay_in_their_range_and_differ(dtype):
    data = np.random.default_rng(1).uniform(-0.9, 0.9, 4096).astype(dtype)
    new = freshened(data, 17)
    assert (np.sign(new) == np.sign(data)).all() and (np.abs(new) < 1).all()
    assert (new != data).mean() > 0.9 and np.abs(new - data).max() < 0.05
    assert np.array_equal(new, freshened(data, 17)) and (new != freshened(data, 18)).mean() > 0.9


def test_values_with_a_meaning_of_their_own_stay():
    data = np.array(SPECIAL[:5], np.float32)
    assert np.array_equal(freshened(data, 5).view(np.uint32), data.view(np.uint32))
    index = np.arange(100, dtype=np.int32)
    assert freshened(index, 5) is index


def test_each_argument_and_copy_has_contents_of_its_own():
    inputs = {"a": np.ones(100, np.float32), "b": np.ones(100, np.float32), "n": np.int32(100), "kept": np.ones(3)}
    first, second = (fresh_inputs(inputs, ("a", "b"), 7, copy) for copy in (0, 1))
    assert (first["a"] != first["b"]).any() and (first["a"] != second["a"]).any()
    assert first["kept"] is inputs["kept"] and (inputs["a"] == 1).all()


def test_a_schedule_follows_from_the_seed_alone():
    assert schedule(TimingPlan(seed=3)) == schedule(TimingPlan(seed=3)) != schedule(TimingPlan(seed=4))


def test_orders_are_balanced_and_every_eighth_sample_has_a_floor():
    steps = schedule(TimingPlan(pairs=4000, seed=1))
    first = sum(step.order == (BASELINE, STUDENT) for step in steps)
    assert abs(first - 2000) < 150 and all(sorted(step.order) == [BASELINE, STUDENT] for step in steps)
    assert [index for index, step in enumerate(steps[:20]) if step.floor] == [0, 8, 16]
    assert len({step.nonce for step in steps}) == 4000


def test_a_tenth_of_the_launches_and_the_last_are_verified():
    chosen = [[i for i, step in enumerate(schedule(TimingPlan(seed=seed))) if step.verified] for seed in range(50)]
    assert all(len(rows) in (4, 5) and rows[-1] == 39 for rows in chosen)
    assert len({tuple(rows) for rows in chosen}) == 50


def test_a_plan_that_verifies_nothing_keeps_no_output():
    assert not any(step.verified for step in schedule(TimingPlan(seed=1, verified=0)))
