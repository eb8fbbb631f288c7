"""Terms of a tool, field by field, cached by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from ...shared.lru_cache import ByteLruCache
from ..reference import ToolReference
from ..text.analysis import analyze, compound_term
from ..text.identifiers import identifier_key
from ..text.stemming import stem
from ..text.word_pairs import adjacent_words, pair_term

__all__ = ["TermsCache", "ToolTerms", "analyze_tool", "parameter_strings", "shared_terms_cache"]

_MAX_SCHEMA_DEPTH = 5
_MAX_SCHEMA_NODES = 2_000
_MAX_TEXT_CHARACTERS = 10_000  # of each field; enough for every description that helps a model
_MAX_NAME_CHARACTERS = 1_000
_BYTES_PER_TERM = 65
_MAX_PAIRED_WORDS = 24  # words of a description that give pairs; pairs of later words found nothing more
_NESTED = frozenset(("items", "additionalProperties", "contains"))
_ALTERNATIVES = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_NAMED = frozenset(("properties", "$defs", "definitions", "patternProperties"))
_HOLDERS = _NESTED | _ALTERNATIVES | _NAMED


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """Terms of one tool by field, in order and with repetitions.

    Args:
        name: The terms of the name.
        whole: The whole name as one term if it has several words, or None.
        description: The terms of the description.
        search_text: The terms of the additional search text.
        tags: The terms of the tags.
        parameters: The terms of the parameter schema.
        source: The terms of the source.
        surface_text: The unstemmed words of all fields, with the name twice, and the pairs of adjacent words in the
            name and at the beginning of the description, separated by blanks.
    """

    name: tuple[str, ...]
    whole: str | None
    description: tuple[str, ...]
    search_text: tuple[str, ...]
    tags: tuple[str, ...]
    parameters: tuple[str, ...]
    source: tuple[str, ...]
    surface_text: str

    @property
    def size(self) -> int:
        """A rough number of bytes that the terms take."""
        fields = (self.name, self.description, self.search_text, self.tags, self.parameters, self.source)
        terms = sum(map(len, fields))
        return 1_000 + _BYTES_PER_TERM * terms + len(self.surface_text)

    @property
    def name_field(self) -> tuple[str, ...]:
        """The terms of the name, and the whole name as one term."""
        return self.name if self.whole is None else (*self.name, self.whole)

    @property
    def text_field(self) -> tuple[str, ...]:
        """The terms of the description and the search text."""
        return self.description + self.search_text

    @property
    def detail_field(self) -> tuple[str, ...]:
        """The terms of the parameters, tags and source."""
        return self.parameters + self.tags + self.source

    def fields(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each field of `ToolReference` with its terms."""
        return (
            ("name", self.name_field),
            ("description", self.description),
            ("search_text", self.search_text),
            ("tags", self.tags),
            ("parameters", self.parameters),
            ("source", self.source),
        )


class TermsCache:
    """Least-recently-used cache of the terms of tools, bounded in bytes. Thread-safe.

    Args:
        max_bytes: The maximum size of all entries. Most tools take about 4 KB.
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self._known: ByteLruCache[bytes, ToolTerms] = ByteLruCache(max_bytes)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def bytes(self) -> int:
        """The size of all entries."""
        return self._known.bytes

    def clear(self) -> None:
        """Remove all entries."""
        self._known.clear()

    def get(self, tools: Sequence[ToolReference]) -> list[ToolTerms]:
        """Return the terms of each tool. Tools that are not cached are analyzed, outside the lock."""
        complete = []
        for tool in tools:
            terms = self._known.get(tool.digest)
            if terms is None:
                terms = analyze_tool(tool)
                self._known.put(tool.digest, terms, size=terms.size)
            complete.append(terms)
        return complete


shared_terms_cache = TermsCache()
"""The cache that all indexes of the process share."""


def analyze_tool(tool: ToolReference) -> ToolTerms:
    """Return the terms of one tool."""
    whole = compound_term(tool.name[:_MAX_NAME_CHARACTERS])
    name, name_forms = analyze(tool.name[:_MAX_NAME_CHARACTERS])
    description, description_forms = analyze(tool.description[:_MAX_TEXT_CHARACTERS])
    search_text, search_forms = analyze(tool.search_text[:_MAX_TEXT_CHARACTERS])
    tags, tag_forms = analyze(" ".join(tool.tags)[:_MAX_TEXT_CHARACTERS])
    parameters, parameter_forms = analyze(" ".join(parameter_strings(tool.parameters))[:_MAX_TEXT_CHARACTERS])
    source, source_forms = analyze((tool.source or "")[:_MAX_NAME_CHARACTERS])
    words = (name_forms, name_forms, description_forms, search_forms, parameter_forms, tag_forms, source_forms)
    pieces = [form for form in name_forms if stem(form) != whole]
    name_pairs = dict.fromkeys([*pairwise(pieces), *adjacent_words(pieces)])
    pairs = map(pair_term, [*name_pairs, *adjacent_words(description_forms[:_MAX_PAIRED_WORDS])])
    return ToolTerms(
        name=tuple(term for term in name if term != whole),
        whole=whole,
        description=tuple(description),
        search_text=tuple(search_text),
        tags=tuple(tags),
        parameters=tuple(parameters),
        source=tuple(source),
        surface_text=" ".join(chain(*words, pairs)),
    )


def parameter_strings(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the names, titles, descriptions and allowed values of the parameters in a JSON Schema.

    The search is limited to five levels and a fixed number of nodes, so that no schema takes long.

    Args:
        schema: The JSON Schema of a tool's arguments, or None.

    Example:
        >>> parameter_strings({"properties": {"city": {"type": "string", "description": "Name of a city"}}})
        ['city', 'Name of a city']
    """
    found: list[str] = []
    budget = _MAX_SCHEMA_NODES
    level = [] if schema is None else [schema]
    for depth in range(_MAX_SCHEMA_DEPTH + 1):
        next_level: list[Mapping[str, Any]] = []
        for node in level:
            budget -= 1
            if budget < 0:
                return found
            if depth:
                _add_own_texts(node, found)
            if depth == _MAX_SCHEMA_DEPTH:
                continue
            for keyword in _HOLDERS.intersection(node):
                _add_children(keyword, node[keyword], found, next_level)
        level = next_level
    return found


def _add_own_texts(node: Mapping[str, Any], found: list[str]) -> None:
    values = node.get("enum")
    listed = values[:_MAX_SCHEMA_NODES] if isinstance(values, (list, tuple)) else ()
    found.extend(text for text in (node.get("description"), *listed, node.get("const")) if isinstance(text, str))


def _add_children(keyword: str, value: object, found: list[str], next_level: list[Mapping[str, Any]]) -> None:
    """Add the schemas of one keyword to `next_level`, and the names of parameters to `found`."""
    if isinstance(value, dict) and keyword in _NAMED:
        if keyword == "properties":
            for key, schema in value.items():
                _add_names(key, schema, found)
        next_level.extend(_mappings(value.values()))
    elif keyword in _ALTERNATIVES and isinstance(value, (list, tuple)):
        next_level.extend(_mappings(value))
    elif keyword in _NESTED:
        next_level.extend(_mappings([value]))


def _add_names(key: object, schema: object, found: list[str]) -> None:
    """Add the name of a parameter, and its title unless it is only another spelling of the name."""
    if not isinstance(key, str):
        return
    found.append(key)
    title = schema.get("title") if isinstance(schema, dict) else None
    if isinstance(title, str) and identifier_key(title) != identifier_key(key):
        found.append(title)


def _mappings(values: Iterable[object]) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)]
