"""The tests mirror the packages; shared oracles are imported as `tests.<area>.<module>`."""
