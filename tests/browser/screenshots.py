"""Makes `assets/verdict.png` and `assets/verdict_dark.png`: a real verdict in a real notebook, light and dark.

    python -m tests.browser.screenshots [--out DIR]

The kernel is judged while the picture is taken; nothing in it is drawn by hand.
"""

import argparse
import shutil
from contextlib import contextmanager
from pathlib import Path

from grader.notebook.cells import marker_of
from grader.release.clearing import solved
from grader.release.marimo_form import parse
from tests.browser.notebook_page import ROOT, NotebookPage, chromium_path, edit_server

LESSON, EXERCISE = "01_thread_mapping", "thread_mapping.map1d"
# What nearly everybody writes first.
FAULT = ("if (i < n) ", "")
WIDTH, MARGIN = 980, 10


def main():
    """Takes both pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "assets")
    out = parser.parse_args().out
    for theme, name in (("light", "verdict.png"), ("dark", "verdict_dark.png")):
        with opened(theme) as page:
            show_fault(page)
            take(page, out / name)
            print(out / name)


@contextmanager
def opened(theme):
    """The lesson's page in one theme."""
    from playwright.sync_api import sync_playwright

    folder = ROOT / "build" / "screenshots"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    notebook = folder / f"{LESSON}.py"
    shutil.copy(ROOT / "lessons" / notebook.name, notebook)
    with edit_server(notebook, folder / "home") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        viewport = {"width": WIDTH + 240, "height": 1900}
        tab = browser.new_page(viewport=viewport, device_scale_factor=1.5, color_scheme=theme)
        yield NotebookPage(tab, address, notebook).open()
        browser.close()
    shutil.rmtree(folder, ignore_errors=True)


def show_fault(page):
    """Types the solution without its guard and waits for the verdict."""
    cells = parse((ROOT / "solutions" / f"{LESSON}.py").read_text(encoding="utf-8")).cells
    answer = next(cell.code for cell in cells if marker_of(cell.code) == EXERCISE)
    page.card(EXERCISE).first.wait_for(state="attached")
    page.write_cell(page.answer_editor(EXERCISE), solved(answer).replace(*FAULT))
    page.wait_for(EXERCISE, "memory_fault")


def take(page, path):
    """The answer's cell and its card below, as one picture."""
    cell = page.answer_cell(EXERCISE)
    card = page.card(EXERCISE).first
    cell.evaluate("element => { element.style.scrollMarginTop = '24px'; element.scrollIntoView({block: 'start'}) }")
    page.page.evaluate("document.activeElement.blur()")
    page.page.mouse.move(2, 2)
    boxes = [cell.bounding_box(), card.bounding_box()]
    if any(box is None for box in boxes):
        raise RuntimeError("the cell or its card is not on the page")
    left, top = boxes[0]["x"] - MARGIN, boxes[0]["y"] - MARGIN
    width, bottom = boxes[0]["width"] + 2 * MARGIN, boxes[1]["y"] + boxes[1]["height"] + 2 * MARGIN
    page.page.screenshot(path=str(path), clip={"x": left, "y": top, "width": width, "height": bottom - top})


if __name__ == "__main__":
    main()
