"""The indexes that are compared: ours by name, and the peers that are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ...indexes.protocols import ToolIndex
from ...indexes.reference import ToolReference
from ..index_options import make_indexes
from .peers import PEERS, Peer, Search

__all__ = ["Rival", "find_rival", "own_rival", "peer_rival"]


@dataclass(frozen=True, slots=True)
class Rival:
    """Something that searches tools.

    Args:
        name: in tables.
        prepare: takes the tools and returns what builds the index, which returns the search.
        peer: whether it is another library's.
        version: of that library.
    """

    name: str
    prepare: Callable[[Sequence[ToolReference]], Callable[[], Search]]
    peer: bool = False
    version: str | None = None


def own_rival(name: str, index: ToolIndex) -> Rival:
    """An index of ours, or a plug-in."""

    def prepare(tools: Sequence[ToolReference]) -> Callable[[], Search]:
        def build() -> Search:
            searcher = index.build(tools)
            return lambda query, k: searcher.search(query, max_results=k).names

        return build

    return Rival(name, prepare)


def peer_rival(peer: Peer) -> Rival:
    """Another library."""
    return Rival(peer.name, peer.prepare, peer=True, version=version(peer.distribution))


def find_rival(name: str, embedder: str | None = None) -> Rival:
    """Return the index or peer of this name.

    Raises:
        ConfigurationError: there is none.
        MissingExtraError: it needs an extra that is not installed.
    """
    if name in PEERS:
        return peer_rival(PEERS[name])
    return own_rival(name, make_indexes([name], embedder)[name])
