"""Chains of advisors: sorted, with at most one memory, and with a tool-calling loop unless it is switched off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..chat.turn_memory import TurnMemory, TurnMemoryProvider
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, sort_advisors
from ..loop.tool_calling import ToolCallingAdvisor

__all__ = ["build_chain", "create_inner_memory", "sort_client_advisors"]


def sort_client_advisors(advisors: Iterable[Advisor]) -> tuple[Advisor, ...]:
    """Return the advisors of a client, from the outermost to the innermost.

    Raises:
        ConfigurationError: If an element is not an advisor, or if there are two tool advisors or two memory advisors.
    """
    chain = sort_advisors(advisors)
    _validate_one_tool_advisor(chain)
    _validate_one_memory(chain)
    return chain


def build_chain(advisors: Iterable[Advisor], *, tool_calling: bool) -> tuple[Advisor, ...]:
    """Return the chain of one call.

    Args:
        advisors: The advisors of the client and of the call.
        tool_calling: True adds a `ToolCallingAdvisor` if `advisors` has no tool advisor. False removes all tool
            advisors; then there may be several.

    Raises:
        ConfigurationError: If an element is not an advisor, or if there are two tool advisors or two memory advisors.
    """
    chain = sort_advisors(advisors)
    _validate_one_memory(chain)
    if not tool_calling:
        return tuple(advisor for advisor in chain if not isinstance(advisor, ToolCallingAdvisor))
    _validate_one_tool_advisor(chain)
    if any(isinstance(advisor, ToolCallingAdvisor) for advisor in chain):
        return chain
    return sort_advisors((*chain, ToolCallingAdvisor()))


def create_inner_memory(chain: Sequence[Advisor]) -> TurnMemory | None:
    """Return a new `TurnMemory` if the chain has a memory advisor inside its tool-calling loop."""
    inside = False
    for advisor in chain:
        if inside and isinstance(advisor, TurnMemoryProvider):
            return advisor.turn_memory()
        inside = inside or isinstance(advisor, ToolCallingAdvisor)
    return None


def _validate_one_tool_advisor(chain: Sequence[Advisor]) -> None:
    _validate_at_most_one([advisor for advisor in chain if isinstance(advisor, ToolCallingAdvisor)], "tool advisor")


def _validate_one_memory(chain: Sequence[Advisor]) -> None:
    _validate_at_most_one([advisor for advisor in chain if isinstance(advisor, TurnMemoryProvider)], "memory advisor")


def _validate_at_most_one(advisors: Sequence[Advisor], kind: str) -> None:
    if len(advisors) > 1:
        found = ", ".join(f"{type(advisor).__name__}(order={advisor.order})" for advisor in advisors)
        raise ConfigurationError(f"a chain must have one {kind}, got {len(advisors)}: {found}; keep one of them")
