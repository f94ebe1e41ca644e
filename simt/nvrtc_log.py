"""Reading a compiler log: errors and warnings with the student's line, registers and spills of each kernel."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.kernel_names import kernel_line
from simt.nvrtc_hints import hint

__all__ = ["KernelResources", "LogReader", "clean_text", "read_resources"]

MOST_LOG_CHARACTERS = 8 * 1024
MOST_LINE_CHARACTERS = 2000
MOST_FINDINGS = 20

MESSAGE = re.compile(
    r"^(?P<file>[^\n]+?)\((?P<line>\d+)\): "
    r"(?:catastrophic )?(?P<kind>error|warning)(?: #(?P<number>\d+)-D)?: (?P<text>.+)$"
)
BARE_MESSAGE = re.compile(r"^(?:At end of source|nvrtc): (?P<kind>error|warning)(?: #\d+-D)?: (?P<text>.+)$")
ASSEMBLER = re.compile(
    r"^ptxas(?: application ptx input, line (?P<line>\d+);)?\s*(?P<kind>error|fatal|warning)\s*: (?P<text>.+)$"
)
# Complaints about a name expression stand in a text of NVRTC's own; a second one follows that adds nothing.
NAME_MAP = "__nv_name_map"
NAME_EXPRESSION = re.compile(
    rf"^{NAME_MAP}\(\d+\): error: (?P<text>(?!Error in parsing name expression).+)\n"
    r"\s*#pragma nv_mangled_name (?P<name>.+)$"
)
STATISTICS = re.compile(
    r"^(?:Remark: The warnings can be suppressed|ptxas info\s*:|ptxas\s+\.|\s+\d+ bytes stack frame)"
)
ASSEMBLER_ECHO = "Ptx assembly aborted due to errors"
CARET = re.compile(r"^\s*\^\s*$")
AT_LINE = re.compile(r"at line (\d+)(?: of (?P<file>.+?))?$")
UNUSED = frozenset(["177", "550"])  # "declared but never referenced", "set but never used": untidy, no fault
UNINITIALISED = "549"  # "variable ... is used before its value is set"

ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
PROPERTIES = re.compile(r"Function properties for (\S+)")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")
LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What the assembler gave one kernel; bytes of spills and stack are per thread, shared bytes per block."""

    registers: int
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    static_shared_bytes: int = 0
    constant_bytes: int = 0


def read_resources(log: str) -> dict[str, KernelResources]:
    """Resources of every kernel that the log's `ptxas info` lines describe, by name in the PTX."""
    found: dict[str, KernelResources] = {}
    stacks: dict[str, tuple[int, ...]] = {}
    entry = function = ""
    for line in log.splitlines():
        if match := ENTRY.search(line):
            entry = match[1]
        elif match := PROPERTIES.search(line):
            function = match[1]
        elif match := STACK.search(line):
            stacks[function] = tuple(int(number) for number in match.groups())
        elif match := USED.search(line):
            found[entry] = KernelResources(
                registers=int(match[1]),
                static_shared_bytes=sum(int(size) for size in SHARED.findall(line)),
                constant_bytes=sum(int(size) for size in CONSTANT.findall(line)),
            )
    return {
        name: replace(row, stack_bytes=stack, spill_store_bytes=stores, spill_load_bytes=loads)
        for name, row in found.items()
        for stack, stores, loads in (stacks.get(name, (0, 0, 0)),)
    }


