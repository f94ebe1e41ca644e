"""A lesson in a real browser: marimo's own server for one file, and a page that is driven like a student would."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from grader.notebook.cells import marker_of
from grader.release.marimo_form import parse
from simt.nvrtc_cache import cache_folder

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
PATIENCE_MS = 120_000


@contextmanager
def edit_server(notebook: Path, home: Path):
    """The address of `marimo edit` for one file; a fresh one per test, since a session keeps what it ran."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port), "--skip-update-check"]
    # Nobody's own marimo settings and nobody's progress; compiled kernels are shared with the other tests.
    own = {
        "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "WARPWISE_PROGRESS": str(home / "progress.json"),
        "WARPWISE_CACHE": str(cache_folder()),
    }  # fmt: skip
    log = open(home / "server.log", "w", encoding="utf-8")  # noqa: SIM115
    server = subprocess.Popen(
        [sys.executable, "-m", "marimo", "edit", str(notebook), *options],
        cwd=notebook.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | own,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_up(address, server, home / "server.log")
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        log.close()


def _wait_until_up(address, server, log, patience_s=90):
    deadline = time.monotonic() + patience_s
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            alive = server.poll() is None and time.monotonic() < deadline
            assert alive, f"marimo did not come up:\n{log.read_text()[-3000:]}"
            time.sleep(0.2)


class NotebookPage:
    """One notebook in one tab. Waits are on attributes and on the file, never on time."""

    def __init__(self, page, address: str, notebook: Path):
        self.page, self.address, self.notebook = page, address, notebook
        # Cells keep their order, so the file says where in the page each answer stands.
        self.markers = [marker_of(cell.code) for cell in parse(notebook.read_text(encoding="utf-8")).cells]
        self.foreign: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.route("**/*", self._route)
        page.on("websocket", lambda socket: self._note(socket.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note(self, url: str) -> bool:
        own = url.split("://", 1)[-1].startswith(self.address.split("://", 1)[-1])
        if not own and not url.startswith(("data:", "blob:", "about:")):
            self.foreign.append(url)
        return own

    def _route(self, route):
        url = route.request.url
        if self._note(url) or url.startswith(("data:", "blob:")):
            route.continue_()
        else:
            route.abort()

    def open(self) -> NotebookPage:
        """Opens the notebook; its cells run on open, by the course's settings."""
        self.page.goto(self.address)
        self.page.wait_for_selector("[data-cell-name]", state="attached")
        return self

    def card(self, exercise_id: str):
        """The verdict card of an exercise."""
        return self.page.locator(f'section[data-exercise="{exercise_id}"]')

    def wait_for(self, exercise_id: str, status: str):
        """Waits until the card of an exercise has this status."""
        card = self.page.locator(f'section[data-exercise="{exercise_id}"][data-status="{status}"]')
        card.first.wait_for(state="attached")
        return card.first

    def answer_cell(self, exercise_id: str):
        """The cell that holds an exercise's answer, found by its place in the file."""
        return self.page.locator("[data-cell-name]").nth(self.markers.index(exercise_id))

    def answer_editor(self, exercise_id: str):
        """The code editor of an exercise's answer cell. A cell has none before it was scrolled near the window."""
        cell = self.answer_cell(exercise_id)
        cell.scroll_into_view_if_needed()
        return cell.locator(".cm-content")

    def write_cell(self, editor, text: str) -> None:
        """Replaces a cell's whole text by typing it in, and runs it."""
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Control+Enter")

    def save(self) -> None:
        """Saves like a student would."""
        self.page.keyboard.press("Control+S")

    def wait_for_file(self, holds, patience_s: float = 30.0) -> str:
        """The notebook's text once `holds(text)`.

        marimo empties the file and then writes it, so only a text that was read twice in a row is looked at.
        """
        deadline, before = time.monotonic() + patience_s, None
        while True:
            text = self.notebook.read_text(encoding="utf-8")
            if text and text == before and holds(text):
                return text
            assert time.monotonic() < deadline, f"the file did not change as expected:\n{text[-2000:]}"
            before = text
            self.page.wait_for_timeout(100)


def chromium_path() -> str:
    """Debian's Chromium; CHROMIUM names another."""
    named = os.environ.get("CHROMIUM")
    found = next((path for path in (named, *CHROMIUM) if path and Path(path).exists()), None)
    assert found, "no Chromium: apt-get install chromium"
    return found
