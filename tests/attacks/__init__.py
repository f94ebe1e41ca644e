"""Hostile kernels, each with the verdict that it must get."""
