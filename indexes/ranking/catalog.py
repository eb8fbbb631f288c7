"""Catalog of one searcher: its tools in order of name, and look-up by name and category."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import ConfigurationError, DuplicateToolError
from ...text import replace_surrogates, short_repr
from ..reference import ToolReference
from ..text.identifiers import accented_key, identifier_key, identifiers_in

__all__ = ["Catalog", "Category"]


_MAX_NAME_CHARACTERS = 256
_EXACT_NAME_BOOST = 3.0
_VARIANT_NAME_BOOST = 2.0
_UNACCENTED_NAME_BOOST = 1.5


@dataclass(frozen=True, slots=True)
class Category:
    """A source or tag with its tools.

    Args:
        key: The label without case and separators.
        positions: The positions of its tools in the catalog.
    """

    key: str
    positions: frozenset[int]


class Catalog:
    """Tools of one searcher, in order of name, with their categories. Immutable.

    Args:
        tools: The tools.

    Raises:
        ConfigurationError: If an item of `tools` is not a `ToolReference`.
        DuplicateToolError: If two tools have the same name.
    """

    __slots__ = ("_by_key", "_categories", "keys", "labels", "tools")

    tools: tuple[ToolReference, ...]
    """The tools in order of name. A position is an index of this tuple."""
    labels: tuple[str, ...]
    """All sources and tags in their original spelling, sorted."""
    keys: tuple[tuple[str, ...], ...]
    """For each tool, the `Category.key` of its source and tags."""

    def __init__(self, tools: Sequence[ToolReference]) -> None:
        self.tools = tuple(sorted(_validated(tools), key=lambda tool: tool.name))
        for before, after in zip(self.tools, self.tools[1:], strict=False):
            if before.name == after.name:
                raise DuplicateToolError(f"tool names must be distinct within an index, got {after.name!r} twice")
        self._by_key: dict[str, list[int]] = {}
        members: dict[str, set[int]] = {}
        labels: dict[str, str] = {}
        self.keys = tuple(tuple(dict.fromkeys(map(identifier_key, tool.categories))) for tool in self.tools)
        for position, (tool, keys) in enumerate(zip(self.tools, self.keys, strict=True)):
            self._by_key.setdefault(identifier_key(tool.name), []).append(position)
            for key in keys:
                members.setdefault(key, set()).add(position)
            for label in filter(str.strip, tool.categories):
                labels.setdefault(identifier_key(label), replace_surrogates(label))
        self._categories = {key: Category(key, frozenset(positions)) for key, positions in members.items()}
        self.labels = tuple(sorted(labels.values()))

    def __len__(self) -> int:
        return len(self.tools)

    def category(self, label: str) -> Category | None:
        """Return the category with a label, ignoring case and separators, or None if no tool has it."""
        return self._categories.get(identifier_key(label))

    def named_in(self, query: str) -> dict[int, float]:
        """Return position -> boost for each tool that the query names.

        A query names a tool if the whole query or a word with the form of an identifier is its name. The boost is
        highest for the exact spelling, lower for different case or separators, and lowest for different accents.
        """
        found: dict[int, float] = {}
        whole = query.strip()
        for text in (whole if len(whole) <= _MAX_NAME_CHARACTERS else "", *identifiers_in(query)):
            for position in self._by_key.get(identifier_key(text), ()) if text else ():
                boost = _name_boost(self.tools[position].name, text)
                found[position] = max(boost, found.get(position, 0.0))
        return found


def _name_boost(name: str, text: str) -> float:
    if name == text:
        return _EXACT_NAME_BOOST
    return _VARIANT_NAME_BOOST if accented_key(name) == accented_key(text) else _UNACCENTED_NAME_BOOST


def _validated(tools: object) -> Iterator[ToolReference]:
    for tool in tools if isinstance(tools, Iterable) else (tools,):
        if not isinstance(tool, ToolReference):
            hint = "; pass tool.reference" if isinstance(getattr(tool, "reference", None), ToolReference) else ""
            raise ConfigurationError(
                f"tools must be a list of ToolReference objects, got {type(tool).__name__}: {short_repr(tool)}{hint}"
            )
        yield tool
