"""The host's side of a launch: buffers, parameters, native threads, and what is left to read afterwards."""
