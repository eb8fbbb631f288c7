"""Other libraries that search tools, asked the way their users ask them; each is left out where it is not installed.

None of them is a dependency: ``pip install ratel-ai fastmcp haystack-ai pydantic-ai-slim`` beside toolsearch, and they
appear in the tables. Only search by words is compared, with the settings each has by default.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from ...errors import ConfigurationError
from ...indexes.reference import ToolReference
from ...text import one_line
from .baselines import RankBm25

__all__ = ["PEERS", "Peer", "Search", "installed_peers"]

Search: TypeAlias = Callable[[str, int], Sequence[str]]
"""From a query and a number to the names of at most so many tools, best first."""

_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with.

    Args:
        name: in tables.
        distribution: what pip installs.
        prepare: makes the library's own objects of the tools, and returns what builds the index over them. A user has
            these objects anyway, so making them is not counted.
    """

    name: str
    distribution: str
    prepare: Callable[[Sequence[ToolReference]], Callable[[], Search]]


def installed_peers(names: Sequence[str] | None = None) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can be used here, and of the others why not.

    Args:
        names: those wanted; None means all.

    Raises:
        ConfigurationError: an unknown name.
    """
    for name in names or ():
        if name not in PEERS:
            raise ConfigurationError(f"there is no peer {name!r}; there are {', '.join(PEERS)}")
    usable: list[Peer] = []
    skipped: dict[str, str] = {}
    for name, peer in PEERS.items():
        if names is not None and name not in names:
            continue
        try:
            version(peer.distribution)
        except PackageNotFoundError:
            skipped[name] = f"not installed (pip install {peer.distribution})"
            continue
        try:
            peer.prepare(_PROBE)()("probe", 1)
        except Exception as error:  # another version, another API: said, and gone on without
            skipped[name] = f"installed, but failed: {type(error).__name__}: {one_line(str(error), 120)}"
        else:
            usable.append(peer)
    return usable, skipped


def _rank_bm25(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    return lambda: RankBm25(tools).search


def _ratel(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    ratel: Any = importlib.import_module("ratel_ai")
    own = [
        ratel.Tool(id=tool.name, name=tool.name, description=tool.description, input_schema=_schema(tool))
        for tool in tools
    ]

    def build() -> Search:
        registry = ratel.ToolRegistry()
        registered = registry.register(own)  # done; awaiting it waits for embeddings, which are not asked for
        with contextlib.suppress(AttributeError):
            registered.close()
        registry.search("warm", 1)  # the first search completes the index
        return lambda query, k: [hit.tool_id for hit in registry.search(query, k)]

    return build


def _fastmcp(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    search: Any = importlib.import_module("fastmcp.server.transforms.search")
    tool_class: Any = importlib.import_module("fastmcp.tools.base").Tool
    own = [tool_class(name=tool.name, description=tool.description, parameters=_schema(tool)) for tool in tools]

    def build() -> Search:
        transform = search.BM25SearchTransform(max_results=_DEEPEST)
        _finished(transform._search(own, "warm"))
        return lambda query, k: [tool.name for tool in _finished(transform._search(own, query))[:k]]

    return build


def _haystack(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    haystack: Any = importlib.import_module("haystack.tools")
    # It searches names and descriptions only, and refuses a schema with a mistake in it.
    schema = {"type": "object", "properties": {}}
    own = [
        haystack.Tool(name=tool.name, description=tool.description, parameters=schema, function=len) for tool in tools
    ]

    def build() -> Search:
        toolset = haystack.SearchableToolset(own, search_threshold=0)
        toolset.warm_up()
        tool = next(iter(toolset))

        def search(query: str, k: int) -> Sequence[str]:
            answer = tool.invoke(tool_keywords=query, k=k)
            _, _, names = answer.removesuffix(". Use them directly as tools.").partition("tool(s): ")
            return names.split(", ") if names else []

        return search

    return build


def _pydantic_ai(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    search: Any = importlib.import_module("pydantic_ai.toolsets._tool_search")
    definition: Any = importlib.import_module("pydantic_ai.tools").ToolDefinition
    own = [
        definition(name=tool.name, description=tool.description, parameters_json_schema=_schema(tool)) for tool in tools
    ]
    return lambda: lambda query, k: search.keywords_search_fn(None, [query], own)[:k]


def _schema(tool: ToolReference) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **(tool.parameters or {})}


def _finished(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits, without an event loop, whose cost is not the search's."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("the search waited for something")


_PROBE = [
    ToolReference(name="probe", description="Probe something", parameters={"type": "object", "properties": {}}),
    ToolReference(name="other", description="Something else", parameters={"type": "object", "properties": {}}),
]

PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("rank_bm25", "rank-bm25", _rank_bm25),
        Peer("ratel", "ratel-ai", _ratel),
        Peer("fastmcp", "fastmcp", _fastmcp),
        Peer("haystack", "haystack-ai", _haystack),
        Peer("pydantic-ai", "pydantic-ai-slim", _pydantic_ai),
    )
}
"""By name, the plain baseline first."""
