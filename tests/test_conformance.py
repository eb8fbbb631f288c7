"""The tables that hold the reference's tests and features beside ours name tests that exist, in every row."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "tests" / "conformance").glob("*.md"))
NAMED = re.compile(r"`((?:tests|toolsearch|benchmarks)/[\w/]+\.py)(?:::(\w+))?`")


def rows(table: Path) -> list[str]:
    """Every row but the headings."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rules = {at for at, line in enumerate(lines) if set(line) <= set("|- ")}
    return [line for at, line in enumerate(lines) if at not in rules and at + 1 not in rules]


@cache
def functions_of(path: Path) -> frozenset[str]:
    """The names of all functions of a file, methods included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_there_are_tables():
    assert {table.name for table in TABLES} >= {"reference_base.md", "tool_search.md", "features.md"}
    assert all(rows(table) for table in TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_row_names_tests_that_exist_or_says_why_we_differ(table):
    wrong = []
    for row in rows(table):
        named = NAMED.findall(row)
        # A feature needs a test even where we differ.
        if not named and (table.stem == "features" or "differs on purpose" not in row):
            wrong.append(f"names neither a test nor a reason: {row}")
        for file, name in named:
            path = ROOT / file
            if not path.is_file() or (name and name not in functions_of(path)):
                wrong.append(f"there is no {file}::{name}")
        # A name that the pattern does not see would not be checked.
        if row.count(".py::") != sum(1 for _, name in named if name):
            wrong.append(f"a test is not written as `path.py::name`: {row}")
    assert wrong == []
