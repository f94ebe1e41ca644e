"""A class at once: what grading costs, what a regrade with nothing changed costs, and what a second Dask worker brings.

Run by hand: `pytest tests/bench/test_bench_class.py --benchmark-only -s`. Every text is new to the compiler's cache. The
figures depend on the machine, so nothing here asserts a time; the ratios are printed.
"""

from __future__ import annotations

import itertools
import time

import pytest

from grader.batch.pool import LocalPool
from grader.cluster import opened_cluster
from grader.stores import open_store
from simt.cpus import available_cpus
from tests.grader.batch.classes import make_class
from tests.grader.batch.grading import grade_folder

HAND_INS, HAND_INS_UNTIMED = 8, 2
NUMBER = itertools.count(time.time_ns())


@pytest.fixture
def fresh(tmp_path, benchmark):
    """Makes a class whose texts no cache knows; returns (folder, store)."""
    stores = []
    hand_ins = HAND_INS if benchmark.enabled else HAND_INS_UNTIMED

    def make():
        number = next(NUMBER)
        folder = make_class(tmp_path / f"class-{number}", [f"s{number}-{student}" for student in range(hand_ins)])
        stores.append(open_store(str(tmp_path / f"{number}.db")))
        return folder, stores[-1]

    yield make
    for store in stores:
        store.close()


def test_grade_a_class_on_all_processors(benchmark, fresh):
    """With processes that start for it: about 1.0 s of processor time each, once, before any of the 0.24 s of a hand-in.

    A quarter of that is Python and NumPy, half what a worker's fork server loads, a seventh the compiler's; measured by
    processor time of each process on two cores of an Intel Xeon. Workers of a cluster that stands have paid it before.
    """

    def grade(folder, store):
        _, lost = grade_folder(folder, store, LocalPool(available_cpus()))
        assert not lost

    benchmark.pedantic(grade, setup=lambda: (fresh(), {}), rounds=2)


def test_grade_again_with_nothing_changed(benchmark, fresh):
    folder, store = fresh()
    start = time.perf_counter()
    grade_folder(folder, store, LocalPool(available_cpus()))
    first = time.perf_counter() - start
    plan, _ = benchmark.pedantic(grade_folder, args=(folder, store), rounds=3)
    assert not plan.works
    if benchmark.stats:
        print(f"\n{HAND_INS} hand-ins: {first:.2f} s, then {first / benchmark.stats.stats.median:.0f} times faster")


@pytest.mark.parametrize("workers", [1, 2])
def test_grade_on_dask_workers(benchmark, fresh, workers, tmp_path):
    """Divide the median of one worker by that of two."""
    from distributed import LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path / "dask")
        ) as cluster,
        opened_cluster(cluster.scheduler_address) as runner,
    ):  # fmt: skip

        def grade(folder, store):
            _, lost = grade_folder(folder, store, runner)
            assert not lost

        benchmark.pedantic(grade, setup=lambda: (fresh(), {}), rounds=2, warmup_rounds=1)
