"""The seeds file: what it adds, and that a bad one stops grading rather than weakening it."""

import json

import pytest

from grader.answers import submit
from grader.exercises import exercise
from grader.hidden import ENVIRONMENT, NO_SEEDS, SeedsProblem, load_hidden
from grader.model import Verdict
from grader.pipeline import cache_key, grade
from tests.grader.fake import FakeDevice

MAP = exercise("selftest.map")
PLAIN = {
    "id": "autumn",
    "secret": "s",
    "cases": {"selftest.map": [{"name": "hidden 1", "sizes": {"n": 129}, "seed": 5}]},
}


def test_without_a_file_there_are_no_hidden_cases_but_the_exercises_own(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert load_hidden() == NO_SEEDS and NO_SEEDS.of(MAP) == MAP.cases


def test_a_file_adds_cases_and_its_secret_reseeds_them(tmp_path, monkeypatch):
    (tmp_path / "seeds.json").write_text(json.dumps(PLAIN))
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "seeds.json"))
    hidden = load_hidden()
    extra = hidden.of(MAP)[-1]
    assert extra.hidden and extra.sizes == {"n": 129} and extra.seed != 5
    (tmp_path / "seeds.json").write_text(json.dumps(PLAIN | {"secret": "other"}))
    assert load_hidden().of(MAP)[-1].seed != extra.seed


def from_file(folder, plain):
    path = folder / "seeds.json"
    path.write_text(json.dumps(plain))
    return load_hidden(path)


def test_its_id_joins_the_cache_key(tmp_path):
    answer = submit(MAP, "text")
    assert cache_key(answer, NO_SEEDS) != cache_key(answer, from_file(tmp_path, {"id": "other"}))


@pytest.mark.parametrize(
    "plain",
    [[], {}, {"id": "a", "cases": {"x": [{"name": "b"}]}}, {"id": "a", "cases": {"x": [{"name": "b", "sizes": {"n": -1}}]}},
     {"id": "a", "cases": {"x": [{"name": "b", "sizes": {"n": True}}]}}, {"id": "a", "cases": 3}],
)  # fmt: skip
def test_a_bad_file_is_refused(tmp_path, plain):
    with pytest.raises(SeedsProblem):
        from_file(tmp_path, plain)


def test_grading_fails_closed_when_the_named_file_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "nowhere.json"))
    report = grade(submit(MAP, "text"), MAP, FakeDevice(lambda x, y, n: {}))
    assert report.verdict is Verdict.INTERNAL_ERROR and report.score == 0
