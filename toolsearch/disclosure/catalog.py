"""The tools of a request, prepared once: by name, as a set to index, and in tokens."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import ref

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

    def __init__(self, tools: Sequence[Tool], content: CatalogContent, counter: TokenCounter) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self.references = content.references
        self._counter = counter
        self._tokens = content.tokens

    def tokens(self, name: str) -> int:
        """Return the tokens of one definition."""
        if name not in self._tokens:
            self._tokens[name] = definition_tokens(self.tools[name], self._counter)
        return self._tokens[name]

    @property
    def total_tokens(self) -> int:
        """The tokens of all definitions."""
        return sum(map(self.tokens, self.tools))


@dataclass(frozen=True, slots=True)
class CatalogContent:
    """Content of a catalog: the definitions of its tools, not the tools.

    Args:
        tools: The tools, which it does not keep alive.
        references: Their definitions as a set.
        tokens: The tokens of the definitions by name, as far as they were counted.
    """

    tools: tuple[ref[Tool], ...]
    references: ToolSet
    tokens: dict[str, int] = field(default_factory=dict)


class ToolCatalogCache:
    """The content of recent catalogs. A client's tools are the same objects in each call, so they are hashed once.

    The tools, with their functions, servers and whatever these close over, live only as long as somebody else holds
    them. The content of a catalog is dropped when one of its tools is gone.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._recent: LRUCache[tuple[int, ...], CatalogContent] = LRUCache(MAX_CACHED_CATALOGS)
        self._gone: deque[tuple[int, ...]] = deque()
        self._lock = new_lock()

    def get(self, tools: tuple[Tool, ...]) -> ToolCatalog:
        """Return the catalog of exactly these tools."""
        key = tuple(map(id, tools))
        with self._lock:
            while self._gone:
                self._recent.pop(self._gone.popleft(), None)
            content = self._recent.get(key)
        if content is None or any(known() is not tool for known, tool in zip(content.tools, tools, strict=True)):

            def forget(_tool: object) -> None:
                # The garbage collector calls this anywhere, also while this thread holds the lock.
                self._gone.append(key)

            references = ToolSet(tool.reference for tool in tools)
            content = CatalogContent(tuple(ref(tool, forget) for tool in tools), references)
            with self._lock:
                self._recent[key] = content
        return ToolCatalog(tools, content, self._counter)


def definition_tokens(tool: Tool, counter: TokenCounter) -> int:
    """Return the tokens of a definition in the compact JSON that providers receive."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    wire = {"type": "function", "function": definition}
    return counter.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
