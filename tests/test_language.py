"""The writing rules of CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("toolsearch", "indexes", "eviction", "benchmarks")
PYTHON = sorted({path.resolve() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")})
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
        *(ROOT / "docs").rglob("*.md"),
    ]
)

# A docstring begins with a verb or a noun, not with a question word or a sentence about "it".
FIRST_WORDS = re.compile(r"(What|How|Which|From|Whether|Where|Who|Is|Are|Has|Gives|Tells)\b")
RARE_WORDS = re.compile(
    r"\b(anew|beneath|hardly|lest|for ever|mends?|mended|of ours|told of|catalogues?|behaviours?|misspelt|towards)\b",
    re.IGNORECASE,
)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docstrings_begin_with_a_verb_or_a_noun(path: Path) -> None:
    wrong = [f"{line}: {text.splitlines()[0]}" for line, text in docstrings(path) if FIRST_WORDS.match(text)]
    assert wrong == []


@pytest.mark.parametrize("path", [*PYTHON, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_texts_use_common_words(path: Path) -> None:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    assert [f"{number}: {line.strip()}" for number, line in lines if RARE_WORDS.search(line)] == []
