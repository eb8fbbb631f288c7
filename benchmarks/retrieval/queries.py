"""Queries labelled with the tools they should find, and the catalogue they are asked of.

A file of queries holds one a line (JSONL)::

    {"query": "take a screenshot", "relevant": ["take_screenshot", "browser_screenshot"], "any": true}

Without ``any`` all of the relevant tools are to be found; with it they are alternatives. A folder of a set holds such a
file, ``queries.jsonl``, beside ``catalog.jsonl`` or ``catalog.json``, in any form that `load_catalog` reads.
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
    "CATALOGS",
    "QUERIES",
    "LabelledQuery",
    "LabelledSet",
    "catalog_in",
    "labelled_set",
    "load_labelled_set",
    "load_queries",
]


CATALOGS = ("catalog.json", "catalog.jsonl")
QUERIES = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query and the names of the tools it should find.

    Args:
        text: the query.
        relevant: the tools, each once.
        alternatives: one of them is enough.
    """

    text: str
    relevant: tuple[str, ...]
    alternatives: bool = False


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A catalogue and queries for it."""

    name: str
    tools: tuple[ToolReference, ...]
    queries: tuple[LabelledQuery, ...]

    def sample(self, limit: int | None) -> LabelledSet:
        """Return the set with at most `limit` of its queries, chosen by a hash of their texts: always the same."""
        if limit is None or limit >= len(self.queries):
            return self
        return replace(self, queries=tuple(sorted(self.queries, key=_lot)[:limit]))


def load_labelled_set(folder: str | Path) -> LabelledSet:
    """Read the catalogue and the queries in a folder; the folder's name is the set's.

    Raises:
        ConfigurationError: a file is missing or holds something else; the message has the file and the line.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigurationError(f"{folder}: is not a folder with catalog.jsonl and queries.jsonl")
    return labelled_set(catalog_in(folder), folder / QUERIES, folder.resolve().name)


def catalog_in(folder: Path) -> Path:
    """Return the file of the catalogue in a folder.

    Raises:
        ConfigurationError: there is none.
    """
    for name in CATALOGS:
        if (folder / name).is_file():
            return folder / name
    raise ConfigurationError(f"the folder {folder} holds no {' or '.join(CATALOGS)}")


def labelled_set(catalog: Path, queries: Path, name: str | None = None) -> LabelledSet:
    """Read a catalogue and its queries from two files; by default the set is called as the catalogue's file.

    Raises:
        ConfigurationError: as `load_labelled_set`.
    """
    tools = tuple(tool.reference for tool in load_catalog(catalog))
    known = frozenset(tool.name for tool in tools)
    return LabelledSet(name or catalog.name, tools, load_queries(queries, known))


def load_queries(path: Path, known: Collection[str]) -> tuple[LabelledQuery, ...]:
    """Read a file of labelled queries.

    Args:
        path: the file.
        known: the names of the tools there are; a label that is none of them can never be found, so it is an error.

    Raises:
        ConfigurationError: the file cannot be read, holds no query, or a line is not one.
    """
    queries = tuple(_query(value, f"{path}:{number}", known) for number, value in read_json_lines(path))
    if not queries:
        raise ConfigurationError(f'{path}: holds no queries; expected {{"query": "...", "relevant": ["tool"]}} a line')
    return queries


def _query(value: Any, place: str, known: Collection[str]) -> LabelledQuery:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f'{place}: a query is an object {{"query": "...", "relevant": ["tool"]}}')
    text, relevant, alternatives = value.get("query"), _names(value.get("relevant")), value.get("any", False)
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f'{place}: "query" is a text that is not empty')
    if not relevant:
        raise ConfigurationError(f'{place}: "relevant" is a list of at least one name of a tool')
    if not isinstance(alternatives, bool):
        raise ConfigurationError(f'{place}: "any" is true or false')
    unknown = [name for name in relevant if name not in known]
    if unknown:
        closest = ", ".join(map(repr, closest_names(unknown[0], known)))
        hint = f"; the closest names are {closest}" if closest else ""
        raise ConfigurationError(f"{place}: the catalogue has no tool {unknown[0]!r}{hint}")
    return LabelledQuery(text, tuple(dict.fromkeys(relevant)), alternatives)


def _names(value: Any) -> list[str]:
    """The names in a list of nothing else, else none."""
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else []


def _lot(query: LabelledQuery) -> str:
    return hashlib.sha1(query.text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
