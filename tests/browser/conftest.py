"""A browser for all tests, a folder outside /tmp and a fresh server for each: marimo never autosaves under /tmp."""

import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.browser.notebook_page import ROOT, NotebookPage, chromium_path, edit_server

# No name but this machine's own is found: what a page asks of anybody else fails, and `NotebookPage.foreign` has it.
NOBODY_ELSE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", NOBODY_ELSE]
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=options)
        yield chromium
        chromium.close()


@contextmanager
def empty_folder(name):
    """An empty folder with the course's pyproject.toml above it: inside the checkout, or beside /tmp when that is there."""
    base = ROOT / "build" / "browser"
    if Path("/tmp") in base.parents:
        base = Path.home() / ".cache" / "warpwise-browser-tests"
        base.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "pyproject.toml", base)
    path = base / name
    shutil.rmtree(path, ignore_errors=True)
    (path / "home").mkdir(parents=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def opened(browser, folder, lesson, **context):
    """The open page of a lesson's copy in `folder`, by a server of its own."""
    notebook = folder / lesson.name
    shutil.copy(lesson, notebook)
    with edit_server(notebook, folder / "home") as address:
        tab = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce", **context)
        try:
            yield NotebookPage(tab.new_page(), address, notebook).open()
        finally:
            tab.close()


@pytest.fixture
def open_lesson(browser, request):
    """A function from a lesson to its open page; everything is closed after the test."""
    with ExitStack() as stack:
        folder = stack.enter_context(empty_folder(request.node.name.replace("[", "_").rstrip("]")))
        yield lambda lesson: stack.enter_context(opened(browser, folder, lesson))


@pytest.fixture(scope="module")
def untouched(browser, request):
    """The open page of the lesson that the test names, where all is dark; its tests look and type nothing."""
    with (
        empty_folder(f"untouched_{request.param.stem}") as folder,
        opened(browser, folder, request.param, color_scheme="dark") as page,
    ):
        yield page
