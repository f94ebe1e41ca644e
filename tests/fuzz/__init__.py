"""Hostile PTX and CUDA text, made from good text: `python -m tests.fuzz`."""
