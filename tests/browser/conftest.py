"""A browser for all tests, a folder outside /tmp and a fresh server for each: marimo never autosaves under /tmp."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.browser.notebook_page import ROOT, NotebookPage, chromium_path, edit_server


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def folder(request):
    """An empty folder with the course's pyproject.toml above it: inside the checkout, or beside /tmp when that is there."""
    base = ROOT / "build" / "browser"
    if Path("/tmp") in base.parents:
        base = Path.home() / ".cache" / "warpwise-browser-tests"
        base.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "pyproject.toml", base)
    path = base / request.node.name.replace("/", "_").replace("[", "_").rstrip("]")
    shutil.rmtree(path, ignore_errors=True)
    (path / "home").mkdir(parents=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def open_notebook(browser, folder):
    """A function from a notebook's text and name to its open page; everything is closed after the test."""
    with ExitStack() as stack:

        def open_text(text, name="lesson.py", **context):
            notebook = folder / name
            notebook.write_text(text, encoding="utf-8")
            address = stack.enter_context(edit_server(notebook, folder / "home"))
            tab = browser.new_context(viewport={"width": 1280, "height": 1000}, **context)
            stack.callback(tab.close)
            return NotebookPage(tab.new_page(), address, notebook).open()

        yield open_text
