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

    Lengauer and Tarjan, A fast algorithm for finding dominators in a flowgraph, 1979, with path compression only; it
    stays within n log n on any shape, where the usual iteration takes n * n steps on a loop with n ways to continue.
    """
    order, parent = _depth_first(graph, root)
    number = {node: index for index, node in enumerate(order)}
    into: list[list[int]] = [[] for _ in order]
    for index, node in enumerate(order):
        for target in graph[node]:
            into[number[target]].append(index)
    # All below counts in depth-first numbers: `semi` are the semidominators, `forest` finds the least of them on a path.
    semi = list(range(len(order)))
    forest = _Forest(semi)
    waiting: list[list[int]] = [[] for _ in order]
    found = [0] * len(order)
    for index in reversed(range(1, len(order))):
        semi[index] = min([semi[forest.least(before)] for before in into[index]])
        waiting[semi[index]].append(index)
        forest.above[index] = parent[index]
        for other in waiting[parent[index]]:
            least = forest.least(other)
            found[other] = least if semi[least] < semi[other] else parent[index]
        waiting[parent[index]].clear()
    result = [-1] * len(graph)
    result[root] = root
    for index in range(1, len(order)):
        if found[index] != semi[index]:
            found[index] = found[found[index]]
        result[order[index]] = order[found[index]]
    return result


class _Forest:
    """Trees that grow at their roots; a path once walked is shortened."""

    def __init__(self, semi: list[int]) -> None:
        self.semi = semi
        self.above = [-1] * len(semi)
        self.best = list(range(len(semi)))

    def least(self, node: int) -> int:
        """The node of least semidominator between `node` and its tree's root, the root left out unless it's `node`."""
        above, best, semi = self.above, self.best, self.semi
        if above[node] < 0:
            return node
        path, walker = [], node
        while above[above[walker]] >= 0:
            path.append(walker)
            walker = above[walker]
        for walker in reversed(path):
            higher = above[walker]
            if semi[best[higher]] < semi[best[walker]]:
                best[walker] = best[higher]
            above[walker] = above[higher]
        return best[node]


def _depth_first(graph: Graph, root: int) -> tuple[list[int], list[int]]:
    """Nodes in the order of a depth-first walk, and for each the position in it of the node that led there."""
    order, parent = [root], [0]
    seen = {root}
    calls = [(0, iter(graph[root]))]
    while calls:
        position, targets = calls[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                calls.append((len(order), iter(graph[target])))
                order.append(target)
                parent.append(position)
                break
        else:
            calls.pop()
    return order, parent
