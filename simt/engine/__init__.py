"""The machine: memory, warps, blocks and grid, written in the native subset of Python."""
