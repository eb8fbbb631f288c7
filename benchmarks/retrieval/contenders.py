"""Contenders of the retrieval benchmark: indexes by name, and installed peer libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ...indexes.protocols import ToolIndex
from ...indexes.reference import ToolReference
from ..index_options import make_indexes
from .peers import PEERS, Peer, Search

__all__ = ["Contender", "find_contender", "index_contender", "peer_contender"]


@dataclass(frozen=True, slots=True)
class Contender:
    """Index or library that the benchmark measures.

    Args:
        name: Name in tables.
        prepare: Takes the tools and returns a function that builds the index and returns its search. Only that
            function is timed.
        peer: Whether it is another library.
        version: Version of that library.

    Example:
        >>> from toolsearch.indexes import ToolReference
        >>> first = Contender("first", lambda tools: lambda: lambda query, k: [tool.name for tool in tools[:k]])
        >>> search = first.prepare([ToolReference(name="ring_bell")])()
        >>> search("ring", 5)
        ['ring_bell']
    """

    name: str
    prepare: Callable[[Sequence[ToolReference]], Callable[[], Search]]
    peer: bool = False
    version: str | None = None


def index_contender(name: str, index: ToolIndex) -> Contender:
    """Return a contender for an index.

    Args:
        name: Name in tables.
        index: Any index, built in or your own.
    """

    def prepare(tools: Sequence[ToolReference]) -> Callable[[], Search]:
        def build() -> Search:
            searcher = index.build(tools)
            return lambda query, k: searcher.search(query, max_results=k).names

        return build

    return Contender(name, prepare)


def peer_contender(peer: Peer) -> Contender:
    """Return a contender for another library."""
    return Contender(peer.name, peer.prepare, peer=True, version=version(peer.distribution))


def find_contender(name: str, embedder: str | None = None) -> Contender:
    """Return the index or peer with this name.

    Raises:
        ConfigurationError: The name is unknown.
        MissingExtraError: The index needs an extra that is not installed.
    """
    if name in PEERS:
        return peer_contender(PEERS[name])
    return index_contender(name, make_indexes([name], embedder)[name])
