"""Fair timing of two kernels: what is drawn before, what is read on the device, and what follows from it.

Nothing here needs a GPU. `grader.devices.cuda_timing` reads a `Trace`; `grader.measure` asks for as many as it takes.
"""
