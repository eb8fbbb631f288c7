"""TODO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import ConfigurationError, DuplicateToolError
from ...text import replace_surrogates, short_repr
from ..reference import ToolReference
from ..text.identifiers import accented_key, identifier_key, identifiers_in

__all__ = ["Catalog", "Category"]


_LONGEST_NAME = 256


_SPELLED = 3.0


_VARIANT = 2.0


_UNACCENTED = 1.5


@dataclass(frozen=True, slots=True)
class Category:
    """A source or tag: its key (casing and separators ignored) and where in the catalog its tools stand."""

    key: str
    positions: frozenset[int]


class Catalog:
    """The tools of one searcher, in order of name, with their categories and names to look up. Immutable.

    Raises:
        ConfigurationError: something in `tools` is not a `ToolReference`.
        DuplicateToolError: two tools have one name.
    """

    __slots__ = ("_by_key", "_categories", "keys", "labels", "tools")

    tools: tuple[ToolReference, ...]
    """In order of name; a position counts in it."""
    labels: tuple[str, ...]
    """Every source and tag as written, in order."""
    keys: tuple[tuple[str, ...], ...]
    """Of each tool, the `Category.key` of its source and tags."""

    def __init__(self, tools: Sequence[ToolReference]) -> None:
        self.tools = tuple(sorted(_checked(tools), key=lambda tool: tool.name))
        for before, after in zip(self.tools, self.tools[1:], strict=False):
            if before.name == after.name:
                raise DuplicateToolError(f"two tools are named {after.name!r}; names must be distinct within one index")
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
        """Return the source or tag `label`, ignoring casing and separators, or None if no tool has it."""
        return self._categories.get(identifier_key(label))

    def named_in(self, query: str) -> dict[int, float]:
        """Return the tools the query names: all of it, or a word shaped like an identifier.

        The value says how surely: the very spelling counts for more than another casing or separator, and that for
        more than other accents.
        """
        found: dict[int, float] = {}
        whole = query.strip()
        for text in (whole if len(whole) <= _LONGEST_NAME else "", *identifiers_in(query)):
            for position in self._by_key.get(identifier_key(text), ()) if text else ():
                surety = _surety(self.tools[position].name, text)
                found[position] = max(surety, found.get(position, 0.0))
        return found


def _surety(name: str, text: str) -> float:
    if name == text:
        return _SPELLED
    return _VARIANT if accented_key(name) == accented_key(text) else _UNACCENTED


def _checked(tools: object) -> Iterator[ToolReference]:
    for tool in tools if isinstance(tools, Iterable) else (tools,):
        if not isinstance(tool, ToolReference):
            hint = "; pass tool.reference" if isinstance(getattr(tool, "reference", None), ToolReference) else ""
            raise ConfigurationError(
                f"an index is built of a list of ToolReference objects, not of {type(tool).__name__}: "
                f"{short_repr(tool)}{hint}"
            )
        yield tool
