"""Which worker gets a task, and what becomes of one that is stuck or has nobody left: no kernel runs in these."""

import os
import threading
import time

import pytest

from grader import cluster
from grader.batch.suspects import fair_outcomes
from grader.batch.work import GradingStopped, Task
from grader.cluster import ClusterProblem, opened_cluster
from grader.model import Submission
from tests.grader.batch.slurm import slurm_cluster
from tests.processes import PATIENCE_SECONDS


def tasks(device, count):
    return [Task(f"s{n}", ((f"{device}{n}", Submission("x", "")),), device=device) for n in range(count)]


def where(task):
    """In place of a verdict: which process and GPU it ran on, and when."""
    began = time.monotonic()
    time.sleep(0.05)
    return ((task.key, {"gpu": os.environ.get("CUDA_VISIBLE_DEVICES", ""), "job": os.environ.get("SLURM_JOB_ID", ""),
                        "spell": (began, time.monotonic())}),)  # fmt: skip


class Held:
    """In place of a verdict: the first task at once, the others when a test lets them go."""

    def __init__(self):
        self.go = threading.Event()

    def __call__(self, task):
        if task.label != "s0":
            self.go.wait(PATIENCE_SECONDS)
        return where(task)


@pytest.fixture
def held(monkeypatch):
    held = Held()
    monkeypatch.setattr(cluster, "do", held)
    yield held
    held.go.set()


def overlaps(spells):
    spells = sorted(spells)
    return any(later[0] < earlier[1] for earlier, later in zip(spells, spells[1:], strict=False))


@pytest.fixture
def workers():
    """Workers of this process: name → what it offers gives their cluster."""
    import dask
    from distributed import Scheduler, SpecCluster, Worker

    clusters = []

    def start(**offers):
        specs = {
            name: {"cls": Worker, "options": {"nthreads": 2, "resources": offer}} for name, offer in offers.items()
        }
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": None, "host": "127.0.0.1"}}
        clusters.append(SpecCluster(workers=specs, scheduler=scheduler))
        return clusters[-1]

    yield start
    with dask.config.set(
        {"distributed.comm.timeouts.connect": "1s"}
    ):  # nobody waits for a scheduler that a test took away
        for one in clusters:
            one.close()


def test_a_gpu_takes_one_task_at_a_time_and_the_simulator_stays_off_it(workers, monkeypatch):
    pairs = threading.Barrier(2)

    def judged(task):
        if task.device != "cuda":
            pairs.wait(PATIENCE_SECONDS)  # breaks, and the task with it, unless two of them run at once, as they may
        return where(task)

    monkeypatch.setattr(cluster, "do", judged)
    running = workers(gpu={"GPU": 1}, cpu={"CPU": 2})
    places = {name: worker.worker_address for name, worker in running.workers.items()}
    with opened_cluster(running.scheduler_address) as runner:
        on_gpu, on_cpu = (list(runner.outcomes(tasks(device, 6))) for device in ("cuda", "simulator"))
    assert not [outcome.lost for outcome in (*on_gpu, *on_cpu) if outcome.lost]
    assert {outcome.worker for outcome in on_gpu} == {places["gpu"]}
    assert {outcome.worker for outcome in on_cpu} == {places["cpu"]}
    assert not overlaps(report["spell"] for outcome in on_gpu for _, report in outcome.reports)


def test_no_gpu_is_said_before_anything_waits_for_one(workers, monkeypatch):
    monkeypatch.setattr(cluster, "do", where)
    running = workers(cpu={"CPU": 1})
    with (
        opened_cluster(running.scheduler_address) as runner,
        pytest.raises(ClusterProblem, match="no worker offers a GPU"),
    ):
        list(runner.outcomes(tasks("cuda", 1)))


def test_a_cluster_whose_workers_are_all_gone_is_given_up(workers, held, monkeypatch):
    running = workers(cpu={"CPU": 1})
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.1)
    with opened_cluster(running.scheduler_address) as runner:
        outcomes = runner.outcomes(tasks("simulator", 3))
        assert next(outcomes).reports
        monkeypatch.setattr(cluster, "WORKER_SECONDS", 0.3)
        scheduler = running.scheduler
        running.sync(scheduler.remove_worker, address=next(iter(scheduler.workers)), stimulus_id="test")
        with pytest.raises(GradingStopped, match="no worker"):
            list(outcomes)


