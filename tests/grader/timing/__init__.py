"""Tests of the timing: its statistics on traces, and its driver over a CuPy of the tests."""
