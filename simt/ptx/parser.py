"""PTX text → `Module`: directives, variables and function headers; `body` reads the statements.

The bodies are read last, since the strings that `.loc` refers to stand at the end of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from simt.ptx.body import Shared, read_body
from simt.ptx.declarations import declaration, variables
from simt.ptx.lexer import MAX_TEXT_BYTES, PtxSyntaxError, strip_comments
from simt.ptx.operands import Budget
from simt.ptx.reach import mentioned
from simt.ptx.strings import DebugStrings
from simt.ptx.syntax import Function, Module, Variable
from simt.ptx.types import PtxType

__all__ = ["PtxSyntaxError", "parse"]

_SPACE = re.compile(r"\s*+")
_LINKAGE = re.compile(r"\s*+\.(visible|extern|weak|common)\b")
_WORD = re.compile(r"\s*+\.(\w++)")
_VERSION = re.compile(r"\s++(\d{1,3})\.(\d{1,3})")
_TARGET = re.compile(r"\s++(\w++)(?:\s*+,\s*+\w++)*+")
_NUMBER = re.compile(r"\s++(\d{1,9})")
_FILE = re.compile(r'\s++(\d{1,9})\s++"([^"\n]*+)"(?:\s*+,\s*+\d++)*+')
_SECTION = re.compile(r"\s++([\w.]++)\s*+\{([^{}]*+)\}")
_TO_SEMICOLON = re.compile(r'((?:[^;"]|"[^"\n]*+")*+);')
_LINE = re.compile(r"[^\n]*+")
_ALIAS = re.compile(r"\s++([\w$%]++)\s*+,\s*+([\w$%]++)\s*+;")
_LIST = re.compile(r"\s*+\(([^()]*+(?:\([^()]*+\)[^()]*+)*+)\)")
_ATTRIBUTE = re.compile(r"\s*+\.attribute\s*+\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)")
_NAME = re.compile(r"\s*+([A-Za-z_$%][\w$]*+)")
_DIRECTIVE = re.compile(
    r"\s*+\.(\w++)(?:\s*+\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|\s++(\d{1,9}+(?:\s*+,\s*+\d{1,9}+)*+)|\s*+\"[^\"\n]*+\"\s*+;)?"
)
_BRACE = re.compile(r'[{}]|"[^"\n]*+"')
# PTX ISA, "Performance-Tuning Directives" and "Cluster Dimension Directives".
_DIRECTIVES = frozenset(
    [
        "maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "noreturn", "pragma", "abi_preserve",
        "abi_preserve_control", "reqnctapercluster", "explicitcluster", "maxclusterrank", "blocksareclusters",
        "attribute", "unique",
    ]
)  # fmt: skip
_THREE = frozenset(["maxntid", "reqntid", "reqnctapercluster"])


@dataclass(frozen=True, slots=True)
class _Header:
    """A function whose body is still text: `span` lies between the braces, None for a declaration."""

    function: Function
    span: tuple[int, int] | None
    body_line: int


class _Reader:
    """State of one file: the position, its line, and what was found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.version = (0, 0)
        self.target = ""
        self.address_bits = 32  # PTX ISA, ".address_size": the default
        self.files: dict[int, str] = {}
        self.variables: dict[str, Variable] = {}
        self.headers: dict[str, _Header] = {}
        self.aliases: dict[str, str] = {}
        self.strings = ""
        self._line, self._counted = 1, 0

    @property
    def line(self) -> int:
        if self.position > self._counted:
            self._line += self.text.count("\n", self._counted, self.position)
            self._counted = self.position
        return self._line

    def error(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(message, self.line)

    def take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise self.error(f"{what} expected, got `{self._ahead()}`")
        self.position = match.end()
        return match

    def _ahead(self) -> str:
        return self.text[self.position : self.position + 40].strip().split("\n")[0]

    def read(self) -> None:
        text, end = self.text, len(self.text)
        while True:
            self.position = _SPACE.match(text, self.position).end()  # type: ignore[union-attr]
            if self.position == end:
                return
            if text[self.position] == ";":  # clang and NVRTC end a declaration on a line of its own
                self.position += 1
                continue
            self.statement()

    def statement(self) -> None:
        start, linkage = self.position, set()
        while match := _LINKAGE.match(self.text, self.position):
            linkage.add(match[1])
            self.position = match.end()
        before = self.position
        word = self.take(_WORD, "a directive")[1]
        if word in ("entry", "func"):
            self.function(word == "entry")
        elif word in ("global", "const", "shared", "local", "param", "tex"):
            self.position = before
            self.variable(extern="extern" in linkage)
        elif linkage:
            self.position = start
            raise self.error(f"a function or variable expected, got `{self._ahead()}`")
        else:
            self.directive(word)

    def directive(self, word: str) -> None:
        if word == "version":
            match = self.take(_VERSION, "a version")
            self.version = (int(match[1]), int(match[2]))
        elif word == "target":
            self.target = self.take(_TARGET, "a target")[1]
        elif word == "address_size":
            self.address_bits = int(self.take(_NUMBER, "32 or 64")[1])
        elif word == "file":
            match = self.take(_FILE, "a number and a path")
            self.files[int(match[1])] = match[2]
        elif word == "section":
            match = self.take(_SECTION, "a section in braces")
            if match[1] == ".debug_str":
                self.strings = match[2]
        elif word == "alias":
            match = self.take(_ALIAS, "two names")
            self.aliases[match[1]] = match[2]
        elif word == "pragma":
            self.take(_TO_SEMICOLON, "a string and ';'")
        elif word == "loc":
            self.take(_LINE, "a location")
        else:
            raise self.error(f"`.{word}` is unknown outside a function")

    def variable(self, *, extern: bool) -> None:
        line = self.line
        text = self.take(_TO_SEMICOLON, "';' after a declaration")[1]
        for found in variables(declaration(text, line), line, extern=extern):
            known = self.variables.get(found.name)
            if known is not None and not known.extern and not extern:
                raise PtxSyntaxError(f"variable `{found.name}` is defined twice", line)
            if known is None or known.extern:
                self.variables[found.name] = found

    def function(self, is_entry: bool) -> None:
        line = self.line
        registers: dict[str, PtxType] = {}
        match = _ATTRIBUTE.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        match = _LIST.match(self.text, self.position)
        returns: tuple[Variable, ...] = ()
        if match is not None:
            self.position = match.end()
            returns = self.parameters(match[1], registers)
        name = self.take(_NAME, "a function's name")[1]
        params: tuple[Variable, ...] = ()
        match = _LIST.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            params = self.parameters(match[1], registers)
        directives = self.performance()
        function = Function(name, is_entry, params, returns, registers, (), None, directives, ptx_line=line)
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        opener = self.text[self.position : self.position + 1]
        known = self.headers.get(name)
        if opener == ";":
            self.position += 1
            if known is None:
                self.headers[name] = _Header(function, None, line)
        elif opener != "{":
            raise self.error(f"'{{' or ';' expected after function `{name}`, got `{self._ahead()}`")
        elif known is not None and known.span is not None:
            raise self.error(f"function `{name}` is defined twice")
        else:
            line = self.line
            self.headers[name] = _Header(function, self.braces(), line)

    def braces(self) -> tuple[int, int]:
        """The span between the brace that opens here and the one that closes it; moves past both."""
        depth, start = 0, self.position + 1
        for match in _BRACE.finditer(self.text, self.position):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if not depth:
                    self.position = match.end()
                    return start, match.start()
        raise self.error("'{' without '}'")

    def parameters(self, text: str, registers: dict[str, PtxType]) -> tuple[Variable, ...]:
        line, found = self.line, []
        if not text.strip():
            return ()
        for item in text.split(","):
            part = declaration(item, line)
            found += variables(part, line)
            if part.space == "reg":
                registers[found[-1].name] = part.type
        names = [variable.name for variable in found if variable.name != "_"]
        if len(set(names)) != len(names):
            raise self.error("two parameters have one name")
        return tuple(found)

    def performance(self) -> dict[str, tuple[int, ...]]:
        directives: dict[str, tuple[int, ...]] = {}
        while match := _DIRECTIVE.match(self.text, self.position):
            name, numbers = match.groups()
            if name not in _DIRECTIVES:
                raise self.error(f"`.{name}` is no directive of a function that is known")
            self.position = match.end()
            if name in ("pragma", "attribute"):
                continue
            values = tuple([int(number) for number in numbers.split(",")]) if numbers else ()
            if name in _THREE:
                values = (*values, 1, 1)[: max(3, len(values))]
            directives[name] = values
        return directives


def parse(text: str, roots: Iterable[str] | None = None) -> Module:
    """The module that `text` writes; raises `PtxSyntaxError`.

    With `roots`, only those functions and what they reach are read (headers of libcu++ bring 70 KB that no kernel
    calls); other functions are left out of the result. A name that the file doesn't define is passed over.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise PtxSyntaxError(f"the file has {len(text)} characters; at most {MAX_TEXT_BYTES} are read", 1)
    if "\0" in text:
        raise PtxSyntaxError("the file holds a NUL character", text.count("\n", 0, text.index("\0")) + 1)
    reader = _Reader(strip_comments(text))
    reader.read()
    functions = dict(_functions(reader, None if roots is None else list(roots)))
    for alias, name in reader.aliases.items():
        if name in functions:
            functions[alias] = replace(functions[name], name=alias)
    return Module(reader.version, reader.target, reader.address_bits, reader.files, reader.variables, functions)


def _functions(reader: _Reader, roots: list[str] | None) -> Iterator[tuple[str, Function]]:
    """Every function, or those that `roots` reach, in the order of the file."""
    # Every register that is used stands in the text; a few more may be declared.
    shared = Shared(DebugStrings(reader.strings), Budget(len(reader.text) + 4096))
    if roots is None:
        for name, header in reader.headers.items():
            yield name, _function(reader.text, header, shared)
        return
    found: dict[str, Function] = {}
    pending, seen = list(roots), set(roots)
    while pending:
        name = pending.pop()
        used: Iterable[str] = ()
        if name in reader.aliases:
            used = [reader.aliases[name]]
        elif name in reader.headers:
            found[name] = function = _function(reader.text, reader.headers[name], shared)
            used = mentioned(function)
        elif name in reader.variables:
            used = [symbol for _, symbol, _ in reader.variables[name].relocations]
        new = set(used) - seen
        seen |= new
        pending += new
    for name in reader.headers:
        if name in found:
            yield name, found[name]


def _function(text: str, header: _Header, shared: Shared) -> Function:
    function = header.function
    if header.span is None:
        return function
    names = [row.name for row in (*function.returns, *function.params) if row.name != "_"]
    body = read_body(text, header.span, header.body_line, function.registers, names, shared)
    return replace(
        function,
        registers=body.registers,
        variables=tuple(body.variables),
        body=tuple(body.code),
        branch_targets=body.branch_targets,
        prototypes=body.prototypes,
    )
