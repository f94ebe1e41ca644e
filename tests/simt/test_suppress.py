"""Suppression files: what they accept, what they say about themselves, and findings as SARIF."""

import contextlib
import json

import jsonschema
import pytest

from simt.cli import main
from simt.cli_run import RunOptions, run_files
from simt.diagnostics import CATALOGUE
from simt.events import Status

KERNEL = """template <int N>
__global__ void mark(int* flag, const float* x) {
    __shared__ float kept[N]; kept[threadIdx.x] = 0.0f; __syncthreads();
    if (x[threadIdx.x] > 0.0f)
        *flag = threadIdx.x;
    kept[threadIdx.x] = x[threadIdx.x];
    flag[1 + threadIdx.x] = kept[(threadIdx.x + 32) % N];
}
"""
LAUNCH = """name_expression = "mark<64>"
grid = 1
block = 64
[[args]]
name = "flag"
dtype = "int32"
shape = [65]
init = "zeros"
dir = "inout"
[[args]]
name = "x"
dtype = "float32"
shape = [64]
init = "ones"
"""
FLAG = '[[suppress]]\ncheck = "racecheck.global.WW"\nkernel = "mark"\nline = 5\nreason = "any of them will do"\n'
TILE = '[[suppress]]\ncheck = "RC001"\nkernel = "*"\nreason = "to be mended"\n'


@pytest.fixture
def files(tmp_path):
    (tmp_path / "mark.cu").write_text(KERNEL)
    (tmp_path / "launch.toml").write_text(LAUNCH)
    return tmp_path


def run(folder, entries=None):
    if entries is not None:
        (folder / "accepted.toml").write_text(entries)
    path = folder / "accepted.toml" if entries is not None else None
    return run_files(folder / "mark.cu", folder / "launch.toml", RunOptions(suppress=path))


def test_without_a_file_both_races_are_found(files):
    report = run(files)
    assert {found.check for found in report.diagnostics} >= {"racecheck.global.WW", "racecheck.shared.RAW"}
    assert report.exit_status == 1 and report.suppressed == ()


def test_a_suppressed_finding_refuses_nothing(files):
    report = run(files, FLAG + TILE)
    assert report.status is Status.OK and report.exit_status == 0
    assert [found.check for found in report.diagnostics] == []
    assert {row.entry.reason for row in report.suppressed} == {"any of them will do", "to be mended"}


def test_other_findings_stay(files):
    report = run(files, FLAG)
    assert report.exit_status == 1
    assert "racecheck.shared.RAW" in {found.check for found in report.diagnostics}
    assert "racecheck.global.WW" not in {found.check for found in report.diagnostics}


@pytest.mark.parametrize("change", ["line = 6", 'kernel = "sweep"', 'check = "racecheck.global.RW"'])
def test_an_entry_about_something_else_is_reported_as_unused(files, change):
    key = change.partition(" ")[0]
    entry = "\n".join(change if row.startswith(key) else row for row in FLAG.split("\n"))
    report = run(files, entry + TILE)
    unused = [found for found in report.diagnostics if found.check == "suppress.unused"]
    assert len(unused) == 1 and "accepted.toml, entry 1" in unused[0].message
    assert any(found.check == "racecheck.global.WW" for found in report.diagnostics)


def test_the_name_of_an_instance_meets_it_too(files):
    report = run(files, FLAG.replace('"mark"', '"mark<64>"') + TILE)
    assert report.exit_status == 0


