"""A real nbgrader course, and our preprocessors on their own."""
