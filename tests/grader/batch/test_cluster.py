"""Grading on Dask: four workers, one killed in the middle, and every submission recorded exactly once."""

import os
import signal

import pytest

from grader.cluster import ClusterProblem, opened_cluster, slurm_settings
from grader.stores import open_store
from tests.grader.batch.classes import make_class
from tests.grader.batch.grading import grade_folder, gradebook
from tests.grader.batch.slurm import slurm_cluster

KINDS = ("right", "no-guard", "wrong", "right", "typo", "right", "wrong", "no-guard")
VERDICTS = {"right": "pass", "no-guard": "memory_fault", "wrong": "wrong_answer", "typo": "build_failed"}


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/class.db") as opened:
        yield opened


class KillsOne:
    """A runner that kills a worker of the cluster at the first outcome, in the middle of the others' work."""

    def __init__(self, runner, kill):
        self.runner, self.kill = runner, kill

    def outcomes(self, tasks):
        for number, outcome in enumerate(self.runner.outcomes(tasks)):
            if number == 0:
                self.kill()
            yield outcome


def check_recorded_once(store, folder, kinds):
    """Every submission has its verdict, and exactly one."""
    book = gradebook(store, folder)
    found = {
        row.student: entry.verdict for row in book.rows for entry in row.entries if entry.exercise_id == "selftest.map"
    }
    assert found == {student: VERDICTS[kind] for student, kind in kinds.items()}
    assert len([result for result in store.results() if result.key]) == len(kinds)


def test_a_killed_dask_worker_costs_nobody_a_verdict(store, tmp_path):
    from distributed import LocalCluster

    kinds = {f"s{number}": kind for number, kind in enumerate(KINDS)}
    folder = make_class(tmp_path / "class", kinds)
    with LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path), resources={"CPU": 1}
    ) as cluster:

        def kill():
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        with opened_cluster(cluster.scheduler_address) as runner:
            _, lost = grade_folder(folder, store, KillsOne(runner, kill))
    assert not lost
    check_recorded_once(store, folder, kinds)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "http://127.0.0.1", "slurm:/no/such/file.toml"])
def test_a_cluster_that_is_not_there_is_named(address, monkeypatch):
    monkeypatch.setattr("grader.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterProblem, match=address.removeprefix("slurm:")), opened_cluster(address):
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quue = 'lab'", "quue"),
        ("jobs = '2'", "jobs is '2'"),
        ("queue = 3", "queue is 3"),
        ("=", "read"),
        ("gpus = 2", "more jobs"),
    ],
)
def test_a_mistake_in_the_slurm_settings_is_named(tmp_path, text, words):
    path = tmp_path / "slurm.toml"
    path.write_text(text)
    with pytest.raises(ClusterProblem, match=words):
        slurm_settings(path)


def test_a_machine_without_slurm_or_such_a_network_is_named(tmp_path, monkeypatch):
    settings = tmp_path / "slurm.toml"
    settings.write_text('queue = "lab"\ninterface = "no-such-network"\n')
    with pytest.raises(ClusterProblem, match="no-such-network"), opened_cluster(f"slurm:{settings}"):
        pass
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterProblem, match="sbatch"), opened_cluster(f"slurm:{settings}"):
        pass


def test_a_slurm_node_taken_down_costs_nobody_a_verdict(store, tmp_path):
    kinds = {f"s{number}": kind for number, kind in enumerate(KINDS[:6])}
    folder = make_class(tmp_path / "class", kinds)
    settings = tmp_path / "slurm.toml"
    settings.write_text('queue = "lab"\njobs = 2\nmemory = "2GB"\ninterface = "lo"\n')
    with slurm_cluster() as slurm:

        def kill():
            slurm.take_down(slurm.busy_node())

        with opened_cluster(f"slurm:{settings}") as runner:
            _, lost = grade_folder(folder, store, KillsOne(runner, kill))
    assert not lost
    check_recorded_once(store, folder, kinds)
