"""Peers: other libraries that search tools, called as their users call them.

They are not dependencies. The tables have those that are installed, for example with
``pip install ratel-ai fastmcp haystack-ai pydantic-ai-slim``. Only search by words is compared, with default settings.
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
"""Function from a query and a maximum number of results to the names of the tools found, best first."""

_MAX_RESULTS = 10


@dataclass(frozen=True, slots=True)
class Peer:
    """Library to compare with.

    Args:
        name: Name in tables.
        distribution: Name of the distribution that pip installs.
        prepare: Converts the tools to objects of the library and returns a function that builds the index over them.
            The conversion is not timed, since users of the library have these objects anyway.
    """

    name: str
    distribution: str
    prepare: Callable[[Sequence[ToolReference]], Callable[[], Search]]


def installed_peers(names: Sequence[str] | None = None) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that are installed and work, and the reasons why the others are left out.

    Args:
        names: Names of peers; None means all.

    Raises:
        ConfigurationError: A name is unknown.
    """
    for name in names or ():
        if name not in PEERS:
            raise ConfigurationError(f"peer must be one of {', '.join(PEERS)}, got {name!r}")
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
        except Exception as error:  # another version may have another API: report and continue
            skipped[name] = f"installed, but failed: {type(error).__name__}: {one_line(str(error), 120)}"
        else:
            usable.append(peer)
    return usable, skipped


def _rank_bm25(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    return lambda: RankBm25(tools).search


def _ratel(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    ratel: Any = importlib.import_module("ratel_ai")
    converted = [
        ratel.Tool(id=tool.name, name=tool.name, description=tool.description, input_schema=_schema(tool))
        for tool in tools
    ]

    def build() -> Search:
        registry = ratel.ToolRegistry()
        registered = registry.register(
            converted
        )  # already done; awaiting would wait for embeddings, which are not used
        with contextlib.suppress(AttributeError):
            registered.close()
        registry.search("warm", 1)  # the first search completes the index
        return lambda query, k: [hit.tool_id for hit in registry.search(query, k)]

    return build


def _fastmcp(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    search: Any = importlib.import_module("fastmcp.server.transforms.search")
    tool_class: Any = importlib.import_module("fastmcp.tools.base").Tool
    converted = [tool_class(name=tool.name, description=tool.description, parameters=_schema(tool)) for tool in tools]

    def build() -> Search:
        transform = search.BM25SearchTransform(max_results=_MAX_RESULTS)
        _result_of(transform._search(converted, "warm"))
        return lambda query, k: [tool.name for tool in _result_of(transform._search(converted, query))[:k]]

    return build


def _haystack(tools: Sequence[ToolReference]) -> Callable[[], Search]:
    haystack: Any = importlib.import_module("haystack.tools")
    # It searches only names and descriptions, and rejects invalid schemas.
    schema = {"type": "object", "properties": {}}
    converted = [
        haystack.Tool(name=tool.name, description=tool.description, parameters=schema, function=len) for tool in tools
    ]

    def build() -> Search:
        toolset = haystack.SearchableToolset(converted, search_threshold=0)
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
    converted = [
        definition(name=tool.name, description=tool.description, parameters_json_schema=_schema(tool)) for tool in tools
    ]
    return lambda: lambda query, k: search.keywords_search_fn(None, [query], converted)[:k]


def _schema(tool: ToolReference) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **(tool.parameters or {})}


def _result_of(work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that never waits, without the cost of an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("the search must not wait")


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
"""Peers by name, the plain baseline first."""
