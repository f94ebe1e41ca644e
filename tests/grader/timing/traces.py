"""Named traces: noise as it was recorded or as it is made up, and rounds of two kernels under it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from grader.timing.trace import Surroundings, Trace

__all__ = ["NOISES", "RECORDED", "Rounds", "SYNTHETIC", "trace_of"]

GOLDEN = Path(__file__).parents[2] / "golden"
BASE_NS = 280_000.0  # a tiled product of 1024 × 1024 matrices on an H200
PAIRS = 40

Noise = Callable[[np.random.Generator, int], np.ndarray]  # (n, 2) factors: baseline and student of each pair


def trace_of(baseline, student, **more) -> Trace:
    """A trace of these times, in ns, at a steady clock beside a floor of 3 µs."""
    steady = np.full(len(baseline), 1980.0)
    given = {"baseline_mhz": steady, "student_mhz": steady, "floor_ns": np.full(5, 3000.0), "device": "some GPU"} | more
    return Trace(np.asarray(baseline, float), np.asarray(student, float), **given)


def _quiet(rng, n):
    """Half a percent, as an idle GPU has."""
    return np.exp(rng.normal(0, 0.005, (n, 2)))


def _bursts(rng, n):
    """Now and then somebody else's work lies over several launches in a row and doubles them."""
    factors = np.exp(rng.normal(0, 0.01, 2 * n))
    for start in rng.integers(0, 2 * n, rng.integers(2, 6)):
        factors[start : start + rng.integers(1, 8)] *= rng.uniform(1.3, 3.0)
    return factors.reshape(n, 2)


def _drift(rng, n):
    """The chip heats up: each launch is a little slower than the one before it, by up to a tenth in all."""
    return np.linspace(1.0, 1.1, 2 * n).reshape(n, 2) * np.exp(rng.normal(0, 0.005, (n, 2)))


def _ticks(rng, n):
    """Events tick every 0.5 µs, and the kernel takes 56."""
    tick = 0.5 / 56
    return np.round(np.exp(rng.normal(0, 0.01, (n, 2))) / tick) * tick


def _heavy(rng, n):
    """A tenth of the launches takes two to a hundred times as long."""
    factors = np.exp(rng.normal(0, 0.03, (n, 2)))
    slow = rng.random((n, 2)) < 0.1
    return np.where(slow, factors * np.exp(rng.uniform(0.7, 4.6, (n, 2))), factors)


SYNTHETIC: dict[str, Noise] = {"quiet": _quiet, "bursts": _bursts, "drift": _drift, "ticks": _ticks, "heavy": _heavy}


@cache
def _loaded_cpu() -> np.ndarray:
    """Factors of 24,000 copies on a CPU that others used, one after the other."""
    with np.load(GOLDEN / "timing" / "loaded_cpu.npz") as arrays:
        taken = arrays["nanoseconds"].astype(np.float64)
    return taken / np.median(taken)


def _recorded_cpu(rng, n):
    """A stretch of the recording, from a random place on."""
    series = _loaded_cpu()
    start = rng.integers(0, series.size - 2 * n)
    return series[start : start + 2 * n].reshape(n, 2)


@cache
def _h200(part: str) -> np.ndarray:
    """(runs, pairs, 2) factors of equal copies, as an H200 took for them."""
    with np.load(GOLDEN / "h200" / "timing_traces.npz") as arrays:
        times = arrays[f"{part}.copy"].astype(np.float64).transpose(0, 2, 1)
    return times / np.median(times)


def _recorded_h200(part: str) -> Noise:
    def noise(rng, n):
        """Pairs of all runs, drawn anew."""
        pairs = _h200(part).reshape(-1, 2)
        return pairs[rng.integers(0, len(pairs), n)]

    return noise


RECORDED: dict[str, Noise] = {
    "loaded CPU": _recorded_cpu,
    "H200 idle": _recorded_h200("aa_idle"),
    "H200 beside a neighbour": _recorded_h200("aa_neighbour"),
}
NOISES = SYNTHETIC | RECORDED


class Rounds:
    """A sampler of rounds: two kernels whose true ratio is known, under a noise.

    Args:
        noise: a name of `NOISES`.
        ratio: baseline's time over the student's.
        seed: of everything drawn.
        clocks: (n,) clock of the student's halves; the baseline's run at 1980 MHz.
        foreign: processes beside.
    """

    def __init__(self, noise: str, ratio: float, seed: int, clocks: np.ndarray | None = None, foreign: int = 0):
        self._noise, self._ratio, self._clocks, self._foreign = NOISES[noise], ratio, clocks, foreign
        self._rng = np.random.default_rng([seed, sum(noise.encode())])
        self.asked: list[bool] = []

    def __call__(self, fresh: bool = False) -> Trace:
        self.asked.append(fresh)
        factors = self._noise(self._rng, PAIRS)
        swapped = self._rng.integers(0, 2, PAIRS).astype(bool)
        factors[swapped] = factors[swapped, ::-1]
        more = {} if self._clocks is None else {"student_mhz": self._clocks}
        around = Surroundings(foreign=self._foreign)
        return trace_of(
            BASE_NS * factors[:, 0], BASE_NS / self._ratio * factors[:, 1], before=around, after=around, **more
        )
