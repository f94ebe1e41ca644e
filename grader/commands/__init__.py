"""The commands of `python -m grader`, a module each with `add(subparsers)`; `run(arguments, out)` returns the status."""
