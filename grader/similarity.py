"""Which answers of a class share more text than chance and the starter explain: a hint to look, never a verdict.

Winnowing over tokens (Schleimer, Wilkerson, Aiken: "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003):
names, numbers, comments and layout don't matter, a run of `GUARANTEED` equal tokens is always found, one shorter than
`NOISE` never is. What stands in the released starter is taken out first. Then a pair is found in either of two ways:

- by text that at most `COMMON` answers have, which a few people share;
- by text that up to half the class has, where so much of it is shared, the rarer the more, that chance and habit don't
  explain it: a dozen copies in a class of 300, or fifty.

What more than half of a class writes is how the exercise is solved there. Copies of that can't be told from solutions; many
answers that are equal throughout are named as a crowd all the same.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

__all__ = ["Comparison", "Crowd", "Pair", "compare", "fingerprints", "tokens"]

NOISE = 12  # tokens; shorter runs are idioms such as `blockIdx.x * blockDim.x + threadIdx.x`
GUARANTEED = 20  # tokens
WINDOW = GUARANTEED - NOISE + 1
COMMON = 10  # answers; text in more of them is no longer rare by itself. Moss's own default, its option -m
FEWEST = 4  # rare fingerprints that two answers share; fewer say nothing about whose they are
# Fingerprints that one difference in wording changes: all in the NOISE + WINDOW tokens around it, of which winnowing keeps
# 2 in WINDOW + 1 (the paper's density). So many of them come together and are worth one.
A_HABIT = round((NOISE + WINDOW) * 2 / (WINDOW + 1))

# Words whose sameness says something: the language's and CUDA's own. Every other name is a name.
BUILT_IN = frozenset(
    """threadIdx blockIdx blockDim gridDim warpSize x y z __syncthreads __syncwarp __shfl_sync __shfl_down_sync
    __shfl_xor_sync __ballot_sync atomicAdd atomicMax atomicMin atomicCAS atomicExch fmaf min max""".split()
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one exercise.

    Attributes:
        share: of the smaller one's own fingerprints that the other has too, 0..1; rarer ones weigh more.
        shared: how many the other has.
        is_same: the token sequences are equal, whatever the names in them.
    """

    exercise_id: str
    first: str
    second: str
    share: float
    shared: int
    is_same: bool


@dataclass(frozen=True, slots=True)
class Crowd:
    """Students whose answers are the same but for names, of how many; it may just be how the exercise is solved."""

    exercise_id: str
    students: tuple[str, ...]
    of: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers to one exercise, compared with each other."""

    pairs: tuple[Pair, ...]
    crowds: tuple[Crowd, ...]


def tokens(text: str) -> tuple[str, ...]:
    """The text's tokens in order, without comments and layout; names are `n`, numbers `0`, strings `s`."""
    from pygments.lexers.c_like import CudaLexer
    from pygments.token import Comment, Literal, Name, Text, Whitespace

    found: list[str] = []
    for kind, word in CudaLexer().get_tokens(text):
        if kind in Comment and kind not in Comment.Preproc or kind in Text or kind in Whitespace or not word.strip():
            continue
        if kind in Literal.String:
            # A string is several tokens to the lexer.
            if found[-1:] != ["s"]:
                found.append("s")
        elif kind in Literal:
            found.append("0")
        elif kind in Name and word not in BUILT_IN:
            found.append("n")
        else:
            found.append(word.strip())
    return tuple(found)


def fingerprints(sequence: Sequence[str]) -> frozenset[int]:
    """The winnowed hashes of a token sequence: of each window of `WINDOW` hashes the least, the rightmost among equals."""
    grams = [_hash(sequence[start : start + NOISE]) for start in range(len(sequence) - NOISE + 1)]
    if len(grams) <= WINDOW:
        return frozenset(grams[-1:] and [min(grams)])
    return frozenset(min(grams[start : start + WINDOW]) for start in range(len(grams) - WINDOW + 1))


def _hash(words: Iterable[str]) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest(), "big")


