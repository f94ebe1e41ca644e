"""Notebooks as classes hand them in, with the outcome that grading should have."""
