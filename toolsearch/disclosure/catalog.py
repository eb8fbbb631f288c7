"""The tools of a request, prepared once: by name, as a set to index, and in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from cachetools import LRUCache

from ..chat.tokens import TokenCounter
from ..shared.fork import new_lock
from ..tools.tool_type import Tool
from .sessions.tool_set import ToolSet

__all__ = ["ToolCatalog", "ToolCatalogCache", "definition_tokens"]

MAX_CACHED_CATALOGS = 64


class ToolCatalog:
    """The tools that a session may have.

    Attributes:
        tools: The tools by the name that the model sees, in the order given.
        references: The same tools as a `ToolSet`.
    """

    def __init__(self, tools: Sequence[Tool], counter: TokenCounter) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self.references = ToolSet(tool.reference for tool in tools)
        self._counter = counter
        self._tokens: dict[str, int] = {}

    def tokens(self, name: str) -> int:
        """Return the tokens of one definition."""
        if name not in self._tokens:
            self._tokens[name] = definition_tokens(self.tools[name], self._counter)
        return self._tokens[name]

    @property
    def total_tokens(self) -> int:
        """The tokens of all definitions."""
        return sum(map(self.tokens, self.tools))


class ToolCatalogCache:
    """The catalogs of recent requests. A client's tools are the same objects in each call, so they are hashed once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._recent: LRUCache[tuple[Tool, ...], ToolCatalog] = LRUCache(MAX_CACHED_CATALOGS)
        self._lock = new_lock()

    def get(self, tools: tuple[Tool, ...]) -> ToolCatalog:
        """Return the catalog of exactly these tools."""
        with self._lock:
            catalog = self._recent.get(tools)
        if catalog is None:
            catalog = ToolCatalog(tools, self._counter)
            with self._lock:
                self._recent[tools] = catalog
        return catalog


def definition_tokens(tool: Tool, counter: TokenCounter) -> int:
    """Return the tokens of a definition in the compact JSON that providers receive."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    wire = {"type": "function", "function": definition}
    return counter.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
