"""What a tool is searched by: the terms of each of its parts, remembered by content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from ..reference import ToolReference
from ..text.analysis import analyze, compound_term
from ..text.identifiers import identifier_key
from ..text.stemming import stem
from ..text.word_pairs import adjacent_words, pair_term

__all__ = ["TermsCache", "ToolTerms", "analyze_tool", "parameter_strings", "shared_terms_cache"]

_DEEPEST = 5
_MOST_NODES = 2_000
_LONGEST_TEXT = 50_000
_PAIRED = 24  # the words of a description that say what the tool does; pairs of later ones found nothing more
_NESTED = frozenset(("items", "additionalProperties", "contains"))
_ALTERNATIVES = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_NAMED = frozenset(("properties", "$defs", "definitions", "patternProperties"))
_HOLDERS = _NESTED | _ALTERNATIVES | _NAMED


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """The terms of one tool, part by part, in order and with repetitions.

    `whole` is the name as one term, if it has several words. `written` is all of it as it is written, the name twice,
    and the pairs of neighbours in the name and at the beginning of the description, joined by blanks.
    """

    name: tuple[str, ...]
    whole: str | None
    description: tuple[str, ...]
    search_text: tuple[str, ...]
    tags: tuple[str, ...]
    parameters: tuple[str, ...]
    source: tuple[str, ...]
    written: str

    @property
    def name_field(self) -> tuple[str, ...]:
        """The name in words and as a whole."""
        return self.name if self.whole is None else (*self.name, self.whole)

    @property
    def text_field(self) -> tuple[str, ...]:
        """What is said of the tool: description and search text."""
        return self.description + self.search_text

    @property
    def detail_field(self) -> tuple[str, ...]:
        """What surrounds it: parameters, tags and source."""
        return self.parameters + self.tags + self.source

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every part under the name an explanation gives it."""
        return (
            ("name", self.name_field),
            ("description", self.description),
            ("search_text", self.search_text),
            ("tags", self.tags),
            ("parameters", self.parameters),
            ("source", self.source),
        )


class TermsCache:
    """Remembers the terms of the tools analyze last; safe from many threads, shared by all indexes that hold it.

    Args:
        size: how many tools at most; about 4 KB each.
    """

    def __init__(self, size: int = 16_384) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, ToolTerms] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()

    def of(self, tools: Sequence[ToolReference]) -> list[ToolTerms]:
        """Return the terms of each tool, analysing those not met before (outside the lock)."""
        digests = [tool.digest for tool in tools]
        with self._lock:
            found = [self._known.get(digest) for digest in digests]
            for digest, known in zip(digests, found, strict=True):
                if known is not None:
                    self._known.move_to_end(digest)
        complete = [known or analyze_tool(tool) for known, tool in zip(found, tools, strict=True)]
        fresh = [(d, new) for d, new, old in zip(digests, complete, found, strict=True) if old is None]
        with self._lock:
            self._known.update(fresh[-self._size :])
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return complete


shared_terms_cache = TermsCache()
"""The terms of the tools analyze last in this process, by whichever index."""


def analyze_tool(tool: ToolReference) -> ToolTerms:
    """Analyse one tool."""
    whole = compound_term(tool.name)
    name, name_forms = analyze(tool.name)
    description, description_forms = analyze(tool.description[:_LONGEST_TEXT])
    search_text, search_forms = analyze(tool.search_text[:_LONGEST_TEXT])
    tags, tag_forms = analyze(" ".join(tool.tags))
    parameters, parameter_forms = analyze(" ".join(parameter_strings(tool.parameters))[:_LONGEST_TEXT])
    source, source_forms = analyze(tool.source or "")
    words = (name_forms, name_forms, description_forms, search_forms, parameter_forms, tag_forms, source_forms)
    pieces = [form for form in name_forms if stem(form) != whole]
    pairs = map(
        pair_term,
        [*dict.fromkeys([*pairwise(pieces), *adjacent_words(pieces)]), *adjacent_words(description_forms[:_PAIRED])],
    )
    return ToolTerms(
        name=tuple(term for term in name if term != whole),
        whole=whole,
        description=tuple(description),
        search_text=tuple(search_text),
        tags=tuple(tags),
        parameters=tuple(parameters),
        source=tuple(source),
        written=" ".join(chain(*words, pairs)),
    )


def parameter_strings(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the names, titles, descriptions and allowed values a JSON Schema gives its parameters, nested ones too.

    Looks five levels deep and at a bounded number of nodes, so that no schema, however made, is dear.
    """
    found: list[str] = []
    budget = _MOST_NODES
    level = [] if schema is None else [schema]
    for depth in range(_DEEPEST + 1):
        below: list[Mapping[str, Any]] = []
        for node in level:
            budget -= 1
            if budget < 0:
                return found
            if depth:
                _add_own_texts(node, found)
            if depth == _DEEPEST:
                continue
            for keyword in _HOLDERS.intersection(node):
                _add_children(keyword, node[keyword], found, below)
        level = below
    return found


def _add_own_texts(node: Mapping[str, Any], found: list[str]) -> None:
    values = node.get("enum")
    listed = values[:_MOST_NODES] if isinstance(values, (list, tuple)) else ()
    found.extend(text for text in (node.get("description"), *listed, node.get("const")) if isinstance(text, str))


def _add_children(keyword: str, value: object, found: list[str], below: list[Mapping[str, Any]]) -> None:
    """Add the schemas under one keyword to `below`, and the names of parameters to `found`."""
    if isinstance(value, dict) and keyword in _NAMED:
        if keyword == "properties":
            for key, schema in value.items():
                _add_names(key, schema, found)
        below.extend(_mappings(value.values()))
    elif keyword in _ALTERNATIVES and isinstance(value, (list, tuple)):
        below.extend(_mappings(value))
    elif keyword in _NESTED:
        below.extend(_mappings([value]))


def _add_names(key: object, schema: object, found: list[str]) -> None:
    """Add the name of a parameter, and its title where that is more than the name in other casing."""
    if not isinstance(key, str):
        return
    found.append(key)
    title = schema.get("title") if isinstance(schema, dict) else None
    if isinstance(title, str) and identifier_key(title) != identifier_key(key):
        found.append(title)


def _mappings(values: Iterable[object]) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)]
