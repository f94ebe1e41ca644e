"""What `doctor` says of the fences, on machines that have all of them and on those that lack some."""

from dataclasses import replace

import pytest

from grader.devices import DeviceLost
from grader.doctor import LIMITED, OK
from grader.doctor_sandbox import describe, marked_down, sandbox_finding
from grader.worker.cpus import ENVIRONMENT
from grader.worker.health import MOST_FAILURES, WHICH_GPU, Mark, mark_file
from grader.worker.host import fresh_device, say_what_is_lacking
from simt.sandbox import Layer, layers

ALL = tuple(Layer(name, True, "why not") for name in ("process", "rlimits", "landlock", "seccomp"))
NAMES = [layer.name for layer in ALL]
EVERY = {"source scan", "PTX policy", "environment", "wall limit", *NAMES}


def test_all_fences_are_named_with_where_they_hold():
    finding = describe(ALL, {"simulator": NAMES, "compiler": NAMES})
    assert finding.health is OK and all(name in finding.says for name in EVERY)
    assert {name for name in EVERY if finding.facts[name] is True} == EVERY == set(finding.facts["why"])
    assert finding.facts["holding"] == {"simulator": NAMES, "compiler": NAMES}


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_fence_that_is_missing_is_said_with_its_reason(name):
    found = [replace(layer, available=False, why="too old") if layer.name == name else layer for layer in ALL]
    finding = describe(found, {"simulator": [other for other in NAMES if other != name]})
    assert finding.health is LIMITED and f"{name} (too old)" in finding.says and finding.facts[name] is False
    assert finding.nevertheless and finding.next_step


def test_a_fence_that_did_not_take_hold_is_said():
    finding = describe(ALL, {"simulator": NAMES, "compiler": NAMES[:3]})
    assert finding.health is LIMITED and "seccomp does not hold in the compiler" in finding.says


def test_this_machines_fences_hold_in_both_processes():
    finding = sandbox_finding()
    here = [layer.name for layer in layers() if layer.available]
    assert finding.facts["holding"] == {"simulator": here, "compiler": here}


def test_a_gpu_without_a_mark_is_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    assert marked_down() is None


DOWN = Mark(True, MOST_FAILURES, "2030-01-01", "lost")


def a_host_with(monkeypatch, folder, uuid, chosen="0"):
    """A job that calls its GPU `chosen`, and whose worker says that it is `uuid`."""
    monkeypatch.setenv(ENVIRONMENT, str(folder))
    for name in WHICH_GPU:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    monkeypatch.setattr("grader.worker.host.WorkerDevice.uuid", property(lambda worker: uuid))


def test_a_gpu_that_is_marked_down_is_said_with_the_next_step(tmp_path, monkeypatch):
    a_host_with(monkeypatch, tmp_path, "GPU-1")
    mark_file("cuda", "GPU-1").write(DOWN)
    monkeypatch.setattr("grader.worker.health.Guarded.look_again", lambda device: "this GPU is marked down")
    finding = marked_down()
    assert finding.health is LIMITED and "marked down" in finding.says and finding.next_step


def test_the_mark_of_another_gpu_is_left_alone(tmp_path, monkeypatch):
    a_host_with(monkeypatch, tmp_path, "GPU-2", chosen="7")
    mark_file("cuda", "GPU-1").write(DOWN)
    a_host_with(monkeypatch, tmp_path, "GPU-2")
    monkeypatch.setattr("grader.worker.health.Guarded.look_again", lambda device: "looked at")
    assert marked_down() is None


def test_a_gpu_whose_worker_does_not_start_is_said(tmp_path, monkeypatch):
    def lost(worker):
        raise DeviceLost("the worker ended while it started", at_start=True)

    a_host_with(monkeypatch, tmp_path, "GPU-1")
    mark_file("cuda", "GPU-1").write(DOWN)
    monkeypatch.setattr("grader.worker.host.WorkerDevice.uuid", property(lost))
    assert "ended while it started" in marked_down().says


def test_grading_says_at_its_start_what_this_machine_lacks(monkeypatch, caplog):
    found = (ALL[0], replace(ALL[2], available=False, why="too old"))
    monkeypatch.setattr("grader.worker.host.layers", lambda: found)
    say_what_is_lacking.cache_clear()
    with caplog.at_level("INFO"), fresh_device():
        pass
    say_what_is_lacking.cache_clear()
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said[0] == ("INFO", "sandbox: process (why not)")
    assert said[1][0] == "WARNING" and "landlock: too old" in said[1][1]
