"""A lesson in a real browser: marimo's own server for one file, and a page that is driven like a student would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.notebook.cells import marker_of
from grader.release.marimo_form import parse
from simt.nvrtc_cache import cache_folder
from tests.ports import free_port
from tests.processes import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
PATIENCE_MS = 1000 * PATIENCE_SECONDS


@contextmanager
def edit_server(notebook: Path, home: Path):
    """The address of `marimo edit` for one file; a fresh one per test, since a session keeps what it ran."""
    port = free_port()
    options = ["--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port), "--skip-update-check"]
    # Nobody's own marimo settings and nobody's progress; compiled kernels are shared with the other tests.
    own = {
        "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "WARPWISE_PROGRESS": str(home / "progress.json"),
        "WARPWISE_CACHE": str(cache_folder()),
    }  # fmt: skip
    log = open(home / "server.log", "w", encoding="utf-8")
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


def _wait_until_up(address, server, log):
    def is_up():
        assert server.poll() is None, f"marimo did not come up:\n{log.read_text()[-3000:]}"
        with suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=PATIENCE_SECONDS):
            return True

    wait_until(is_up)


class NotebookPage:
    """One notebook in one tab. Waits are on attributes and on the file, never on time."""

    def __init__(self, page, address: str, notebook: Path):
        self.page, self.address, self.notebook = page, address, notebook
        # Cells keep their order, so the file says where in the page each answer stands.
        self.markers = [marker_of(cell.code) for cell in parse(notebook.read_text(encoding="utf-8")).cells]
        self.foreign: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        # Listening only: a browser whose requests are held up for a decision keeps nothing that it has loaded.
        page.context.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda socket: self._note(socket.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note(self, url: str) -> None:
        own = url.split("://", 1)[-1].startswith(self.address.split("://", 1)[-1])
        if not own and not url.startswith(("data:", "blob:", "about:")):
            self.foreign.append(url)

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

    def wait_until_not_passed(self, exercise_id: str) -> None:
        """Waits until the card of an exercise shows another verdict than a pass."""
        section = f'section[data-exercise="{exercise_id}"]:not([data-status="pass"])'
        self.page.locator(section).first.wait_for(state="attached")

    def answer_cell(self, exercise_id: str):
        """The cell that holds an exercise's answer, found by its place in the file."""
        return self.page.locator("[data-cell-name]").nth(self.markers.index(exercise_id))

    def answer_editor(self, exercise_id: str):
        """The code editor of an exercise's answer cell. A cell has none before it was scrolled near the window."""
        cell = self.answer_cell(exercise_id)
        editor = cell.locator(".cm-content")

        def is_there():
            # What cells above it show may push it away again before it has its editor.
            cell.evaluate("cell => cell.scrollIntoView({block: 'center', behavior: 'instant'})")
            self.page.wait_for_timeout(100)
            return editor.count()

        wait_until(is_there)
        return editor

    def write_cell(self, editor, text: str) -> None:
        """Replaces a cell's whole text by typing it in, and runs it.

        The editor is focused and not clicked at: a click waits until nothing on the page moves, which takes as long as
        other cells are still at work.
        """
        from playwright.sync_api import expect

        editor.focus()
        expect(editor).to_be_focused(timeout=PATIENCE_MS)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Control+Enter")

    def save(self) -> None:
        """Saves like a student would."""
        self.page.keyboard.press("Control+S")

    def wait_for_file(self, holds) -> str:
        """The notebook's text once `holds(text)`.

        marimo empties the file and then writes it, so `holds` may be asked about any beginning of a text, and must not
        be true of half of one.
        """

        def text_that_holds():
            self.page.wait_for_timeout(100)  # the page lives on meanwhile
            text = self.notebook.read_text(encoding="utf-8", errors="replace")
            return text if text and holds(text) else ""

        try:
            return wait_until(text_that_holds)
        except AssertionError:
            text = self.notebook.read_text(encoding="utf-8", errors="replace")
            raise AssertionError(f"the file did not change as expected:\n{text[-2000:]}") from None


def chromium_path() -> str:
    """Debian's Chromium; CHROMIUM names another."""
    named = os.environ.get("CHROMIUM")
    found = next((path for path in (named, *CHROMIUM) if path and Path(path).exists()), None)
    assert found, "no Chromium: apt-get install chromium"
    return found
