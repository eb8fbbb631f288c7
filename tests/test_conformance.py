"""The conformance tables: each row names tests that exist, or says where and why this library differs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLES = sorted((ROOT / "tests" / "conformance").glob("*.md"))
TEST = re.compile(r"`((?:tests|toolsearch|benchmarks)/[\w/]+\.py)(?:::(\w+))?`")


def rows(table: Path) -> list[str]:
    """Return the rows of all tables in a file, without the headings."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rules = {at for at, line in enumerate(lines) if set(line) <= set("|- ")}
    return [line for at, line in enumerate(lines) if at not in rules and at + 1 not in rules]


@cache
def functions_of(path: Path) -> frozenset[str]:
    """Return the names of all functions and methods in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_table_has_rows() -> None:
    assert {table.name for table in TABLES} >= {"reference_base.md", "tool_search.md", "features.md"}
    assert all(rows(table) for table in TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_row_names_existing_tests_or_a_reason(table: Path) -> None:
    problems = []
    for row in rows(table):
        tests = TEST.findall(row)
        # A feature needs a test even if it differs on purpose.
        if not tests and (table.stem == "features" or "differs on purpose" not in row):
            problems.append(f"neither a test nor a reason: {row}")
        for file, name in tests:
            path = ROOT / file
            if not path.is_file() or (name and name not in functions_of(path)):
                problems.append(f"{file}::{name} does not exist")
        # The pattern would not check a name that it does not match.
        if row.count(".py::") != sum(1 for _, name in tests if name):
            problems.append(f"a test is not written as `path.py::name`: {row}")
    assert problems == []
