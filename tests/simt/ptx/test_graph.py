"""The graph algorithms against their definitions, on small random graphs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simt.ptx.cfg import build, controllers
from simt.ptx.graph import dominators, preorder, rank
from simt.ptx.parser import parse


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 9))
    node = st.integers(0, size - 1)
    return [tuple(dict.fromkeys(draw(st.lists(node, max_size=3)))) for _ in range(size)]


def reached(graph, start, without=None):
    """Nodes on paths from `start` that don't pass through `without`."""
    seen, pending = set(), [start]
    while pending:
        node = pending.pop()
        if node != without and node not in seen:
            seen.add(node)
            pending += graph[node]
    return seen


def dominated(graph, root, node):
    """Nodes that can't be reached without passing through `node`, itself included."""
    return reached(graph, root) - reached(graph, root, without=node)


@settings(max_examples=300)
@given(graphs())
def test_dominators_follow_the_definition(graph):
    found = dominators(graph, 0)
    everything = reached(graph, 0)
    for node in range(len(graph)):
        if node not in everything:
            assert found[node] == -1
            continue
        strict = {other for other in everything - {node} if node in dominated(graph, 0, other)}
        nearest = [
            other for other in strict if strict <= {other} | {n for n in strict if other in dominated(graph, 0, n)}
        ]
        assert [found[node]] == (nearest or [node])


@settings(max_examples=300)
@given(graphs())
def test_every_cycle_runs_before_what_it_leads_to(graph):
    order, nests = rank(graph, 0)
    everything = reached(graph, 0)
    place = {node: index for index, node in enumerate(order)}
    assert order[0] == 0 and sorted(order) == sorted(everything)
    for node in everything:
        for target in graph[node]:
            if node not in reached(graph, target):
                assert place[node] < place[target]
    for nest in nests:
        places = sorted(place[node] for node in nest.nodes)
        assert places == list(range(places[0], places[0] + len(places))) and order[places[0]] == nest.header


@settings(max_examples=300)
@given(graphs())
def test_cycles_are_found_and_nest(graph):
    _, nests = rank(graph, 0)
    everything = reached(graph, 0)
    top = {frozenset(nest.nodes) for nest in nests if nest.parent is None}
    cyclic = [node for node in everything if any(node in reached(graph, target) for target in graph[node])]
    assert set().union(*top) == set(cyclic)
    for nest in nests:
        entries = {
            node
            for node in nest.nodes
            if node == 0 or any(node in graph[before] for before in everything - set(nest.nodes))
        }
        assert set(nest.entries) >= entries and nest.header in nest.nodes
        if nest.parent is not None:
            outer = nests[nest.parent]
            assert set(nest.nodes) <= set(outer.nodes) - {outer.header} and nest.depth == outer.depth + 1


@settings(max_examples=200)
@given(graphs())
def test_preorder_meets_a_dominator_first(graph):
    met = preorder(graph, 0)
    for node, above in enumerate(dominators(graph, 0)):
        assert (above == -1) == (met[node] == -1) and (above in (-1, node) or met[above] < met[node])


def text_of(graph):
    """A function with that control flow; a node of three successors needs two blocks more."""
    lines = [".entry k() { .reg .pred p;"]
    for node, targets in enumerate(graph):
        lines.append(f"B{node}:")
        lines += [f"@p bra B{target};" for target in targets[:-1]]
        lines.append(f"bra B{targets[-1]};" if targets else "ret;")
    return "".join(lines) + "}"


@settings(max_examples=200)
@given(graphs())
def test_post_dominators_and_control_dependence_follow_the_definition(graph):
    cfg = build(parse(text_of(graph)).functions["k"])
    ahead = [block.successors + ((cfg.exit,) if block.leaves else ()) for block in cfg.blocks] + [()]
    ends = [cfg.exit in reached(ahead, block.index) for block in cfg.blocks]
    if not all(ends):
        return  # endless loops: what counts as leaving is a choice, tested by example
    after = [
        {other for other in range(cfg.exit) if cfg.exit not in reached(ahead, block, without=other)} | {cfg.exit}
        for block in range(cfg.exit)
    ]
    for block in range(cfg.exit):
        nearest = cfg.post_dominator[block]
        assert nearest in after[block] - {block}
        assert nearest == cfg.exit or after[block] - {block} <= after[nearest]
        expected = {
            branch
            for branch in range(cfg.exit)
            if len(ahead[branch]) > 1
            and any(target != cfg.exit and block in after[target] for target in ahead[branch])
            and block not in after[branch] - {branch}
        }
        assert cfg.control_dependence[block] == expected
        assert controllers(cfg, block) >= expected
