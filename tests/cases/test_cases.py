"""The public field cases: each fault under its own name and line, no alarm on any repair."""

import json

import pytest

from grader.cases import CaseProblem, load_case, read_case
from tests.cases.judged import judged
from tests.cases.run_cases import DATA, case_folders
from tests.cases.sanitizer_page import PAGE, measured, page

FOLDERS = case_folders()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_fault_is_found_under_its_name_and_line(folder):
    judgement = judged(folder, False)
    assert judgement.ok, judgement.why


@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if read_case(f).plain.get("has_fixed")], ids=lambda folder: folder.name
)
def test_a_repair_raises_nothing(folder):
    judgement = judged(folder, True)
    assert judgement.ok, judgement.why


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "x"}', '{"id": "x", "launch": {}, "args": [], "reference": {}}'])
def test_a_folder_that_is_no_case_says_what_is_wrong(tmp_path, text):
    (tmp_path / "case.json").write_text(text)
    with pytest.raises(CaseProblem) as caught:
        load_case(tmp_path)
    assert str(caught.value)


@pytest.mark.parametrize("init", ["__import__('os').getcwd()", "np.load('x')", "np.fromfile('x')", "x.__class__", "open('x')"])
def test_an_expression_off_the_list_is_refused(tmp_path, init):
    plain = read_case(DATA / "01-missing-bounds-check").plain | {}
    plain["args"] = [plain["args"][0] | {"init": init}, *plain["args"][1:]]
    (tmp_path / "case.json").write_text(json.dumps(plain))
    (tmp_path / "kernel.cu").write_text("")
    with pytest.raises(CaseProblem, match="not accepted"):
        load_case(tmp_path)


def test_an_array_of_ten_gigabytes_is_refused_by_its_size(tmp_path):
    plain = read_case(DATA / "01-missing-bounds-check").plain | {}
    plain["args"] = [plain["args"][0] | {"shape": [2_500_000_000], "init": "zeros"}, *plain["args"][1:]]
    (tmp_path / "case.json").write_text(json.dumps(plain))
    (tmp_path / "kernel.cu").write_text("")
    with pytest.raises(CaseProblem, match="10000000000 bytes"):
        load_case(tmp_path)


def test_the_page_beside_compute_sanitizer_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.cases.sanitizer_page"


def test_every_case_was_measured_on_hardware():
    assert {name for name, _ in measured()} == {folder.name for folder in case_folders()}
