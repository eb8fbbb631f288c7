"""TODO."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from threading import Lock

from cachetools import LRUCache

from ..chat.tokens import TokenCounter
from ..tools.tool import Tool
from .sessions.tool_set import ToolSet

__all__ = ["Catalog", "CatalogCache", "definition_tokens"]


_CATALOGS = 64


class Catalog:
    """The tools that a session may have: by name, as a set to index, and in tokens.

    Attributes:
        tools: by the name the model sees, in the order given.
        references: the same as a `ToolSet`.
    """

    def __init__(self, tools: Sequence[Tool], counter: TokenCounter) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self.references = ToolSet(tool.reference for tool in tools)
        self._counter = counter
        self._tokens: dict[str, int] = {}

    def tokens(self, name: str) -> int:
        """Tokens of one definition."""
        if name not in self._tokens:
            self._tokens[name] = definition_tokens(self.tools[name], self._counter)
        return self._tokens[name]

    @property
    def total(self) -> int:
        """Tokens of all definitions."""
        return sum(map(self.tokens, self.tools))


class CatalogCache:
    """Keeps the catalogs of recent requests: a client's tools are the same objects at each call, and hashed once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._recent: LRUCache[tuple[Tool, ...], Catalog] = LRUCache(_CATALOGS)
        self._lock = Lock()

    def get(self, tools: tuple[Tool, ...]) -> Catalog:
        """Return the catalog of exactly these tools."""
        with self._lock:
            catalog = self._recent.get(tools)
        if catalog is None:
            catalog = Catalog(tools, self._counter)
            with self._lock:
                self._recent[tools] = catalog
        return catalog


def definition_tokens(tool: Tool, counter: TokenCounter) -> int:
    """Tokens of a tool's definition, in the compact JSON that providers are sent."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    wire = {"type": "function", "function": definition}
    return counter.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
