"""Control flow of one function: basic blocks in running order, post-dominators, control dependence, loops.

A block's index is its rank: the pending block of lowest index is the one to run, and lanes that parted meet again.
What instructions mean is left to `simt.isa`; which registers they touch to `simt.ptx.usedef`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simt.ptx.graph import Nest, dominators, rank
from simt.ptx.lexer import PtxSyntaxError
from simt.ptx.syntax import Function, Instruction, Label, Symbol

__all__ = ["Block", "Cfg", "Loop", "build", "controllers"]

# n ways to continue a loop make n * n / 2 of them; a large kernel of a lesson has some hundred.
MAX_DEPENDENCES = 1 << 20

Predicate = Callable[[Instruction], bool]

_LEAVING = frozenset(["ret", "exit"])
_ENDING = frozenset(["bra", "brx", *_LEAVING])


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after the other.

    `instructions` end with the terminator (`bra`, `brx.idx`, `ret`, `exit`), which is None where a block just runs into
    the next. `targets` are what the terminator jumps to, as `brx.idx` lists them; `fall_through` is the block after it
    in the text, when it can be reached. `leaves` says that lanes may leave the function here: `ret`, `exit`, or the
    end of the text.
    """

    index: int
    labels: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    terminator: Instruction | None
    targets: tuple[int, ...]
    fall_through: int | None
    leaves: bool
    predecessors: tuple[int, ...] = ()

    @property
    def label(self) -> str | None:
        return self.labels[0] if self.labels else None

    @property
    def successors(self) -> tuple[int, ...]:
        """Where lanes may go next, each block once: jump targets, then the fall-through."""
        ahead = self.targets if self.fall_through is None else (*self.targets, self.fall_through)
        return tuple(dict.fromkeys(ahead))

    @property
    def straight(self) -> tuple[Instruction, ...]:
        """The instructions without the terminator."""
        return self.instructions if self.terminator is None else self.instructions[:-1]

    @property
    def branches(self) -> bool:
        """Whether lanes may part here, also when some leave the function."""
        return len(self.successors) + self.leaves > 1


@dataclass(frozen=True, slots=True)
class Loop:
    """A cycle of blocks, inner ones included. `parent` is an index into `Cfg.loops`.

    An irreducible loop is entered at several blocks; its header is then only the first that the text reaches.
    """

    header: int
    blocks: frozenset[int]
    parent: int | None
    depth: int
    irreducible: bool


@dataclass(frozen=True, slots=True)
class Cfg:
    """The control flow of a function; block 0 is its entry and `exit` (one past the last) stands for leaving it.

    `post_dominator[b]` is the nearest block that every lane of `b` reaches later, or `exit`; `dominator[b]` the nearest
    that every lane passed before (0 for the entry). `control_dependence[b]` are the blocks whose branch decides whether
    `b` runs. `loop_of[b]` is the innermost loop's index in `loops`, or None.
    """

    function: Function
    blocks: tuple[Block, ...]
    labels: dict[str, int]
    dominator: tuple[int, ...]
    post_dominator: tuple[int, ...]
    control_dependence: tuple[frozenset[int], ...]
    loops: tuple[Loop, ...]
    loop_of: tuple[int | None, ...]

    @property
    def exit(self) -> int:
        return len(self.blocks)


def build(function: Function, *, split_before: Predicate | None = None, split_after: Predicate | None = None) -> Cfg:
    """The control flow of `function`; blocks that nothing reaches are dropped.

    A call or a barrier ends no block by itself: `split_before` and `split_after` say of an instruction whether a block
    begins at it or ends with it.

    Raises:
        PtxSyntaxError: a jump to a label that isn't declared, loops nested beyond `graph.MAX_LOOP_DEPTH`, or more than
            `MAX_DEPENDENCES` control dependences.
        ValueError: the function has no body.
    """
    if function.body is None:
        raise ValueError(f"function `{function.name}` is only declared")
    blocks = _linked(_cut(function, split_before, split_after), function)
    try:
        order, nests = rank([block.successors for block in blocks], 0)
        new = {old: index for index, old in enumerate(order)}
        ranked = _renumbered(blocks, order, new)
        post_dominator = _post_dominators(ranked)
        dependence = _control_dependence(ranked, post_dominator)
    except (RecursionError, OverflowError) as error:
        raise PtxSyntaxError(f"function `{function.name}`: {error}", function.ptx_line) from None
    loops, loop_of = _loops(nests, new)
    return Cfg(
        function=function,
        blocks=ranked,
        labels={label: block.index for block in ranked for label in block.labels},
        dominator=tuple(dominators([block.successors for block in ranked], 0)),
        post_dominator=post_dominator,
        control_dependence=dependence,
        loops=loops,
        loop_of=loop_of,
    )


def controllers(cfg: Cfg, block: int) -> frozenset[int]:
    """Every block whose branch decides, directly or through others, whether `block` runs."""
    found: set[int] = set()
    pending = [block]
    while pending:
        above = cfg.control_dependence[pending.pop()] - found
        found |= above
        pending += above
    return frozenset(found)


