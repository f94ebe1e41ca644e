"""Holds the layers of docs/architecture.md: which module may import which, read from the source with ast."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Low to high. A name stands for the module, for every module of that package, and for the parts of a long module
# (`simt.nvrtc` for simt/nvrtc_child.py).
LAYERS = tuple(
    tuple(f"{package}.{name}" for package, names in layer.items() for name in names.split())
    for layer in (
        {
            "simt": "arch cpus gpus launch counters diagnostics events occupancy sandbox kernel_names tensor_map warp_trace"
        },
        {"simt": "ptx"},
        {"simt": "isa"},
        {"simt": "engine"},
        {"simt": "codegen"},
        {"simt": "nvrtc model"},
        {"simt": "program runner suppress rehearsal"},
        {"simt": "cli sarif __main__ __init__", "grader": "model version"},
        {
            "grader": "exercises packs thresholds notebook answers values policy ptx_policy compile worker devices preparing"
            " running attempt declared_types verify verdicts measure timing nvml ncu score evidence"
            " hidden cases case_runs stages numpy_expression overflow fragment_lines lesson_file whole_file"
        },
        {"grader": "pipeline"},
        {
            "grader": "charts collecting class_file stores exporters gradebook statistics similarity proof release handing_in"
            " progress"
        },
        {"grader": "report views"},
        {"grader": "nbgrader_plugin batch cluster"},
        {"grader": "lesson doctor edit watch console commands cli __main__ __init__"},
    )
)

# Slow to import or missing on some machines, so they load where they are used. A plugin is loaded by its host.
HEAVY = {"altair", "cupy", "marimo", "nbgrader", "numba", "sqlalchemy", "alembic", "dask", "distributed", "pyarrow"}
MAY_LOAD_HEAVY = {"grader.nbgrader_plugin": {"nbgrader"}, "grader.stores.sql": {"sqlalchemy", "alembic"}}


def module_name(path):
    """`simt.ptx.lexer` for simt/ptx/lexer.py; only the two packages' own __init__ keep that name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[-1] == "__init__" and len(parts) > 2:
        parts = parts[:-1]
    return ".".join(parts)


MODULES = {module_name(path): path for package in ("simt", "grader") for path in sorted((ROOT / package).rglob("*.py"))}


def member(module):
    """The entry of LAYERS that a module belongs to, or None."""
    known = [entry for layer in LAYERS for entry in layer]
    entries = [entry for entry in known if module == entry or module.startswith((entry + ".", entry + "_"))]
    return entries[0] if entries else None


def layer_of(entry):
    return next(index for index, layer in enumerate(LAYERS) if entry in layer)


def imports(module):
    """(imported module, at load time) for each import statement, those inside functions included."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    at_load, pending = set(), [tree]
    while pending:
        node = pending.pop()
        at_load.add(node)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending += node.orelse
        else:
            pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, functions)]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node in at_load) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name if name in MODULES else node.module, node in at_load) for name in names]
    return [(f"{name}.__init__" if name in ("simt", "grader") else name, loads) for name, loads in found]


def own_imports(module):
    return [(name, loads) for name, loads in imports(module) if name.split(".")[0] in ("simt", "grader")]


@pytest.mark.parametrize("module", MODULES)
def test_module_has_a_layer(module):
    assert member(module), f"{module} is in no layer: name it in LAYERS here and in docs/architecture.md"


def test_every_name_in_a_layer_is_a_module():
    assert {entry for layer in LAYERS for entry in layer} == {member(module) for module in MODULES}


def test_the_architecture_page_shows_these_layers():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.partition("| layer | modules |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = [set(re.findall(r"\w+", row.split("|")[2])) - {"simt", "grader", "and", "itself"} for row in rows]
    assert shown == [{name.rpartition(".")[2] for name in layer} - {"__init__", "__main__"} for layer in LAYERS]


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_from_its_own_layer_or_below(module):
    if module in ("simt.__init__", "grader.__init__"):
        assert not [name for name, loads in own_imports(module) if loads], "a package's __init__ is lazy"
        return
    here = layer_of(member(module))
    upward = [name for name, _ in own_imports(module) if member(name) and layer_of(member(name)) > here]
    # Asking a package for a name from its __init__ loads nothing above: __init__ itself is lazy.
    assert not [name for name in upward if name != "simt.__init__"], f"{module} imports from a layer above its own"


@pytest.mark.parametrize("module", MODULES)
def test_heavy_package_loads_inside_functions(module):
    allowed = next((names for owner, names in MAY_LOAD_HEAVY.items() if module.startswith(owner)), set())
    loaded = {name.split(".")[0] for name, loads in imports(module) if loads}
    assert not loaded & HEAVY - allowed


def test_imports_have_no_cycle():
    graph = {m: {name for name, loads in own_imports(m) if loads and name in MODULES and name != m} for m in MODULES}
    while leaves := [module for module, targets in graph.items() if not targets & graph.keys()]:
        for leaf in leaves:
            del graph[leaf]
    assert not graph, f"these import each other: {sorted(graph)}"


def test_simulator_imports_nothing_of_the_course():
    assert not [m for m in MODULES if m.startswith("simt") for name, _ in own_imports(m) if name.startswith("grader")]