def test_a_scheduler_that_goes_away_stops_the_run(workers, held):
    running = workers(cpu={"CPU": 1})
    with opened_cluster(running.scheduler_address) as runner:
        outcomes = runner.outcomes(tasks("simulator", 8))
        assert next(outcomes).reports
        running.sync(running.scheduler.close)
        with pytest.raises(GradingStopped, match="scheduler of the cluster"):
            list(outcomes)


def test_a_worker_is_given_few_tasks_at_once(workers, monkeypatch):
    monkeypatch.setattr(cluster, "do", where)
    running = workers(cpu={"CPU": 2})  # two threads
    with opened_cluster(running.scheduler_address) as runner:
        submit, out, most = runner._client.submit, [], []

        def counted(function, task, **settings):
            out.append(task)
            most.append(len(out))
            return submit(function, task, **settings)

        monkeypatch.setattr(runner._client, "submit", counted)
        for outcome in runner.outcomes(tasks("simulator", 20)):
            out.remove(outcome.task)
    assert len(most) == 20 and not out and max(most) <= cluster.AHEAD * 2


class Future:
    """A task that is done as soon as it is submitted."""

    def __init__(self, task, killed):
        self.task, self.killed = task, killed

    def add_done_callback(self, call):
        call(self)

    def result(self):
        from distributed import KilledWorker

        if self.killed:
            raise KilledWorker(self.task.key, None, cluster.LOST_WORKERS)
        return "w", ((self.task.key, {"passed": True}),), ""

    def release(self):
        pass


class Client:
    """Blames as Dask does: an answer called s0 ends every worker, and all that came with it are lost beside it."""

    def __init__(self):
        self.ran = []

    def wait_for_workers(self, count, timeout):
        pass

    def scheduler_info(self, n_workers):
        return {"workers": {"tcp://w": {"nthreads": 1}}}

    def submit(self, do, task, *, key, resources, pure, priority):
        self.ran.append(task.label)
        return Future(task, task.label == "s0" or (task.label != "control" and not priority))


def test_an_answer_that_ends_its_workers_is_told_from_those_that_waited_beside_it():
    client = Client()
    outcomes = {one.task.label: one for one in fair_outcomes(cluster.DaskRunner(client), tasks("simulator", 3))}
    assert "4 workers ended in the middle of it" in outcomes["s0"].lost and not outcomes["s0"].reports
    assert outcomes["s1"].reports and outcomes["s2"].reports and not (outcomes["s1"].lost or outcomes["s2"].lost)
    assert client.ran == ["s0", "s1", "s2", "control", "s0", "control", "s1", "s2"]


def test_a_stuck_task_ends_its_worker(workers, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(cluster.os, "_exit", lambda status: ended.set())  # a worker of this process may not end
    monkeypatch.setattr(cluster, "TASK_SECONDS", 0.1)
    monkeypatch.setattr(cluster, "do", lambda task: ended.wait(PATIENCE_SECONDS) and where(task))
    with opened_cluster(workers(cpu={"CPU": 1}).scheduler_address) as runner:
        (outcome,) = runner.outcomes(tasks("simulator", 1))
    assert ended.is_set() and outcome.reports


def use_where(dask_worker):
    cluster.do = where


def test_slurm_gives_each_worker_its_gpu(tmp_path):
    settings = tmp_path / "slurm.toml"
    settings.write_text('queue = "lab"\njobs = 2\ngpus = 1\nmemory = "2GB"\ninterface = "lo"\n')
    with slurm_cluster(), opened_cluster(f"slurm:{settings}") as runner:
        runner._client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
        runner._client.run(use_where)
        outcomes = list(runner.outcomes(tasks("cuda", 12)))
    reports = [report for outcome in outcomes for _, report in outcome.reports]
    assert {report["gpu"] for report in reports} == {"0"} and len({report["job"] for report in reports}) == 2
    for job in {report["job"] for report in reports}:
        assert not overlaps(report["spell"] for report in reports if report["job"] == job)
