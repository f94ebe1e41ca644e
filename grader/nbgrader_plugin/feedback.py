"""Feedback as one page that opens without a network, on a phone too; nbgrader's own loads MathJax from the internet."""

from __future__ import annotations

import re

from nbconvert.exporters import HTMLExporter
from nbformat.notebooknode import NotebookNode

__all__ = ["FeedbackPage", "self_contained"]

_FROM_ELSEWHERE = re.compile(r"""<script[^>]*\ssrc=["'](?:https?:)?//[^>]*>\s*</script>""")
# nbgrader's page is light whatever the reader's theme; the class tells the verdict cards so.
_HEAD = '<html class="light">\n<head>\n<meta name="viewport" content="width=device-width, initial-scale=1" />'
# Of its floating labels nothing is to be seen on a narrow page otherwise, and long lines push the page wide.
_NARROW = """<style>
@media (max-width: 600px) {
  div.prompt { min-width: 0; text-align: left; }
  div.nbgrader_cell .panel-heading { height: auto; overflow: auto; }
}
</style>
</head>"""


class FeedbackPage(HTMLExporter):
    """nbgrader's feedback, made by its own template."""

    def from_notebook_node(self, nb: NotebookNode, resources: dict | None = None, **kw: object) -> tuple:
        """The page and nbconvert's resources."""
        html, resources = super().from_notebook_node(nb, resources, **kw)
        return self_contained(html), resources


def self_contained(html: str) -> str:
    """A page of nbgrader's without scripts from elsewhere; formulas in it stay as they were typed."""
    html = _FROM_ELSEWHERE.sub("", html)
    html = re.sub(r"<html>\s*<head>", _HEAD, html, count=1)
    return html.replace("</head>", _NARROW, 1)
