"""Views of a report: JSON, terminal text, Markdown feedback and the notebook's verdict card. Each reads values only."""
