"""Compile processes of one submission: shared by its texts, replaced when one brings it down, gone with the submission."""

import os
import signal
import sys

import pytest

from simt import nvrtc, nvrtc_server
from simt.nvrtc import CompilerMissing, compile_cuda
from simt.nvrtc_server import WarmServer, one_submission
from simt.sandbox import Limits
from simt.sandbox_fork import ForkServer

TEXT = 'extern "C" __global__ void k(float* x) {{ x[threadIdx.x] = {0}.0f; }}'


def compiled(number):
    return compile_cuda(TEXT.format(number), limits=Limits(), cache=None)


def process():
    return nvrtc_server._SHARED.submission._child


def test_texts_of_a_submission_share_a_process_that_ends_with_it():
    with one_submission(Limits()):
        assert compiled(1).ok
        first = process()
        assert compiled(2).ok and process() is first
    assert not first.alive and nvrtc_server._SHARED.submission is None


def test_two_submissions_share_nothing():
    with one_submission(Limits()):
        compiled(1)
        first = process()
    with one_submission(Limits()):
        compiled(1)
        assert process() is not first


def test_a_text_that_ends_the_process_costs_no_other():
    with one_submission(Limits()):
        assert compiled(1).ok
        os.kill(process()._process.pid, signal.SIGKILL)
        process()._process.wait()
        assert compiled(2).ok
        broken = compile_cuda("this is no CUDA", limits=Limits(), cache=None)
        assert not broken.ok and compiled(3).ok


@pytest.mark.parametrize("kills", [1, 9])
def test_a_process_that_somebody_kills_is_replaced_some_times(monkeypatch, kills):
    ask, asked = nvrtc_server._ask, []

    def killed(child, job):
        asked.append(job)
        if len(asked) <= kills:
            os.kill(child._process.pid, signal.SIGKILL)
            child._process.wait()
        return ask(child, job)

    monkeypatch.setattr(nvrtc_server, "_ask", killed)
    with one_submission(Limits()):
        build = compiled(1)
    assert (build.ok, len(asked)) == ((True, 2) if kills == 1 else (False, nvrtc_server.TRIES))


@pytest.fixture
def unstartable(monkeypatch):
    """Compile processes of a machine that has no memory left for them."""
    command = [sys.executable, "-c", "raise SystemExit('MemoryError')"]
    monkeypatch.setattr(nvrtc_server, "_command", lambda setup: command)
    monkeypatch.setattr(nvrtc_server, "_fork_server", lambda toolkit: ForkServer(command, 10))
    monkeypatch.setattr(nvrtc, "_WARM", WarmServer(Limits()))


@pytest.mark.parametrize("limits", [None, Limits()], ids=["warm", "fresh"])
def test_a_compiler_that_does_not_start_is_no_fault_of_a_text(unstartable, limits):
    with pytest.raises(CompilerMissing, match="does not start .*MemoryError"):
        compile_cuda(TEXT.format(1), limits=limits, cache=None)


def test_a_compiler_that_does_not_start_in_the_background_is_heard_of_at_the_first_text(unstartable):
    server = WarmServer(Limits())
    server._prepare(nvrtc.find_toolkit())
    with pytest.raises(CompilerMissing, match="does not start"):
        server.compile(nvrtc_server.Job(b"", "k.cu", ()), nvrtc.find_toolkit())
