"""Every format holds every student once, with the name and the numbers that the gradebook has."""

import csv
import io
import json

import pyarrow.parquet
import pytest

from grader.class_file import Member
from grader.exporters import FORMATS, export
from grader.exporters.cells import cell
from grader.gradebook import Entry, Gradebook, Row

NAMES = {"ann": 'Lee, Ann "A" O\'Neil', "wang": "王小明", "zoe": "Zoë Ünal, Jr.", "evil": '=HYPERLINK("http://x")'}


def entry(exercise_id, verdict="pass", score=1.0, **more):
    return Entry(exercise_id, verdict, score, 2.0, verdict == "pass", digest="d" * 8, **more)


def book(names=NAMES):
    rows = tuple(
        Row(student, name, "12", "team, 1", Member(canvas_id=f"c-{student}"), (
            entry("a.one", comment='well "done", see line 3\nand 4', message="=1+1"),
            entry("a.two", "wrong_answer", 0.5, kept_share=0.75, is_pending=True),
            entry("b.three", "missing", 0.0),
        ))
        for student, name in sorted(names.items())
    )  # fmt: skip
    columns = {'Week 1, "maps"': ("a.one", "a.two"), "Week 2": ("b.three",)}
    return Gradebook("class", ("a.one", "a.two", "b.three"), columns, rows)


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_the_csv_has_a_row_for_each_student_and_exercise():
    header, *rows = read(export(book(), "csv"))
    assert len(rows) == 4 * 3
    found = [dict(zip(header, row)) for row in rows]
    assert {row["student"]: row["name"] for row in found} == NAMES | {"evil": "'" + NAMES["evil"]}
    assert found[0]["comment"] == 'well "done", see line 3\nand 4' and found[0]["message"] == "'=1+1"
    assert (found[1]["score"], found[1]["max_score"], found[1]["pending"], found[1]["kept_share"]) == (
        "0.5", "2", "yes", "0.75",
    )  # fmt: skip


def test_canvas_has_its_columns_and_the_points_possible():
    header, possible, *rows = read(export(book(), "canvas"))
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", 'Week 1, "maps"', "Week 2"]
    assert possible == ["    Points Possible", "", "", "", "", "4", "2"]
    assert rows[0] == [NAMES["ann"], "c-ann", "", "ann", "", "1.5", "0"]


def test_moodle_has_a_grade_a_maximum_and_feedback():
    header, *rows = read(export(book(), "moodle"))
    assert header[:3] == ["Identifier", "Full name", "ID number"] and len(header) == 3 + 2 * 3
    assert rows[2][:5] == ["Participant 12", "王小明", "wang", "1.5", "4"]
    assert "late: 75% kept" in rows[2][5] and "speed pending" in rows[2][5]


def test_gradescope_has_a_results_file_for_each_student():
    found = json.loads(export(book(), "gradescope"))
    assert set(found) == set(NAMES)
    ann = found["ann"]
    assert ann["score"] == 1.5
    assert [(test["name"], test["score"], test["max_score"], test["status"]) for test in ann["tests"]] == [
        ("a.one", 1.0, 2.0, "passed"), ("a.two", 0.5, 2.0, "failed"), ("b.three", 0.0, 2.0, "failed"),
    ]  # fmt: skip


def test_gradescope_for_one_student_is_the_results_file_itself():
    assert json.loads(export(book({"ann": "Ann"}), "gradescope"))["extra_data"]["student"] == "ann"


def test_parquet_has_types_and_the_same_rows():
    table = pyarrow.parquet.read_table(io.BytesIO(export(book(), "parquet")))
    rows = table.to_pylist()
    assert len(rows) == 12
    assert {row["student"]: row["name"] for row in rows} == NAMES
    assert rows[1]["score"] == 0.5 and rows[1]["pending"] is True


@pytest.mark.parametrize("format", FORMATS)
def test_equal_gradebooks_are_equal_bytes_and_an_empty_one_is_a_file(format):
    assert export(book(), format) == export(book(), format)
    assert export(Gradebook("", (), {}, ()), format)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "－1", "＠x"]
)
def test_no_cell_is_a_formula(text):
    assert cell(text) == "'" + text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.5, "0.5"), (-1.5, "-1.5"), (0.1 + 0.2, "0.3"), (1e-9, "0"), (7, "7"), (None, ""),
                        (True, "yes"), ("a-b", "a-b"), ("nul\0", "nul")]
)  # fmt: skip
def test_numbers_and_plain_text_stay_themselves(value, text):
    assert cell(value) == text
