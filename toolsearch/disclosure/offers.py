"""The offer of a session: whether its tools are searched, and what the search tool says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..messages import AssistantMessage, Message, SearchScope
from . import sentences
from .sessions.tool_set import ToolSet
from .settings import DisclosureSettings

__all__ = ["Offer", "exceeds", "find_scope", "make_offer", "offer_of", "revise_offer", "scope_of"]

_NO_SOURCES: Mapping[str, int] = MappingProxyType({})

GROWTH_FACTOR = 4
"""Growth of a catalog above which an offer is revised.

A revision changes the beginning of the session's requests, so the provider reads the whole conversation once without
its cache. A cached token costs about a tenth of a new one. With several times the tools, the definitions that a session
sends under `reveal_all_below` soon cost more than that, and a description that is wrong by more than three quarters no
longer helps the model to search. Small changes never cost the prefix.
"""


@dataclass(frozen=True, slots=True)
class Offer:
    """Search as a session was first shown it. It stays the same, so that the start of its requests does not change.

    `Disclosure.open` revises it if the catalog has grown many times over, or if it names more than the session has.

    Args:
        reveals_all: Whether all tools are sent and the search tool is not.
        description: The description of the search tool.
        categories: Whether the search tool takes a category.
        sources: The sources that the description names, with the number of tools of each.
        tools: The number of tools.
        tokens: The tokens of all definitions, or None if they were not counted.

    Example:
        >>> Offer(reveals_all=True).description
        ''
    """

    reveals_all: bool
    description: str = ""
    categories: bool = False
    sources: Mapping[str, int] = field(default_factory=lambda: _NO_SOURCES, hash=False)
    tools: int = 0
    tokens: int | None = None


def make_offer(settings: DisclosureSettings, tools: ToolSet, tokens: int | None) -> Offer:
    """Return the offer for a session that begins with these tools."""
    limit = settings.reveal_all_below
    return Offer(
        reveals_all=limit is not None and tokens is not None and tokens < limit,
        description=sentences.search_tool_description(len(tools), tools.sources),
        categories=bool(tools.categories),
        sources=tools.sources,
        tools=len(tools),
        tokens=tokens,
    )


def offer_of(scope: SearchScope) -> Offer:
    """Return the offer that a conversation shows."""
    sources = dict(sorted(scope.sources.items()))
    return Offer(
        reveals_all=scope.reveals_all,
        description=sentences.search_tool_description(scope.tools, sources),
        categories=scope.categories,
        sources=sources,
        tools=scope.tools,
        tokens=scope.tokens,
    )


def scope_of(offer: Offer) -> SearchScope:
    """Return the form in which a conversation shows an offer."""
    return SearchScope(offer.tools, offer.tokens, dict(offer.sources), offer.categories, offer.reveals_all)


def find_scope(conversation: Sequence[Message]) -> SearchScope | None:
    """Return what a conversation shows last about the tools that there are, or None."""
    scopes = (message.scope for message in reversed(conversation) if isinstance(message, AssistantMessage))
    return next((scope for scope in scopes if scope is not None), None)


def revise_offer(kept: Offer, fresh: Offer, tools: ToolSet, *, may_grow: bool) -> tuple[Offer, str]:
    """Return the offer for a turn of a session that has one, and the reason if it is a new one.

    Args:
        kept: The offer of the session.
        fresh: The offer that a new session would get now.
        tools: The tools of this turn.
        may_grow: Whether growth counts. It does not in the middle of a turn of the user.
    """
    if kept.reveals_all:
        before, now = kept.tokens or 0, fresh.tokens or 0
        if may_grow and not fresh.reveals_all and now >= GROWTH_FACTOR * before:
            return fresh, "grown"
    elif exceeds(kept, tools):
        return replace(fresh, reveals_all=False), "shrunk"
    elif may_grow and len(tools) >= GROWTH_FACTOR * kept.tools:
        return replace(fresh, reveals_all=False), "grown"
    return kept, ""


def exceeds(offer: Offer, tools: ToolSet) -> bool:
    """Return whether an offer tells of tools that are not among `tools`, for example because a filter rejects them."""
    if offer.reveals_all:
        return False  # it has no description that is sent
    return offer.tools > len(tools) or any(tools.sources.get(name, 0) < n for name, n in offer.sources.items())
