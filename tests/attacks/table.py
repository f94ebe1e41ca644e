"""The attacks as rows: attacks.tsv with its kernels beside it, own_attacks.tsv with its kernels in own/."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from grader.answers import submit
from grader.exercises import exercise
from grader.model import Exercise, Submission, Unreadable, Verdict

__all__ = ["ATTACKS", "BOMBS", "Attack"]

HERE = Path(__file__).parent

# Each of these keeps a compiler busy until a limit ends it.
BOMBS = frozenset(
    """
    b03_macro_bomb b04_constexpr_many b06_string_bomb b07_unroll_barriers b09_big_init template_tree unroll_asm overloads
    index_sequence huge_local_init type_tree lambda_tree huge_global_init
    """.split()
)
WORDS = {
    "PASS": {"pass"},
    "REJECT_SOURCE": {"source_rejected"},
    "REJECT_PTX": {"ptx_rejected"},
    "REJECT_LAUNCH": {"launch_rejected"},
    "COMPILE_ERROR": {"build_failed"},
    "COMPILE_LIMIT": {"build_limit"},
    "MEM_FAULT": {"memory_fault"},
    "SYNC_ERROR": {"sync_error", "race", "deadlock"},
    "WRONG_ANSWER": {"wrong_answer"},
    "INPUT_MODIFIED": {"input_modified"},
    "UNINITIALISED": {"uninitialised"},
    "RUNTIME_ERROR": {"runtime_error"},
    "NOT_SUPPORTED": {"not_supported"},
    "TIMEOUT": {"timeout"},
    # No gain is for timing to show; a rejection is as good.
    "PASS_NO_GAIN": {str(verdict) for verdict in Verdict} - {"internal_error"},
    "GPU_PASS": set(),
}
ALSO = {
    "m09_null_host_ptr": {"memory_fault"},
    "t01_skip_if_done": {"uninitialised"},
    "m10_uninit_shared": {"uninitialised"},
    "t10_unfinished_async": {"sync_error"},
    "b07_unroll_barriers": {"ptx_rejected"},
}
PART = re.compile(r"(grid|block|smem)=(\(-?\d+(?:,-?\d+)*\)|\S+)")
CONTRACTS = {"MAP": "selftest.map", "DOT": "selftest.dot", "STATE": "selftest.map_state"}


@dataclass(frozen=True, slots=True)
class Attack:
    """One row: what is handed in, and the verdicts that it may get."""

    id: str
    file: Path
    contract: str
    launch: str
    verdicts: frozenset[str]

    @property
    def exercise(self) -> Exercise:
        """The exercise that the kernel claims to answer."""
        return exercise(CONTRACTS[self.contract])

    @property
    def text(self) -> str:
        """The kernel with every character that stands in its file."""
        return self.file.read_bytes().decode()

    def literal(self) -> dict[str, object] | None:
        """The launch literal of `grid=(…) block=256 smem=…`; None for `default`."""
        if self.launch == "default":
            return None
        names = {"grid": "grid", "block": "block", "smem": "shared_bytes"}
        return {names[key]: _part(value) for key, value in PART.findall(self.launch)}

    def submission(self) -> Submission | Unreadable:
        """What a reader makes of the attack."""
        return submit(self.exercise, self.text, self.literal())


def _part(text: str) -> object:
    if re.fullmatch(r"\(-?\d+(,-?\d+)*\)", text):
        return tuple(int(number) for number in text.strip("()").split(","))
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _verdicts(row: dict[str, str]) -> frozenset[str]:
    words = set().union(*(WORDS[word] for word in row["expected"].split("|")))
    return frozenset(words | ALSO.get(row["id"], set()))


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _given(row: dict[str, str]) -> Attack:
    contract = "STATE" if "allow_device_globals" in row["lesson_flags"] else row["contract"]
    return Attack(row["id"], HERE / row["file"], contract, row["launch"], _verdicts(row))


def _own(row: dict[str, str]) -> Attack:
    return Attack(row["id"], HERE / "own" / f"{row['id']}.cu", row["contract"], row["launch"], _verdicts(row))


ATTACKS = {a.id: a for a in (*map(_given, _rows("attacks.tsv")), *map(_own, _rows("own_attacks.tsv")))}
