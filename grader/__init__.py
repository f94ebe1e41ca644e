"""What lessons import: `from grader import check, chart, hint, predict, device`.

Lazy by module `__getattr__`: a worker process that imports `grader.model` loads none of what a notebook needs.
"""

from __future__ import annotations

__all__ = ["__version__", "chart", "check", "device", "hint", "predict"]

# name -> (module, attribute); None is the module itself.
_HOME = {
    "__version__": ("grader.version", "VERSION"),
    "chart": ("grader.charts", None),
    "check": ("grader.lesson", "check"),
    "device": ("grader.lesson", "device"),
    "hint": ("grader.lesson", "hint"),
    "predict": ("grader.lesson", "predict"),
}


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'grader' has no attribute {name!r}; lessons use {', '.join(sorted(_HOME))}")
    from importlib import import_module

    module, attribute = _HOME[name]
    loaded = import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
