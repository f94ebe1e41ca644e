"""What CUDA text may contain before a compiler sees it: no way to read a file of the host, nothing that misleads.

The scan looks at the text as a compiler's early phases would (spliced lines, digraphs, comments between tokens), and
where it can't be sure whether something is a directive it takes it for one. It is the first of two fences: the
compiler runs in a jail that has no other files. `grader.ptx_policy` looks at what comes out.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from simt.diagnostics import Diagnostic, diagnose

__all__ = ["ALLOWED_HEADERS", "scan_source"]

# Headers by their exact names: NVRTC's own, the simulator's prelude, and CCCL's.
ALLOWED_HEADERS = frozenset(
    """
    assert.h cassert cfloat climits cmath cstddef cstdint cstdio float.h limits.h math.h stddef.h stdint.h stdio.h
    cuda.h cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h vector_types.h vector_functions.h
    cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_pipeline.h cuda_pipeline_primitives.h cuda_awbarrier.h
    cuda_awbarrier_primitives.h mma.h sm_30_intrinsics.h cooperative_groups.h cooperative_groups/memcpy_async.h
    cooperative_groups/reduce.h cooperative_groups/scan.h cuda/atomic cuda/barrier cuda/pipeline cuda/ptx cuda/cmath
    cuda/functional cuda/semaphore cuda/latch cuda/annotated_ptr cuda/access_property
    """.split()
)
ALLOWED_FAMILIES = re.compile(r"cuda/std/[a-z_0-9]+|cub/(?:block|warp|thread)/[a-z_0-9]+\.cuh|warpwise_[a-z_0-9]+\.h")
DIRECTIVES = frozenset(
    "define undef if ifdef ifndef elif elifdef elifndef else endif error warning pragma include".split()
)

# Unicode characters that change the order or the look of text: LRM, RLM, ALM, embeddings, overrides, isolates.
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PROBES = re.compile(r"\b\w*has_(?:include|embed)\w*|\b__has\w*\s*##", re.IGNORECASE)  # CCCL's _CCCL_HAS_INCLUDE too
TRIGRAPH = re.compile(r"\?\?[=/]")
HASH = re.compile(r"#|%:")
BLANK = " \t\v\f"
HALF_SPLICE = re.compile(r"\\[ \t\v\f]+\n")
# Joins words, by itself or through what CUDA's headers call _CCCL_PP_CAT, _CONCAT, _NV_PASTE5 and the like.
PASTE = re.compile(r"##|%:%:|\b(?:_|NVTX3_|THRUST_)\w*(?:CAT|PASTE|SPLICE|FRAGMENT|SWITCH)\w*")
CONDITION = re.compile(r"^[ \t\v\f]*(?:#|%:)[ \t\v\f]*(?:el)?if\b(.*)", re.MULTILINE)
DEFINITION = re.compile(r"^[ \t\v\f]*(?:#|%:)[ \t\v\f]*define[ \t\v\f]+(\w+)(.*)", re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*")
# A comment, a text or a character where none of them is in doubt, else what puts all of them in doubt: a quote inside a
# word or a number (R"(", 1'000, 1.'5), one that its line does not close, a comment without an end.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?<!\w)"(?:[^"\\\n]|\\[^\n])*"|(?<![\w.+\-])'(?:[^'\\\n]|\\[^\n])*'"""
    r"""|(?P<doubt>["']|/\*)""",
    re.DOTALL,
)
MAX_FINDINGS = 20  # of one text; a hostile one has thousands


def scan_source(text: str) -> tuple[Diagnostic, ...]:
    """Findings for what is not accepted in the canonical `text`, at most 20; empty when all is."""
    spliced = _Spliced.of(text)
    return tuple(
        islice(chain(_misleading(text), _misleading_once_spliced(spliced), _directives(spliced)), MAX_FINDINGS)
    )


def _misleading(text: str) -> Iterator[Diagnostic]:
    """What a reader would not see, in the text as it stands."""
    for match in BIDI.finditer(text):
        yield _finding(
            f"the text holds the invisible character U+{ord(match[0]):04X}, which makes it read differently from "
            "what it is",
            text.count("\n", 0, match.start()) + 1,
            "delete the line and type it anew",
        )
    for match in HALF_SPLICE.finditer(text):
        # NVRTC does not take it for a splice; other compilers do.
        line = text.count("\n", 0, match.start()) + 1
        yield _finding("a backslash with blanks behind it ends the line", line, "delete the blanks, or the backslash")


def _misleading_once_spliced(spliced: _Spliced) -> Iterator[Diagnostic]:
    text = spliced.text
    for match in TRIGRAPH.finditer(text):
        yield _finding(f"the trigraph {match[0]}", spliced.line(match.start()), "write the character itself")
    code = spliced.code
    for match in PROBES.finditer(code):
        yield _finding(
            f"`{match[0]}` asks which files the grading machine has",
            spliced.line(match.start()),
            "include what you need without asking",
        )
    if paste := PASTE.search(code):
        joining = _joining_macros(code) if spliced.is_plain else frozenset()
        for condition in CONDITION.finditer(code):
            # Joined words may become `__has_include`, which NVRTC then answers.
            words = condition[1]
            if not spliced.is_plain or PASTE.search(words) or not joining.isdisjoint(NAME.findall(words)):
                yield _finding(
                    f"an #if beside `{paste[0]}`, which can join any word for it to ask about",
                    spliced.line(condition.start(1)),
                    "use #ifdef, or write the words out",
                )