WRONG = {
    "no TOML": "[[suppress]", "another table": "[accept]\n", "no reason": FLAG.replace("reason", "# "),
    "an empty reason": FLAG.replace("any of them will do", " "), "an unknown check": FLAG.replace("global.WW", "global.XX"),
    "an unknown key": FLAG + "until = 2030\n", "a line of text": FLAG.replace("line = 5", 'line = "5"'),
    "line zero": FLAG.replace("line = 5", "line = 0"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_refused_before_anything_runs(files, text):
    report = run(files, text)
    assert report.exit_status == 1 and report.blocks_run == 0
    assert [found.check for found in report.diagnostics] == ["suppress.file"] and report.diagnostics[0].help


def test_the_command_names_what_it_suppressed(files, capsys):
    (files / "accepted.toml").write_text(FLAG + TILE)
    words = [
        "run",
        str(files / "mark.cu"),
        "--launch",
        str(files / "launch.toml"),
        "--suppress",
        str(files / "accepted.toml"),
    ]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "suppressed[RC008]: racecheck.global.WW, line 5: any of them will do" in text and "2 suppressed" in text
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["suppressed"]
    assert {row["code"]: row["reason"] for row in rows} == {"RC008": "any of them will do", "RC001": "to be mended"}


# --- SARIF. The parts of the 2.1.0 schema that a log of ours has, with what that schema requires of them.

_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_ARTIFACT = {
    "type": "object", "additionalProperties": False,
    "properties": {"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": {"type": "string"}},
}  # fmt: skip
_LOCATION = {
    "type": "object", "additionalProperties": False, "required": ["physicalLocation"],
    "properties": {
        "id": {"type": "integer", "minimum": -1}, "message": _TEXT,
        "physicalLocation": {
            "type": "object", "additionalProperties": False, "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": _ARTIFACT,
                "region": {
                    "type": "object", "additionalProperties": False, "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
    },
}  # fmt: skip
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RESULT = {
    "type": "object", "additionalProperties": False, "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": -1}, "level": _LEVEL, "message": _TEXT,
        "locations": {"type": "array", "items": _LOCATION},
        "relatedLocations": {"type": "array", "uniqueItems": True, "items": _LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
        "suppressions": {
            "type": "array", "uniqueItems": True,
            "items": {
                "type": "object", "required": ["kind"], "additionalProperties": False,
                "properties": {
                    "kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"},
                    "status": {"enum": ["accepted", "underReview", "rejected"]},
                },
            },
        },
    },
}  # fmt: skip
_RULE = {
    "type": "object", "additionalProperties": False, "required": ["id"],
    "properties": {
        "id": {"type": "string"}, "name": {"type": "string"}, "shortDescription": _TEXT,
        "helpUri": {"type": "string", "format": "uri-reference"},
        "defaultConfiguration": {"type": "object", "properties": {"level": _LEVEL}, "additionalProperties": False},
    },
}  # fmt: skip
_RUN = {
    "type": "object", "additionalProperties": False, "required": ["tool"],
    "properties": {
        "tool": {
            "type": "object", "required": ["driver"], "additionalProperties": False,
            "properties": {
                "driver": {
                    "type": "object", "required": ["name"], "additionalProperties": False,
                    "properties": {
                        "name": {"type": "string"},
                        "rules": {"type": "array", "uniqueItems": True, "items": _RULE},
                    },
                }
            },
        },
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "artifacts": {
            "type": "array", "uniqueItems": True,
            "items": {"type": "object", "properties": {"location": _ARTIFACT, "sourceLanguage": {"type": "string"}}},
        },
        "invocations": {
            "type": "array",
            "items": {
                "type": "object", "required": ["executionSuccessful"], "additionalProperties": False,
                "properties": {"executionSuccessful": {"type": "boolean"}, "exitCode": {"type": "integer"}},
            },
        },
        "results": {"type": "array", "items": _RESULT},
        "properties": {"type": "object"},
    },
}  # fmt: skip
SARIF = {
    "type": "object", "additionalProperties": False, "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "items": _RUN},
    },
}  # fmt: skip


def log_of(folder, *more):
    with contextlib.chdir(folder):
        status = main(["run", "mark.cu", "--launch", "launch.toml", "--sarif", "out.sarif", *more])
    log = json.loads((folder / "out.sarif").read_text())
    jsonschema.validate(log, SARIF)
    return status, log["runs"][0]


def test_findings_are_sarif_results_at_their_lines(files):
    status, log = log_of(files)
    assert status == log["invocations"][0]["exitCode"] == 1
    rules = log["tool"]["driver"]["rules"]
    for row in log["results"]:
        assert rules[row["ruleIndex"]]["id"] == row["ruleId"]
        assert CATALOGUE[rules[row["ruleIndex"]]["name"]].code == row["ruleId"]
        place = row["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "mark.cu", "uriBaseId": "%SRCROOT%"}
    race = next(row for row in log["results"] if row["ruleId"] == "RC001")
    assert race["level"] == "error" and race["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    assert race["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 6}


def test_a_suppressed_finding_is_a_result_with_its_reason(files):
    (files / "accepted.toml").write_text(FLAG + TILE)
    status, log = log_of(files, "--suppress", "accepted.toml")
    assert status == 0
    reasons = {
        row["ruleId"]: row["suppressions"][0]["justification"] for row in log["results"] if "suppressions" in row
    }
    assert reasons == {"RC008": "any of them will do", "RC001": "to be mended"}


def test_a_clean_run_and_one_that_does_not_compile_are_logs_too(files):
    (files / "mark.cu").write_text(KERNEL.replace("*flag = threadIdx.x;", "*flag = missing;"))
    status, log = log_of(files)
    assert status == 2 and not log["invocations"][0]["executionSuccessful"]
    assert [row["ruleId"] for row in log["results"]] == ["CO001"]
    body = "flag[1 + threadIdx.x] = x[threadIdx.x] > 0; if (threadIdx.x == 0) *flag = 1;"
    (files / "mark.cu").write_text("template <int N> __global__ void mark(int* flag, const float* x) { " + body + " }")
    status, log = log_of(files)
    assert status == 0 and log["results"] == [] and log["properties"]["blocksRun"] == 1


def test_a_place_that_cannot_be_written_is_said(files, capsys):
    words = [
        "run",
        str(files / "mark.cu"),
        "--launch",
        str(files / "launch.toml"),
        "--sarif",
        str(files / "no" / "x.sarif"),
    ]
    assert main(words) == 2
    assert "cannot write to" in capsys.readouterr().err
