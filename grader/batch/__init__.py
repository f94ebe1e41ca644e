"""A class graded at once: what is there, what has to be done, who does it, what came out. Runs no student's Python."""