def _joining_macros(code: str) -> frozenset[str]:
    """Macros that come to joined words, by themselves or through others."""
    users: dict[str, set[str]] = {}
    pending = []
    for name, body in DEFINITION.findall(code):
        if PASTE.search(body):
            pending.append(name)
        for used in NAME.findall(body):
            users.setdefault(used, set()).add(name)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += users.get(name, ())
    return frozenset(found)


def _finding(message: str, line: int, help: str) -> Diagnostic:
    return diagnose("source.policy", message, line=line, help=help)


@dataclass(frozen=True, slots=True)
class _Spliced:
    """Text whose lines ended in a backslash are joined.

    Attributes:
        text: the joined text.
        code: the same with blanks for comments, line breaks kept, if it is plain; else the text itself.
        is_plain: no comment, text or character in it can be taken for something else.
        joints: where lines were joined.
        heads: the first character of each line that is no blank.
        comment_ends: just behind each `*/`.
    """

    text: str
    code: str
    is_plain: bool
    joints: tuple[int, ...]
    heads: tuple[int, ...]
    comment_ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Spliced:
        parts = re.split(r"\\[ \t\v\f]*\n", text)
        joints, position = [], 0
        for part in parts[:-1]:
            position += len(part)
            joints.append(position)
        joined = "".join(parts)
        blanked = _without_comments(joined)
        code = joined if blanked is None else blanked
        heads = tuple(match.end() for match in re.finditer(r"^[ \t\v\f]*", code, re.MULTILINE))
        ends = tuple(match.end() for match in re.finditer(r"\*/", code))
        return cls(joined, code, blanked is not None, tuple(joints), heads, ends)

    def may_begin_directive(self, position: int) -> bool:
        """Whether only blanks stand before `position` in its line, or the end of a comment does.

        After `*/` the line may have begun inside a comment: what looks like `// */ #` can be a directive.
        """
        line = bisect.bisect_right(self.heads, position) - 1
        head, comment = self.heads[line], bisect.bisect_right(self.comment_ends, position)
        return position == head or (comment > 0 and self.comment_ends[comment - 1] > head)

    def line(self, position: int) -> int:
        """1-based line in the original text."""
        return self.text.count("\n", 0, position) + bisect.bisect_right(self.joints, position) + 1

    def skip_blank(self, position: int) -> int:
        """Past blanks and `/* */` comments, which may span lines."""
        text = self.code
        while position < len(text):
            if text[position] in BLANK:
                position += 1
            elif text.startswith("/*", position):
                end = text.find("*/", position + 2)
                position = len(text) if end < 0 else end + 2
            else:
                break
        return position


def _without_comments(text: str) -> str | None:
    """`text` with blanks for its comments, or None where compilers might not agree on what a comment is."""
    parts, position = [], 0
    for match in TOKEN.finditer(text):
        if match["doubt"]:
            return None
        if comment := match["comment"]:
            # A directive goes on behind it, and what an #error or an #include says need not be read as words.
            if "\n" in comment and HASH.search(text, text.rfind("\n", 0, match.start()) + 1, match.start()):
                return None
            parts += [text[position : match.start()], re.sub(r"[^\n]", " ", comment)]
            position = match.end()
    return "".join([*parts, text[position:]])


def _directives(spliced: _Spliced) -> Iterator[Diagnostic]:
    for match in HASH.finditer(spliced.code):
        if spliced.may_begin_directive(match.start()):
            if finding := _directive(spliced, match):
                yield finding


def _directive(spliced: _Spliced, mark: re.Match[str]) -> Diagnostic | None:
    text, line = spliced.code, spliced.line(mark.start())
    start = spliced.skip_blank(mark.end())
    word = re.compile(r"[A-Za-z_]\w*").match(text, start)
    if word is None:
        if start >= len(text) or text[start] == "\n" or text.startswith("//", start):
            return None
        return _finding(
            "a directive that changes the file's name or its line numbers",
            line,
            "delete it: messages need the real lines",
        )
    if word[0] not in DIRECTIVES:
        what = "changes the line numbers" if word[0] == "line" else "is not accepted"
        return _finding(f"the directive #{word[0]} {what}", line, "delete it")
    return _include(spliced, word.end(), line) if word[0] == "include" else None


HEADER = re.compile(r'<([^<>"\n]*)>|"([^<>"\n]*)"')


def _include(spliced: _Spliced, position: int, line: int) -> Diagnostic | None:
    header = HEADER.match(spliced.code, spliced.skip_blank(position))
    if header is None:
        return _finding(
            "an #include whose file is not written out", line, "write the header's name: #include <cuda_fp16.h>"
        )
    name = header[1] if header[1] is not None else header[2]
    if name in ALLOWED_HEADERS or ALLOWED_FAMILIES.fullmatch(name):
        return None
    import difflib

    near = difflib.get_close_matches(name, ALLOWED_HEADERS, n=1, cutoff=0.7)
    hint = f"did you mean <{near[0]}>?" if near else "kernels here need no other headers than CUDA's own; delete it"
    if name.startswith("curand"):
        hint = "cuRAND is not installed here; mix a seed and the thread's index by multiplications, shifts and ^"
    return _finding(f"#include of {name[:60]!r}, which is not a header that is accepted", line, hint)
