"""The worker's own process: opens one device, shuts itself in, then runs launches that come over its pipe.

Run as a script. It sees compiled code, a launch and inputs; never a reference, a seed or a verdict.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Serves until the parent goes away. The one argument is JSON: root, cache, and a worker's device and limits.

    Without a device it is a fork server: each fork is told which worker it is, and finds everything loaded.
    """
    gc.disable()  # while modules load, which only makes what stays
    setup = json.loads(sys.argv[1])
    sys.path.insert(0, setup["root"])
    # The parent's cache folder: an empty environment names none.
    os.environ["WARPWISE_CACHE"] = setup["cache"]
    # NumPy's own threads are of no use to a launch and cost more to start than NumPy takes to load.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if "device" in setup:
        _work(setup)
    else:
        from simt.rehearsal import rehearse
        from simt.sandbox_fork import serve_forks

        _load_everything("simulator")
        rehearse()
        serve_forks(_work)


def _work(setup: dict) -> None:
    from simt.sandbox import serve

    worker = _Worker(setup)
    serve(worker.answer, worker.hello)


class _Worker:
    """The device and what it answers."""

    def __init__(self, setup: dict):
        self._setup = setup

    def hello(self) -> tuple[bytes, ...]:
        """Opens the device, confines the process, and says what it is."""
        from grader.devices import DeviceMissing, choose
        from simt.sandbox import Limits, confine

        self._limits = Limits(**self._setup["limits"])
        try:
            self._device = choose(self._setup["device"])
        except DeviceMissing as missing:
            return (json.dumps({"missing": str(missing)}).encode(),)
        _load_everything(self._setup["device"])
        gc.freeze()
        gc.enable()
        layers = confine(self._limits, _readable(self._setup["device"]))
        facts = {
            "name": self._device.name,
            "arch": self._device.arch,
            "capabilities": sorted(self._device.capabilities),
            "layers": layers,
            "uuid": getattr(self._device, "uuid", ""),
        }
        return (json.dumps(facts).encode(),)

    def answer(self, message: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """What a packed job gives; our own failure as {"error": …}."""
        from simt.sandbox import extend_cpu_limit

        extend_cpu_limit(self._limits)
        try:
            return self._time(message[1:]) if message[0] == b"time" else self._run(message[1:])
        except MemoryError as error:
            which = f": {error}" if str(error) else ""
            return (json.dumps({"error": f"the launch needs more memory than the worker can have{which}"}).encode(),)
        except Exception as error:
            import traceback

            trace = traceback.format_exc(limit=-4)
            return (json.dumps({"error": f"{type(error).__name__}: {error}", "trace": trace}).encode(),)

    def _run(self, parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
        from grader.worker.wire import pack_result, unpack_launch

        launch = unpack_launch(parts)
        if launch.threads is not None and hasattr(self._device, "threads"):
            self._device.threads = launch.threads
        result = self._device.run(
            launch.compiled, launch.config, launch.arguments, launch.budget, want_writers=launch.want_writers
        )
        return (*pack_result(result), b"spent" if self._device.spent else b"")

    def _time(self, parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
        from grader.model_runs import TimedKernel, TimingPair
        from grader.model_timing import TimingPlan
        from grader.worker.wire import pack_trace, unpack_launch

        plan = json.loads(parts[0])
        third = (len(parts) - 1) // 3
        baseline, student, tools = (unpack_launch(parts[1 + i * third : 1 + (i + 1) * third]) for i in range(3))
        arms = [TimedKernel(launch.compiled, launch.config) for launch in (baseline, student)]
        pair = TimingPair(
            arms[0], arms[1], student.arguments, tuple(plan["fresh"]), tools.compiled, plan["baseline_ns"]
        )
        trace = self._device.time(pair, TimingPlan(**plan["plan"]))
        return (*pack_trace(trace), b"spent" if self._device.spent else b"")


def _load_everything(device: str) -> None:
    """Loads what a launch needs while files can still be read, and the engine's machine code kept for the next worker."""
    import grader.worker.wire  # noqa: F401

    if device == "simulator":
        from simt.program import load_runtime

        load_runtime()


def _readable(device: str) -> list[str] | None:
    """What stays readable: Python's own files and packages. A GPU's driver needs too much for a list."""
    if device != "simulator":
        return None
    root = Path(__file__).resolve().parents[2]
    words = ("grader/model_runs.py", "grader/model_timing.py")
    ours = [str(root / part) for part in ("simt", "grader/worker", "grader/devices", *words)]
    python = {sys.prefix, sys.base_prefix, *(path for path in sys.path if "site-packages" in path)}
    return [path for path in (*ours, os.environ["WARPWISE_CACHE"], *sorted(python)) if os.path.exists(path)]


if __name__ == "__main__":
    main()
