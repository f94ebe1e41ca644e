"""The coverage page says what the table holds, in PTX's own words."""

import re
from pathlib import Path

from simt.isa.coverage import coverage, missing, rows
from simt.isa.table import INTERNAL, ROWS

PAGE = Path(__file__).parents[3] / "docs" / "ptx_coverage.md"


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == coverage() + "\n", "run: python -m simt coverage > docs/ptx_coverage.md"


def test_every_row_is_on_the_page_without_the_words_of_the_table():
    assert len(rows()) == len(ROWS)
    spelled = re.findall(r"`[^`]*`", coverage())
    assert not [form for form in spelled if INTERNAL & set(re.split(r"[.{},]", form.partition(" ")[0].strip("`")))]


def test_what_does_not_run_is_not_claimed():
    absent = {name for names in missing().values() for name in names}
    assert "tcgen05" in absent and "tex" in absent
    assert not absent & {row.name for row in rows()}
