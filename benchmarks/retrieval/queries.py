"""Labeled queries: queries with the tools they should find, and the catalog they search.

A file of queries has one query per line (JSONL)::

    {"query": "take a screenshot", "relevant": ["take_screenshot", "browser_screenshot"], "any": true}

Without ``any``, a search should find all relevant tools; with it, they are alternatives. The folder of a set has the
files ``queries.jsonl`` and ``catalog.jsonl`` or ``catalog.json``, in any format that `load_catalog` reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError
from ...indexes.reference import ToolReference
from ...tools.catalog_file import load_catalog, read_json_lines
from ...tools.names import closest_names

__all__ = [
    "CATALOG_FILES",
    "QUERIES_FILE",
    "LabeledQuery",
    "LabeledSet",
    "find_catalog",
    "load_labeled_set",
    "load_queries",
    "read_labeled_set",
]


CATALOG_FILES = ("catalog.json", "catalog.jsonl")
QUERIES_FILE = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class LabeledQuery:
    """Query with the names of the tools it should find.

    Args:
        text: The query.
        relevant: Names of the relevant tools, each once.
        alternatives: Whether one of them is enough.

    Example:
        >>> LabeledQuery("take a screenshot", ("take_screenshot", "browser_screenshot"), alternatives=True).relevant
        ('take_screenshot', 'browser_screenshot')
    """

    text: str
    relevant: tuple[str, ...]
    alternatives: bool = False


@dataclass(frozen=True, slots=True)
class LabeledSet:
    """Catalog with labeled queries.

    Args:
        name: Name in tables.
        tools: The catalog.
        queries: The queries.

    Example:
        >>> from toolsearch.indexes import ToolReference
        >>> tools = (ToolReference(name="ring_bell"),)
        >>> queries = tuple(LabeledQuery(text, ("ring_bell",)) for text in ("ring the bell", "make a noise"))
        >>> len(LabeledSet("bells", tools, queries).sample(1).queries)
        1
    """

    name: str
    tools: tuple[ToolReference, ...]
    queries: tuple[LabeledQuery, ...]

    def sample(self, limit: int | None) -> LabeledSet:
        """Return the set with at most `limit` of its queries, chosen by a hash, so they are always the same."""
        if limit is None or limit >= len(self.queries):
            return self
        return replace(self, queries=tuple(sorted(self.queries, key=_query_hash)[:limit]))


def load_labeled_set(folder: str | Path) -> LabeledSet:
    """Read the catalog and the queries of a folder. The set has the name of the folder.

    Raises:
        ConfigurationError: A file is missing or invalid. The message has the file and the line.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigurationError(f"{folder}: must be a folder with catalog.jsonl and queries.jsonl")
    return read_labeled_set(find_catalog(folder), folder / QUERIES_FILE, folder.resolve().name)


def find_catalog(folder: Path) -> Path:
    """Return the catalog file of a folder.

    Raises:
        ConfigurationError: The folder does not have one.
    """
    for name in CATALOG_FILES:
        if (folder / name).is_file():
            return folder / name
    raise ConfigurationError(f"{folder}: the folder does not have {' or '.join(CATALOG_FILES)}")


def read_labeled_set(catalog: Path, queries: Path, name: str | None = None) -> LabeledSet:
    """Read a catalog and its queries from two files.

    Args:
        catalog: File of tool definitions.
        queries: File of labeled queries.
        name: Name of the set; by default that of the catalog file.

    Raises:
        ConfigurationError: A file is missing or invalid. The message has the file and the line.
    """
    tools = tuple(tool.reference for tool in load_catalog(catalog))
    known = frozenset(tool.name for tool in tools)
    return LabeledSet(name or catalog.name, tools, load_queries(queries, known))


def load_queries(path: Path, known: Collection[str]) -> tuple[LabeledQuery, ...]:
    """Read a file of labeled queries.

    Args:
        path: The file.
        known: Names of the tools of the catalog. Any other name is an error, since no search could find it.

    Raises:
        ConfigurationError: The file cannot be read or has no query, or a line is invalid.
    """
    queries = tuple(_query(value, f"{path}:{number}", known) for number, value in read_json_lines(path))
    if not queries:
        raise ConfigurationError(
            f'{path}: the file has no queries; expected {{"query": "...", "relevant": ["tool"]}} per line'
        )
    return queries


def _query(value: Any, place: str, known: Collection[str]) -> LabeledQuery:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f'{place}: a query must be an object {{"query": "...", "relevant": ["tool"]}}')
    text, relevant, alternatives = value.get("query"), _names(value.get("relevant")), value.get("any", False)
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f'{place}: "query" must be a non-empty string')
    if not relevant:
        raise ConfigurationError(f'{place}: "relevant" must be a list of at least one tool name')
    if not isinstance(alternatives, bool):
        raise ConfigurationError(f'{place}: "any" must be true or false')
    unknown = [name for name in relevant if name not in known]
    if unknown:
        closest = ", ".join(map(repr, closest_names(unknown[0], known)))
        hint = f"; the closest names are {closest}" if closest else ""
        raise ConfigurationError(f"{place}: the catalog does not have a tool {unknown[0]!r}{hint}")
    return LabeledQuery(text, tuple(dict.fromkeys(relevant)), alternatives)


def _names(value: Any) -> list[str]:
    """Return a list of names, or an empty list if the value is not one."""
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else []


def _query_hash(query: LabeledQuery) -> str:
    return hashlib.sha1(query.text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
