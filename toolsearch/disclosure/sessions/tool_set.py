"""The tools of a session as one immutable value."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from ...errors import ConfigurationError, DuplicateToolError
from ...indexes.reference import ToolReference
from ...tools.argument_types import collect_finite

__all__ = ["ToolSet", "coerce_tool_set"]


class ToolSet:
    """Tools with distinct names. Sets of equal content are equal, in whatever order, and sessions share their index.

    Keep a set while the tools stay the same: its content is hashed once.

    Args:
        tools: The tools, in the order to keep.

    Raises:
        DuplicateToolError: If two tools have the same name or identity.
        ConfigurationError: If an item of `tools` is not a `ToolReference`.

    Example:
        >>> ab = ToolSet([ToolReference(name="a", source="x"), ToolReference(name="b", source="x")])
        >>> ab.names, dict(ab.sources), "a" in ab
        (('a', 'b'), {'x': 2}, True)
        >>> ab == ToolSet(reversed(ab.tools))
        True
    """

    __slots__ = ("__weakref__", "_by_identity", "_by_name", "_categories", "_digest", "_sources", "_tools")

    def __init__(self, tools: Iterable[ToolReference] = ()) -> None:
        self._tools = tuple(tools)
        self._by_name: dict[str, ToolReference] = {}
        self._by_identity: dict[str, ToolReference] = {}
        self._digest: bytes | None = None
        self._sources: Mapping[str, int] | None = None
        self._categories: Mapping[str, int] | None = None
        for tool in self._tools:
            if not isinstance(tool, ToolReference):
                raise ConfigurationError(f"the items of a ToolSet must be ToolReference objects, got {tool!r}")
            other = self._by_name.setdefault(tool.name, tool)
            if other is not tool:
                raise _duplicate(other, tool)
            other = self._by_identity.setdefault(tool.identity, tool)
            if other is not tool:
                raise DuplicateToolError(
                    f"the tools {other.name!r} and {tool.name!r} have the same identity {tool.identity!r}; "
                    "give one of them another source"
                )
        if len(self._by_name) != len(self._tools):  # the same object was given twice
            name = next(name for name, count in Counter(tool.name for tool in self._tools).items() if count > 1)
            raise _duplicate(self._by_name[name], self._by_name[name])

    @property
    def tools(self) -> tuple[ToolReference, ...]:
        """The tools in the order given."""
        return self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the same order."""
        return tuple(self._by_name)

    @property
    def digest(self) -> bytes:
        """A hash of the content: 16 bytes of BLAKE2b over the sorted digests of the tools. Computed once."""
        if self._digest is None:
            parts = sorted(tool.digest for tool in self._tools)
            self._digest = hashlib.blake2b(b"".join(parts), digest_size=16).digest()
        return self._digest

    @property
    def sources(self) -> Mapping[str, int]:
        """The number of tools of each source, sorted by source. Tools without a source are not counted."""
        if self._sources is None:
            self._sources = _counted(tool.source for tool in self._tools if tool.source)
        return self._sources

    @property
    def categories(self) -> Mapping[str, int]:
        """The number of tools of each category: the sources sorted by name, then the other tags sorted by name."""
        if self._categories is None:
            counts = _counted(category for tool in self._tools for category in dict.fromkeys(tool.categories))
            first = {source: counts[source] for source in self.sources}
            self._categories = MappingProxyType({**first, **counts})
        return self._categories

    def get(self, name: str) -> ToolReference | None:
        """Return the tool with this name, or None."""
        return self._by_name.get(name)

    def find(self, identity: str) -> ToolReference | None:
        """Return the tool with this identity, or None."""
        return self._by_identity.get(identity)

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[ToolReference]:
        return iter(self._tools)

    def __contains__(self, name: object) -> bool:
        """Return whether a tool has this *name*."""
        return isinstance(name, str) and name in self._by_name

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ToolSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<ToolSet of {len(self)} tools, {self.digest.hex()[:8]}>"


def coerce_tool_set(tools: ToolSet | Iterable[ToolReference]) -> ToolSet:
    """Return `tools` as a `ToolSet`; a set is returned as it is."""
    return tools if isinstance(tools, ToolSet) else ToolSet(collect_finite(tools, "tools"))


def _counted(names: Iterable[str]) -> Mapping[str, int]:
    return MappingProxyType(dict(sorted(Counter(names).items())))


def _duplicate(first: ToolReference, second: ToolReference) -> DuplicateToolError:
    sources = " and ".join(f"source {tool.source!r}" if tool.source else "no source" for tool in (first, second))
    return DuplicateToolError(
        f"two tools have the name {first.name!r} ({sources}); rename one, or prefix the names of its source"
    )