@dataclass(frozen=True, slots=True)
class LogMessage:
    """One error or warning: its line in the student's text (None when elsewhere), kind, number and text."""

    line: int | None
    kind: str
    number: str
    text: str


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads the logs of one source text.

    Attributes:
        source: the student's text.
        file_name: its name in the log.
        folders: paths that are cut from file names in the log.
    """

    source: str
    file_name: str
    folders: tuple[str, ...] = ()

    def text(self, log: str) -> str:
        """The log for a student to read: no assembler statistics, no local paths, printable, at most 8 KiB."""
        kept = "\n".join(self._own_lines(log))
        for folder in sorted(self.folders, key=len, reverse=True):
            kept = kept.replace(folder + "/", "")
        return clean_text(kept.strip())

    def _own_lines(self, log: str) -> Iterator[str]:
        """Lines of the log but for statistics and for warnings about a header, which a student cannot change."""
        skipping = False
        for line in log.splitlines():
            match = MESSAGE.match(line[:MOST_LINE_CHARACTERS])
            if match:
                skipping = self._is_foreign_warning(match)
            if not skipping and not STATISTICS.match(line):
                yield line
            skipping = skipping and bool(line.strip())

    def _is_foreign_warning(self, match: re.Match[str]) -> bool:
        return match["file"] == NAME_MAP or (match["kind"] == "warning" and match["file"] != self.file_name)

    def findings(self, log: str, ptx: str = "") -> tuple[Diagnostic, ...]:
        """Errors first, then warnings, each with its line; `ptx` translates the assembler's lines."""
        messages = list(dict.fromkeys(self._messages(log, ptx)))
        wanted = [message for message in self._without_echoes(messages) if message.number not in UNUSED]
        found = [self._finding(message) for message in wanted]
        found.sort(key=lambda finding: finding.severity is not Severity.ERROR)
        return tuple(found[:MOST_FINDINGS])

    def _messages(self, log: str, ptx: str) -> Iterator[LogMessage]:
        lines = [line[:MOST_LINE_CHARACTERS] for line in log.splitlines()]
        for index, line in enumerate(lines):
            if match := NAME_EXPRESSION.match("\n".join(lines[index : index + 2])):
                line_of_kernel = kernel_line(self.source, match["name"].partition("<")[0].strip())
                yield LogMessage(line_of_kernel, "error", "", f"`{match['name']}`: {match['text']}")
            elif (match := MESSAGE.match(line)) and not self._is_foreign_warning(match):
                details = list(self._details(lines[index + 1 :]))
                text = " ".join([match["text"], *(part.strip() for part in details if not AT_LINE.search(part))])
                yield LogMessage(self._line(match, details), match["kind"], match["number"] or "", text)
            elif match := BARE_MESSAGE.match(line):
                yield LogMessage(None, match["kind"], "", match["text"])
            elif (match := ASSEMBLER.match(line)) and ASSEMBLER_ECHO not in line:
                kind = "warning" if match["kind"] == "warning" else "error"
                place = self._ptx_line(ptx, int(match["line"])) if match["line"] else None
                yield LogMessage(place, kind, "ptxas", match["text"].strip())

    def _details(self, following: list[str]) -> Iterator[str]:
        """Continuation lines of a message, without the source excerpt and its caret."""
        for index, line in enumerate(following):
            if not line.startswith("  ") or MESSAGE.match(line):
                return
            is_excerpt = index + 1 < len(following) and CARET.match(following[index + 1])
            if not is_excerpt and not CARET.match(line) and line.strip() != "detected during:":
                yield line

    def _line(self, match: re.Match[str], details: list[str]) -> int | None:
        """The message's line; for one inside a header, the line of the student's text that led there."""
        if match["file"] == self.file_name:
            return self._existing(int(match["line"]))
        for detail in reversed(details):
            place = AT_LINE.search(detail)
            if place and (place["file"] is None or place["file"].strip() == self.file_name):
                return self._existing(int(place[1]))
        return None

    def _existing(self, line: int) -> int | None:
        return line if 1 <= line <= self.source.count("\n") + 1 else None

    def _ptx_line(self, ptx: str, line: int) -> int | None:
        """The student's line of a line of PTX: that of the `.loc` above it."""
        files = re.findall(r'^\s*\.file\s+(\d+)\s+"(?:[^"]*/)?([^"/]+)"', ptx, re.MULTILINE)
        own = {number for number, name in files if name == self.file_name}
        for text in reversed(ptx.splitlines()[:line]):
            place = LOCATION.match(text)
            if place:
                return self._existing(int(place[2])) if place[1] in own else None
        return None

    def _without_echoes(self, messages: Iterable[LogMessage]) -> Iterator[LogMessage]:
        """Drops what follows from an unknown type in a kernel's parameters, and names that type.

        NVRTC then first reports the attribute and an "incomplete type", which say nothing of the cause; with a name
        expression, or in older versions, the undefined identifier is not reported at all.
        """
        messages = list(messages)
        broken = {m.line for m in messages if 'attribute "__global__" does not apply here' in m.text and m.line}
        for line in sorted(broken):
            named = [m for m in messages if m.line == line and UNDEFINED.match(m.text)]
            yield named[0] if named else self._unknown_type(line)
        for message in messages:
            if message.line not in broken and not (broken and message.line is None):
                yield message

    def _unknown_type(self, line: int) -> LogMessage:
        """What NVRTC would have said of the first type in the kernel's parameters that nothing declares."""
        declaration = self.source.split("\n", line - 1)[-1].partition("{")[0]
        parameters = declaration.partition("__global__")[2].partition("(")[2]
        for parameter in parameters.split(","):
            words = [word for word in re.findall(r"[A-Za-z_]\w*", parameter) if word not in KNOWN_WORDS]
            kind = words[0] if len(words) > 1 else ""
            if kind and not _declares(self.source, kind):
                return LogMessage(line, "error", "", f'identifier "{kind}" is undefined')
        return LogMessage(line, "error", "", "the type of a parameter of this kernel is unknown")

    def _finding(self, message: LogMessage) -> Diagnostic:
        check = "compile.error"
        if message.kind == "warning":
            check = "compile.uninitialised" if message.number == UNINITIALISED else "compile.warning"
        text = message.text
        for folder in self.folders:
            text = text.replace(folder + "/", "")
        return diagnose(check, clean_text(text)[:1000], line=message.line, help=hint(text, self.source))


UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
KNOWN_WORDS = frozenset(
    "const volatile restrict __restrict__ unsigned signed char short int long float double bool void struct class "
    "float2 float3 float4 double2 int2 int3 int4 uint2 uint3 uint4 uchar4 dim3 size_t wchar_t auto "
    "__grid_constant__".split()
)


def _declares(source: str, word: str) -> bool:
    """True when `source` introduces `word` as a type or a template parameter."""
    name = re.escape(word)
    return bool(
        re.search(
            rf"\b(?:struct|class|union|enum|typename|using)\s+{name}\b|typedef\b[^;]{{0,500}}\b{name}\s*;", source
        )
    )


def clean_text(text: str) -> str:
    """`text` without control and direction characters, cut to 8 KiB."""
    hidden = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    kept = "".join(c for c in text[: 8 * MOST_LOG_CHARACTERS] if c in "\n\t" or unicodedata.category(c) not in hidden)
    data = kept.encode()
    if len(data) <= MOST_LOG_CHARACTERS:
        return kept
    return data[: MOST_LOG_CHARACTERS - 32].decode(errors="ignore") + "\n... (cut at 8 KiB)"