def _cut(
    function: Function, before: Predicate | None, after: Predicate | None
) -> list[tuple[list[str], list[Instruction]]]:
    """Labels and instructions of each stretch, in the order of the text."""
    parts: list[tuple[list[str], list[Instruction]]] = [([], [])]
    ended = False
    for item in function.body or ():
        current = parts[-1]
        if isinstance(item, Label):
            if current[1]:
                current = ([], [])
                parts.append(current)
            current[0].append(item.name)
            ended = False
            continue
        if ended or (current[1] and before is not None and before(item)):
            current = ([], [])
            parts.append(current)
        current[1].append(item)
        ended = item.name in _ENDING or (after is not None and after(item))
    return parts


def _linked(parts: list[tuple[list[str], list[Instruction]]], function: Function) -> list[Block]:
    """The stretches with their jumps resolved; indices count in the order of the text."""
    at = {label: index for index, (labels, _) in enumerate(parts) for label in labels}
    blocks = []
    for index, (labels, instructions) in enumerate(parts):
        last = instructions[-1] if instructions else None
        terminator = last if last is not None and last.name in _ENDING else None
        falls = terminator is None or terminator.guard is not None
        has_next = index + 1 < len(parts)
        leaves = (falls and not has_next) or (terminator is not None and terminator.name in _LEAVING)
        targets = () if terminator is None else _targets(terminator, at, function)
        ahead = index + 1 if falls and has_next else None
        blocks.append(Block(index, tuple(labels), tuple(instructions), terminator, targets, ahead, leaves))
    return blocks


def _targets(jump: Instruction, at: dict[str, int], function: Function) -> tuple[int, ...]:
    if jump.name in _LEAVING:
        return ()
    names: tuple[str, ...]
    if jump.name == "bra":
        operand = jump.operands[0] if jump.operands else None
        names = (operand.name,) if isinstance(operand, Symbol) else ()
    else:
        operand = jump.operands[1] if len(jump.operands) > 1 else None
        names = function.branch_targets.get(operand.name, ()) if isinstance(operand, Symbol) else ()
    if not names:
        raise PtxSyntaxError(f"`{jump.opcode}` names no target", jump.ptx_line)
    for name in names:
        if name not in at:
            raise PtxSyntaxError(f"label `{name}` isn't declared", jump.ptx_line)
    return tuple([at[name] for name in names])


def _renumbered(blocks: list[Block], order: list[int], new: dict[int, int]) -> tuple[Block, ...]:
    into: list[list[int]] = [[] for _ in order]
    for old in order:
        for target in blocks[old].successors:
            into[new[target]].append(new[old])
    result = []
    for index, old in enumerate(order):
        block = blocks[old]
        ahead = None if block.fall_through is None else new[block.fall_through]
        targets = tuple([new[target] for target in block.targets])
        result.append(
            replace(block, index=index, targets=targets, fall_through=ahead, predecessors=tuple(sorted(into[index])))
        )
    return tuple(result)


def _post_dominators(blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """Dominators of the graph turned around; the last block of an endless loop counts as leaving."""
    leave = len(blocks)
    back: list[list[int]] = [list(block.predecessors) for block in blocks]
    back.append([block.index for block in blocks if block.leaves])
    seen = bytearray(leave + 1)
    _mark(back, leave, seen)
    for index in reversed(range(leave)):
        if not seen[index]:
            back[leave].append(index)
            _mark(back, index, seen)
    return tuple(dominators(back, leave)[:leave])


def _mark(graph: list[list[int]], start: int, seen: bytearray) -> None:
    pending = [start]
    seen[start] = 1
    while pending:
        for node in graph[pending.pop()]:
            if not seen[node]:
                seen[node] = 1
                pending.append(node)


def _control_dependence(blocks: tuple[Block, ...], post_dominator: tuple[int, ...]) -> tuple[frozenset[int], ...]:
    """Ferrante, Ottenstein and Warren, The program dependence graph, 1987."""
    found: list[set[int]] = [set() for _ in blocks]
    left = MAX_DEPENDENCES
    for block in blocks:
        if not block.branches:
            continue
        stop = post_dominator[block.index]
        for successor in block.successors:
            runner = successor
            while runner != stop and runner != len(blocks):
                found[runner].add(block.index)
                runner = post_dominator[runner]
                left -= 1
            if left < 0:
                raise OverflowError(f"more than {MAX_DEPENDENCES} pairs of a branch and a block that it decides")
    return tuple([frozenset(row) for row in found])


def _loops(nests: list[Nest], new: dict[int, int]) -> tuple[tuple[Loop, ...], tuple[int | None, ...]]:
    loop_of: list[int | None] = [None] * len(new)
    loops = []
    for number, nest in enumerate(nests):
        blocks = frozenset([new[node] for node in nest.nodes])
        loops.append(Loop(new[nest.header], blocks, nest.parent, nest.depth, len(nest.entries) > 1))
        for index in blocks:
            loop_of[index] = number
    return tuple(loops), tuple(loop_of)
