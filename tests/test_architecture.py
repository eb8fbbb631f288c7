"""The layers of the packages: imports only go down, annotations included, and the architecture page names them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
FOLDERS = {
    "toolsearch": "toolsearch",
    "indexes": "toolsearch.indexes",
    "eviction": "toolsearch.eviction",
    "benchmarks": "toolsearch.benchmarks",
}
DATA = {"__pycache__", "data", "results"}

# From the bottom. A package imports only from the lines below its own: here, the lines above it.
LAYERS = """
errors shared
text
serialization
messages
indexes eviction
tools
chat
models observability
loop
advisors disclosure memory output
client mcp
testing
benchmarks
cli
"""
LAYER = {name: number for number, line in enumerate(LAYERS.split("\n")) for name in line.split()}
MAX_ENTRIES = 15
MAX_ENTRIES_AT_THE_TOP = 22


def folders() -> Iterator[Path]:
    """Yield every folder with code at its real place; the links in `toolsearch/` lead to folders at the root."""
    for name in FOLDERS:
        waiting = [ROOT / name]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting += [p for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and p.name not in DATA]


def module_of(path: Path) -> str:
    """Return the name that a file is imported by."""
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    parts = [FOLDERS[folder], *rest]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for folder in folders() for path in folder.glob("*.py")}
PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def imports(module: str) -> Iterator[str]:
    """Yield the modules of this project that `module` imports anywhere: in functions and for annotations too."""
    path = MODULES[module]
    package = (module if path.name == "__init__.py" else module.rpartition(".")[0]).split(".")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                found = f"{source}.{alias.name}" if f"{source}.{alias.name}" in MODULES else source
                if found in MODULES:
                    yield found


IMPORTS = {module: set(imports(module)) for module in MODULES}


def child(module: str, package: str) -> str | None:
    """Return the part of `package` that `module` belongs to, or None outside it and for the package itself."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def test_every_part_of_the_package_has_a_layer() -> None:
    assert {child(module, "toolsearch") for module in MODULES} - {None} == set(LAYER)


def test_imports_between_packages_only_go_down() -> None:
    upward = {
        (module, other)
        for module, others in IMPORTS.items()
        for other in others
        if (mine := child(module, "toolsearch")) and (theirs := child(other, "toolsearch"))
        if mine != theirs and LAYER[theirs] >= LAYER[mine]
    }
    assert upward == set()


def test_only_the_top_layers_import_the_package_itself() -> None:
    allowed = {"benchmarks", "cli"}
    users = {child(module, "toolsearch") for module, others in IMPORTS.items() if "toolsearch" in others}
    assert users - {None} <= allowed


@pytest.mark.parametrize("package", PACKAGES)
def test_parts_of_a_package_do_not_import_in_a_circle(package: str) -> None:
    graph: dict[str, set[str]] = {}
    for module, others in IMPORTS.items():
        if mine := child(module, package):
            parts = graph.setdefault(mine, set())
            parts.update(theirs for other in others if (theirs := child(other, package)) and theirs != mine)
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)  # a cycle raises an error that names it


def test_no_folder_is_crowded() -> None:
    crowded = {}
    for folder in folders():
        names = [p.name for p in folder.iterdir() if p.name not in DATA and not p.name.startswith((".", "__init__"))]
        entries = [name for name in names if name.endswith(".py") or (folder / name).is_dir()]
        limit = MAX_ENTRIES_AT_THE_TOP if folder == ROOT / "toolsearch" else MAX_ENTRIES
        if len(entries) > limit:
            crowded[folder.name] = len(entries)
    assert crowded == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_states_its_public_interface(package: str) -> None:
    tree = ast.parse(MODULES[package].read_text("utf-8"))
    assert ast.get_docstring(tree), f"{package} has no docstring"
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    assert any(ast.unparse(node).startswith("__all__") for node in assigned)


def test_the_page_names_every_package_and_no_path_that_does_not_exist() -> None:
    named = re.findall(r"`((?:toolsearch|indexes|eviction|benchmarks|tests|docs)/[\w./-]*)`", PAGE)
    assert [path for path in named if not (ROOT / path).exists()] == []
    places = {MODULES[package].parent.relative_to(ROOT).as_posix() for package in PACKAGES} - {"toolsearch"}
    assert {place for place in places if f"`{place}/`" not in PAGE} == set()
