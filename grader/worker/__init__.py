"""Worker processes: what runs a student's kernel runs in one, and only compiled code, launch and inputs go in."""
