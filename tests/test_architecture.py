"""docs/architecture.md names every module and none that is not there; dependencies point one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
FOLDERS = {"toolsearch": "toolsearch", "indexes": "toolsearch.indexes", "eviction": "toolsearch.eviction"}


def files() -> list[Path]:
    """The source files, each where it really is; links in the package lead to the folders beside it."""
    links = [ROOT / "toolsearch" / name for name in ("indexes", "eviction", "benchmarks")]
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if not any(link in path.parents for link in links)]


def module_of(path: Path) -> str:
    """The name a module is imported by."""
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    parts = [FOLDERS[folder], *rest]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in files()}


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of ours that a module imports, at once or later; not those that only its annotations need."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return frozenset(_imported(ast.parse(path.read_text("utf-8")), package.split(".")))


def _imported(tree: ast.AST, package: list[str]) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            source = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield inner if inner in MODULES else source
        yield from _imported(node, package)


def at_once(module: str) -> set[str]:
    """The modules of ours that importing a module imports."""
    path = MODULES[module]
    package = (module if path.name == "__init__.py" else module.rpartition(".")[0]).split(".")
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [
        node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return set(_imported(tree, package))


def test_every_path_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:toolsearch|indexes|eviction|benchmarks|tests|docs)/[\w./-]*)`", PAGE)
    named += re.findall(r"\b(?:toolsearch|indexes|eviction)/[\w/]+\.py\b", PAGE)
    assert len(named) > 100
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_module_is_named_where_things_are_found() -> None:
    table = PAGE.partition("## Where to find things")[2]
    names = [path.relative_to(ROOT).as_posix() for path in files()]
    missing = [name for name in names if f"`{name}`" not in table and not name.endswith("__main__.py")]
    assert missing == [], "add them to the table at the end of docs/architecture.md"


@pytest.mark.parametrize("package", ["toolsearch.indexes", "toolsearch.eviction"])
def test_indexes_and_eviction_know_nothing_of_the_rest_but_errors(package: str) -> None:
    allowed = {"toolsearch.errors"}
    found = {
        (module, other)
        for module in MODULES
        if module == package or module.startswith(f"{package}.")
        for other in imports(module)
        if other not in allowed and other != package and not other.startswith(f"{package}.")
    }
    assert found == set()


CHAT = {"advisor", "chain", "chat", "client", "drivers", "effects", "execution", "messages", "model", "tool_calling"}


@pytest.mark.parametrize(
    ("modules", "forbidden"),
    [
        (("disclosure", "sessions", "session_lease", "session_record", "searcher_cache", "tool_set"), CHAT | {"tool"}),
        (("search_tool", "savings", "observer", "turn_memory"), CHAT - {"messages"} | {"tool"}),
        (
            ("models.openai", "models.openai_wire", "models.openai_answer", "model"),
            {"advisor", "chain", "tool_calling"},
        ),
        (("chain", "drivers"), {"tool_calling", "tool_search", "disclosure", "sessions", "client", "memory"}),
        (("tool_calling",), {"tool_search", "disclosure", "sessions", "client", "drivers", "execution"}),
        (("tool", "collect", "schema"), CHAT),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_dependencies_point_one_way(modules: tuple[str, ...], forbidden: set[str]) -> None:
    """Whatever they import, directly or not."""
    reached: set[str] = set()
    waiting = [f"toolsearch.{module}" for module in modules]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting.extend(imports(module))
    assert {f"toolsearch.{name}" for name in forbidden} & reached == set()


def test_no_module_imports_in_a_circle() -> None:
    order = TopologicalSorter({module: at_once(module) - {module} for module in MODULES})
    assert len(list(order.static_order())) >= len(MODULES)  # a circle raises, naming it
