"""Every format holds every student once, with the name and the numbers that the gradebook has."""

import csv
import io
import json
import re
from dataclasses import replace

import pyarrow.parquet
import pytest

from grader.class_file import Member, Unmeasured
from grader.exporters import FORMATS, export
from grader.exporters.cells import cell
from grader.gradebook import Entry, Gradebook, Row
from grader.gradebook_points import Speed

NAMES = {"ann": 'Lee, Ann "A" O\'Neil', "wang": "王小明", "zoe": "Zoë Ünal, Jr.", "evil": '=HYPERLINK("http://x")'}


def entry(exercise_id, verdict="pass", score=1.0, **more):
    return Entry(exercise_id, verdict, score, 2.0, verdict == "pass", digest="d" * 8, **more)


def book(names=NAMES):
    rows = tuple(
        Row(student, name, "12", "team, 1", Member(canvas_id=f"c-{student}", gradescope_email=f"{student}@uni.example"), (
            entry("a.one", comment='well "done", see line 3\nand 4', message="=1+1"),
            entry("a.two", "wrong_answer", 0.5, kept_share=0.75, speed=Speed.PENDING),
            entry("b.three", "missing", 0.0),
        ))
        for student, name in sorted(names.items())
    )  # fmt: skip
    columns = {'Week 1, "maps"': ("a.one", "a.two"), "Week 2": ("b.three",)}
    return Gradebook("class", ("a.one", "a.two", "b.three"), columns, rows, Unmeasured.PENDING, {"Week 2": "77123"})


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_the_csv_has_a_row_for_each_student_and_exercise():
    header, *rows = read(export(book(), "csv"))
    assert len(rows) == 4 * 3
    found = [dict(zip(header, row)) for row in rows]
    assert {row["student"]: row["name"] for row in found} == NAMES | {"evil": "'" + NAMES["evil"]}
    assert found[0]["comment"] == 'well "done", see line 3\nand 4' and found[0]["message"] == "'=1+1"
    assert [found[1][name] for name in ("score", "max_score", "pending", "speed", "kept_share")] == [
        "0.5", "2", "yes", "pending", "0.75",
    ]  # fmt: skip


def test_canvas_has_its_columns_and_the_points_possible():
    header, possible, *rows = read(export(book(), "canvas"))
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", 'Week 1, "maps"', "Week 2 (77123)"]
    assert possible == ["    Points Possible", "", "", "", "", "4", "2"]
    assert rows[0] == [NAMES["ann"], "c-ann", "", "ann", "", "1.5", "0"]


def test_canvas_knows_the_file_for_a_gradebook_and_takes_its_parts_apart():
    """What `GradebookImporter` does with a header, as the exporter's docstring names it."""
    header, possible, *_ = read(export(book(), "canvas"))
    assert "Student" in header[0] and "ID" in header[1]  # row_has_student_headers?
    assert re.search(r"SIS\s+User\s+ID", header[2]) and re.search(r"SIS\s+Login\s+ID", header[3])  # update_column_count
    assert "Section" in header[4] and "Points Possible" in possible[0]
    found = [re.fullmatch(r"(.*)\s\((\d+)\)", title) for title in header[5:]]  # Assignment.title_and_id
    assert [match and match.groups() for match in found] == [None, ("Week 2", "77123")]


def test_moodle_has_a_grade_a_maximum_and_feedback():
    header, *rows = read(export(book(), "moodle"))
    assert header == ["Identifier", "Full name", "ID number", "Email address"] + [
        name + part for name in ('Week 1, "maps"', "Week 2") for part in ("", " (maximum)", " (feedback)")
    ]
    assert rows[2][:6] == ["Participant 12", "王小明", "wang", "wang@uni.example", "1.5", "4"]
    assert "late: 75% kept" in rows[2][6] and "speed pending" in rows[2][6]


def test_moodle_takes_the_file_of_one_assignment_as_its_worksheet():
    """The three columns without which `assignfeedback_offline_grade_importer::init` refuses it, and the comments."""
    alone = replace(book(), columns={"Week 2": ("b.three",)})
    header, *rows = read(export(alone, "moodle"))
    assert header == ["Identifier", "Full name", "ID number", "Email address", "Grade", "Maximum Grade",
                      "Last modified (grade)", "Feedback comments"]  # fmt: skip
    assert rows[0][4:] == ["0", "2", "", "b.three: missing, 0 of 2"] and len({len(row) for row in rows}) == 1


def test_gradescope_has_a_results_file_for_each_student():
    found = json.loads(export(book(), "gradescope"))
    assert set(found) == set(NAMES)
    ann = found["ann"]
    assert ann["score"] == 1.5
    assert [(test["name"], test["score"], test["max_score"], test["status"]) for test in ann["tests"]] == [
        ("a.one", 1.0, 2.0, "passed"), ("a.two", 0.5, 2.0, "failed"), ("b.three", 0.0, 2.0, "failed"),
    ]  # fmt: skip


VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
# Fields of Gradescope's specification, each with what it may hold.
SUBMISSION = {
    "score": (int, float), "output": str, "output_format": {"text"}, "test_output_format": {"text"},
    "test_name_format": {"text"}, "visibility": VISIBILITY, "stdout_visibility": VISIBILITY, "extra_data": dict,
    "tests": list,
}  # fmt: skip
TEST = {
    "score": (int, float), "max_score": (int, float), "status": {"passed", "failed"}, "name": str, "number": str,
    "output": str, "visibility": VISIBILITY,
}  # fmt: skip


def test_gradescope_finds_every_field_as_it_specifies_it():
    for results in json.loads(export(book(), "gradescope")).values():
        for given, wanted in [(results, SUBMISSION), *((test, TEST) for test in results["tests"])]:
            assert given.keys() == wanted.keys()
            for name, accepted in wanted.items():
                is_right = given[name] in accepted if isinstance(accepted, set) else isinstance(given[name], accepted)
                assert is_right, f"{name} is {given[name]!r}"
        assert results["score"] == sum(test["score"] for test in results["tests"])
    assert "speed: still to be measured" in results["tests"][1]["output"]


def test_gradescope_for_one_student_is_the_results_file_itself():
    assert json.loads(export(book({"ann": "Ann"}), "gradescope"))["extra_data"]["student"] == "ann"


def test_parquet_has_types_and_the_same_rows():
    table = pyarrow.parquet.read_table(io.BytesIO(export(book(), "parquet")))
    rows = table.to_pylist()
    assert len(rows) == 12
    assert {row["student"]: row["name"] for row in rows} == NAMES
    assert rows[1]["score"] == 0.5 and rows[1]["pending"] is True and rows[1]["speed"] == "pending"


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
