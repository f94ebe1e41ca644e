"""Which answers of a class share more text than chance and the starter explain: a hint to look, never a verdict.

Winnowing over tokens (Schleimer, Wilkerson, Aiken: "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003):
names, numbers, comments and layout don't matter, a run of `GUARANTEED` equal tokens is always found, one shorter than
`NOISE` never is. What stands in the released starter, or in more than `COMMON` answers, is taken out first.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

__all__ = ["Pair", "fingerprints", "similar_pairs", "tokens"]

NOISE = 12  # tokens; shorter runs are idioms such as `blockIdx.x * blockDim.x + threadIdx.x`
GUARANTEED = 20  # tokens
WINDOW = GUARANTEED - NOISE + 1
COMMON = 10  # answers; what stands in more of them is how the exercise is solved. Moss's own default, its option -m
FEWEST = 4  # fingerprints of an answer's own; fewer say nothing about whose they are

# Words whose sameness says something: the language's and CUDA's own. Every other name is a name.
BUILT_IN = frozenset(
    """threadIdx blockIdx blockDim gridDim warpSize x y z __syncthreads __syncwarp __shfl_sync __shfl_down_sync
    __shfl_xor_sync __ballot_sync atomicAdd atomicMax atomicMin atomicCAS atomicExch fmaf min max""".split()
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one exercise.

    Attributes:
        share: of the smaller one's own fingerprints that the other has too, 0..1.
        shared: how many that are.
        is_same: the token sequences are equal, whatever the names in them.
    """

    exercise_id: str
    first: str
    second: str
    share: float
    shared: int
    is_same: bool


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


def similar_pairs(
    exercise_id: str,
    texts: Mapping[str, str],
    starter: str = "",
    at_least: float = 0.6,
    apart: Mapping[str, str] | None = None,
) -> list[Pair]:
    """Pairs of answers that share at least this much, the most similar first.

    Args:
        exercise_id: what they answer.
        texts: student → CUDA text.
        starter: released text, which everybody shares.
        at_least: share of the smaller one's own fingerprints.
        apart: student → group; members of one group hand in together and are not compared.
    """
    given = _all_grams(tokens(starter))
    sequences = {student: tokens(text) for student, text in texts.items()}
    marks = {student: fingerprints(sequence) - given for student, sequence in sequences.items()}
    counts = Counter(mark for found in marks.values() for mark in found)
    own = {student: {mark for mark in found if counts[mark] <= COMMON} for student, found in marks.items()}
    groups = apart or {}
    pairs = []
    for first, second in combinations(sorted(texts), 2):
        if groups.get(first) and groups.get(first) == groups.get(second):
            continue
        smaller = min(len(own[first]), len(own[second]))
        shared = len(own[first] & own[second])
        if smaller >= FEWEST and shared / smaller >= at_least:
            same = sequences[first] == sequences[second]
            pairs.append(Pair(exercise_id, first, second, round(shared / smaller, 4), shared, same))
    return sorted(pairs, key=lambda pair: (-pair.share, -pair.shared, pair.first, pair.second))


def _all_grams(sequence: Sequence[str]) -> frozenset[int]:
    """Every hash of the released text, chosen by a window or not: none of it is anybody's own."""
    return frozenset(_hash(sequence[start : start + NOISE]) for start in range(len(sequence) - NOISE + 1))
