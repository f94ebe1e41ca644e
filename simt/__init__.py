"""A SIMT simulator for CUDA C++: answers, counters and findings on a CPU.

Import the module you need (`simt.program` wires everything); the package itself loads nothing.
"""
