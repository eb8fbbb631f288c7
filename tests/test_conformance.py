"""The tables that hold the reference's tests beside ours name tests that exist, in every row."""

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
    """The right side of every row."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [line.strip("|").rsplit("|", 1)[-1].strip() for line in lines]
    return [cell for cell in cells if cell != "here" and set(cell) != {"-"}]


@cache
def functions_of(path: Path) -> frozenset[str]:
    """The names of all functions of a file, methods included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_there_are_tables():
    assert {table.name for table in TABLES} >= {"reference_base.md", "tool_search.md"}
    assert all(rows(table) for table in TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_row_names_tests_that_exist_or_says_why_we_differ(table):
    wrong = []
    for row in rows(table):
        named = NAMED.findall(row)
        if not named and "differs on purpose" not in row:
            wrong.append(f"names neither a test nor a reason: {row}")
        for file, name in named:
            path = ROOT / file
            if not path.is_file() or (name and name not in functions_of(path)):
                wrong.append(f"there is no {file}::{name}")
        # A name that the pattern does not see would not be checked.
        if row.count(".py::") != sum(1 for _, name in named if name):
            wrong.append(f"a test is not written as `path.py::name`: {row}")
    assert wrong == []
