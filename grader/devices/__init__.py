"""Devices by name. `choose` starts one inside this process; `grader.worker` puts one into a process of its own."""

from __future__ import annotations

import difflib
import importlib

from grader.devices.base import CASE_BUDGET, Device, DeviceLost, DeviceMissing

__all__ = ["CASE_BUDGET", "DEVICES", "Device", "DeviceLost", "DeviceMissing", "check_name", "choose", "device_names"]

# name -> (module, class); the class takes no argument and raises DeviceMissing where it cannot work.
DEVICES = {
    "simulator": ("grader.devices.simulator", "Simulator"),
    "cuda": ("grader.devices.cuda", "Cuda"),
}
DEFAULT = "simulator"


def device_names() -> tuple[str, ...]:
    """Every name that `choose` takes."""
    return tuple(DEVICES)


def check_name(name: str | None) -> str:
    """`name`, or the default's for None.

    Raises:
        DeviceMissing: no device is called so.
    """
    name = name or DEFAULT
    if name not in DEVICES:
        near = difflib.get_close_matches(name, DEVICES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DEVICES)}"
        raise DeviceMissing(f"no device is called {name!r}; {hint}")
    return name


def choose(name: str | None = None) -> Device:
    """The device called `name`, the simulator for None.

    Raises:
        DeviceMissing: no such device, or this machine does not have it.
    """
    module, attribute = DEVICES[check_name(name)]
    return getattr(importlib.import_module(module), attribute)()
