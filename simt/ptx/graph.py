"""Algorithms on a directed graph of small integers: ranking by loop nest, dominators.

A graph is a sequence of successor tuples. Everything is iterative: a kernel may have any shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MAX_LOOP_DEPTH", "Nest", "dominators", "predecessors", "preorder", "rank"]

Graph = Sequence[Sequence[int]]

# Each level of nesting costs a pass over what is inside.
MAX_LOOP_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Nest:
    """A cycle of the graph: `parent` is the index of the one around it; `entries` the nodes reached from outside."""

    header: int
    nodes: tuple[int, ...]
    parent: int | None
    depth: int
    entries: tuple[int, ...]


def preorder(graph: Graph, root: int) -> list[int]:
    """For each node the time a depth-first walk from `root` first meets it, -1 when it never does.

    Of several successors the last is walked first.
    """
    met = [-1] * len(graph)
    time, pending = 0, [root]
    while pending:
        node = pending.pop()
        if met[node] < 0:
            met[node] = time
            time += 1
            pending += [target for target in graph[node] if met[target] < 0]
    return met


def predecessors(graph: Graph) -> list[list[int]]:
    """The graph with its edges turned around."""
    result: list[list[int]] = [[] for _ in graph]
    for node, targets in enumerate(graph):
        for target in targets:
            result[target].append(node)
    return result


def rank(graph: Graph, root: int) -> tuple[list[int], list[Nest]]:
    """The nodes that `root` reaches in an order in which a cycle's nodes all come before whatever it leads to.

    Without the edges back to the headers the order is topological, so that the lowest pending node is the one to run
    when lanes are to meet again. Cycles are found as strongly connected components, outer ones first; inside, the
    header stands first and the rest is ranked again. Among nodes in no order, the last successor's side comes first.

    Raises:
        RecursionError: cycles nest deeper than `MAX_LOOP_DEPTH`.
    """
    met = preorder(graph, root)
    into = predecessors(graph)
    region = [0 if time >= 0 else -1 for time in met]
    order: list[int] = []
    nests: list[Nest] = []
    n_regions = 0
    top = [node for node, time in enumerate(met) if time >= 0]
    work: list[tuple[list[int], int | None]] = [(part, None) for part in _components(graph, top, region, met)]
    while work:
        part, parent = work.pop()
        header = min(part, key=met.__getitem__)
        order.append(header)
        if len(part) == 1 and header not in graph[header]:
            continue
        inside = set(part)
        depth = nests[parent].depth + 1 if parent is not None else 1
        if depth > MAX_LOOP_DEPTH:
            raise RecursionError(f"loops nest deeper than {MAX_LOOP_DEPTH}")
        entries = [node for node in part if node == root or any(before not in inside for before in into[node])]
        nests.append(Nest(header, tuple(part), parent, depth, tuple(entries)))
        rest = [node for node in part if node != header]
        n_regions += 1
        region[header] = -1
        for node in rest:
            region[node] = n_regions
        number = len(nests) - 1
        work += [(inner, number) for inner in _components(graph, rest, region, met)]
    return order, nests


def _components(graph: Graph, nodes: list[int], region: list[int], met: list[int]) -> list[list[int]]:
    """Strongly connected components among `nodes`, which share one region, the last in topological order first.

    Tarjan, Depth-first search and linear graph algorithms, 1972, with an explicit stack.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[list[int]] = []
    for start in sorted(nodes, key=met.__getitem__, reverse=True):
        if start in number:
            continue
        here = region[start]
        calls = [(start, iter(graph[start]))]
        number[start] = low[start] = len(number)
        path.append(start)
        on_path.add(start)
        while calls:
            node, targets = calls[-1]
            for target in targets:
                if region[target] != here:
                    continue
                if target not in number:
                    number[target] = low[target] = len(number)
                    path.append(target)
                    on_path.add(target)
                    calls.append((target, iter(graph[target])))
                    break
                if target in on_path and number[target] < low[node]:
                    low[node] = number[target]
            else:
                calls.pop()
                if calls:
                    caller = calls[-1][0]
                    low[caller] = min(low[caller], low[node])
                if low[node] == number[node]:
                    found.append(_pop_until(path, on_path, node))
    return found


def _pop_until(path: list[int], on_path: set[int], node: int) -> list[int]:
    part = []
    while True:
        part.append(path.pop())
        on_path.discard(part[-1])
        if part[-1] == node:
            return part


def dominators(graph: Graph, root: int) -> list[int]:
    """The immediate dominator of each node: of the root itself, of an unreached node -1.

    Cooper, Harvey and Kennedy, A simple, fast dominance algorithm, 2001.
    """
    post = _postorder(graph, root)
    time = {node: index for index, node in enumerate(post)}
    into = predecessors(graph)
    for row in into:
        row.sort(key=lambda node: time.get(node, -1))  # deepest first: else n jumps to one exit cost n * n steps
    above = [-1] * len(graph)
    above[root] = root
    changed = True
    while changed:
        changed = False
        for node in reversed(post):
            if node == root:
                continue
            best = -1
            for before in into[node]:
                if above[before] < 0:
                    continue
                if best < 0:
                    best = before
                    continue
                other = before
                while best != other:
                    if time[best] < time[other]:
                        best = above[best]
                    else:
                        other = above[other]
            if above[node] != best:
                above[node] = best
                changed = True
    return above


def _postorder(graph: Graph, root: int) -> list[int]:
    seen = {root}
    order: list[int] = []
    calls = [(root, iter(graph[root]))]
    while calls:
        node, targets = calls[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                calls.append((target, iter(graph[target])))
                break
        else:
            order.append(node)
            calls.pop()
    return order
