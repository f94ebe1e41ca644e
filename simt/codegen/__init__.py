"""Module → LLVM IR → machine code for 32-lane warps."""