def compare(
    exercise_id: str,
    texts: Mapping[str, str],
    starter: str = "",
    at_least: float = 0.6,
    apart: Mapping[str, str] | None = None,
) -> Comparison:
    """The pairs of answers that share at least this much, the most similar first, and crowds of equal answers.

    Args:
        exercise_id: what they answer.
        texts: student → CUDA text.
        starter: released text, which everybody shares.
        at_least: share of the smaller one's own fingerprints.
        apart: student → group; members of one group hand in together and are not compared.
    """
    given = _all_grams(tokens(starter))
    sequences = {student: tokens(text) for student, text in sorted(texts.items())}
    marks = {student: fingerprints(sequence) - given for student, sequence in sequences.items()}
    counts = Counter(mark for found in marks.values() for mark in found)
    measures = (_rare_text(marks, counts), _evidence(marks, counts))
    groups = apart or {}
    pairs = []
    for first, second in combinations(sequences, 2):
        if groups.get(first) and groups.get(first) == groups.get(second):
            continue
        share, shared = max(measure.shared(first, second) for measure in measures)
        if shared and share >= at_least:
            same = sequences[first] == sequences[second]
            pairs.append(Pair(exercise_id, first, second, round(share, 4), shared, same))
    pairs.sort(key=lambda pair: (-pair.share, -pair.shared, pair.first, pair.second))
    return Comparison(tuple(pairs), tuple(_crowds(exercise_id, sequences, marks, pairs)))


class _Measure:
    """How much of a student's own text another one has, by the fingerprints that count and what each weighs."""

    def __init__(self, marks: Mapping[str, frozenset[int]], weights: Mapping[int, float], enough: float):
        self._weights, self._enough = weights, enough
        self._own = {student: found & weights.keys() for student, found in marks.items()}
        self._weight = {student: self._sum(found) for student, found in self._own.items()}

    def _sum(self, found: Iterable[int]) -> float:
        return math.fsum(self._weights[mark] for mark in found)

    def shared(self, first: str, second: str) -> tuple[float, int]:
        """(share of the smaller one's weight, fingerprints) that both have; zeros where it is too little to say anything."""
        smaller = min(self._weight[first], self._weight[second])
        if smaller < self._enough:
            return 0.0, 0
        both = self._own[first] & self._own[second]
        weight = self._sum(both)
        return (weight / smaller, len(both)) if weight >= self._enough else (0.0, 0)


def _rare_text(marks: Mapping[str, frozenset[int]], counts: Mapping[int, int]) -> _Measure:
    return _Measure(marks, {mark: 1.0 for mark, count in counts.items() if count <= COMMON}, FEWEST)


def _evidence(marks: Mapping[str, frozenset[int]], counts: Mapping[int, int]) -> _Measure:
    """In bits: each halving of those who have a fingerprint is one.

    A class of n has some n² pairs, so that 2 log2(n) bits come about by chance were fingerprints independent; they come
    by the habit.
    """
    n = len(marks)
    bits = {mark: math.log2(n / count) for mark, count in counts.items() if count <= n / 2}
    return _Measure(marks, bits, A_HABIT * 2 * math.log2(max(n, 2)))


def _crowds(
    exercise_id: str,
    sequences: Mapping[str, tuple[str, ...]],
    marks: Mapping[str, frozenset[int]],
    pairs: Sequence[Pair],
) -> Iterable[Crowd]:
    """More than `COMMON` equal answers of some length that are no pairs."""
    told = {name for pair in pairs if pair.is_same for name in (pair.first, pair.second)}
    equal: dict[tuple[str, ...], list[str]] = {}
    for student, sequence in sequences.items():
        equal.setdefault(sequence, []).append(student)
    for students in equal.values():
        if len(students) > COMMON and len(marks[students[0]]) >= FEWEST and students[0] not in told:
            yield Crowd(exercise_id, tuple(students), len(sequences))


def _all_grams(sequence: Sequence[str]) -> frozenset[int]:
    """Every hash of the released text, chosen by a window or not: none of it is anybody's own."""
    return frozenset(_hash(sequence[start : start + NOISE]) for start in range(len(sequence) - NOISE + 1))
