"""Chains of advisors: sorted, with at most one memory, and with a tool-calling loop unless it is switched off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..chat.turn_memory import TurnMemory, TurnMemoryProvider
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, is_tool_loop, sort_advisors
from ..loop.guarding import ToolGate
from ..loop.tool_calling import ToolCallingAdvisor
from ..tools.guard import ToolGuard

__all__ = ["ClientChain", "build_chain", "create_inner_memory", "sort_client_advisors"]


def sort_client_advisors(advisors: Iterable[Advisor]) -> tuple[Advisor, ...]:
    """Return the advisors of a client, from the outermost to the innermost.

    Raises:
        ConfigurationError: If an element is not an advisor, or if there are two tool advisors or two memory advisors.
    """
    chain = sort_advisors(advisors)
    _validate_one_tool_advisor(chain)
    _validate_one_memory(chain)
    return chain


class ClientChain(NamedTuple):
    """The chain of one call, its tool-calling loop, and the guard of the loop.

    The loop is not part of the chain if it is switched off.
    """

    advisors: tuple[Advisor, ...]
    loop: Advisor
    guard: ToolGuard


def build_chain(advisors: Iterable[Advisor], default_loop: ToolCallingAdvisor, *, tool_calling: bool) -> ClientChain:
    """Return the chain of one call.

    Args:
        advisors: The advisors of the client and of the call.
        default_loop: The loop of the client, which keeps the rests of long results.
        tool_calling: True adds `default_loop` if `advisors` has no loop. False replaces the loop by its tool
            filter, which holds in both cases.

    Raises:
        ConfigurationError: If an element is not an advisor, or if there are two tool advisors or two memory advisors.
    """
    chain = sort_client_advisors(advisors)
    loop = next(filter(is_tool_loop, chain), None)
    if loop is None:
        loop = default_loop
        chain = sort_advisors((*chain, loop))
    guard = _guard_of(loop)
    if not tool_calling:
        send = loop.send_once if isinstance(loop, ToolCallingAdvisor) else None
        gate = ToolGate(guard, loop.order, send)
        at = chain.index(loop)
        chain = (*chain[:at], gate, *chain[at + 1 :])
    return ClientChain(chain, loop, guard)


def _guard_of(loop: Advisor) -> ToolGuard:
    """Return the tool filter of a loop. A loop of the application can have the attribute `tool_filter`."""
    return loop.guard if isinstance(loop, ToolCallingAdvisor) else ToolGuard(getattr(loop, "tool_filter", None))


def create_inner_memory(chain: Sequence[Advisor]) -> TurnMemory | None:
    """Return a new `TurnMemory` if the chain has a memory advisor inside its tool-calling loop."""
    inside = False
    for advisor in chain:
        if inside and isinstance(advisor, TurnMemoryProvider):
            return advisor.turn_memory()
        inside = inside or isinstance(advisor, ToolCallingAdvisor)
    return None


def _validate_one_tool_advisor(chain: Sequence[Advisor]) -> None:
    _validate_at_most_one(list(filter(is_tool_loop, chain)), "tool advisor")


def _validate_one_memory(chain: Sequence[Advisor]) -> None:
    _validate_at_most_one([advisor for advisor in chain if isinstance(advisor, TurnMemoryProvider)], "memory advisor")


def _validate_at_most_one(advisors: Sequence[Advisor], kind: str) -> None:
    if len(advisors) > 1:
        found = ", ".join(f"{type(advisor).__name__}(order={advisor.order})" for advisor in advisors)
        raise ConfigurationError(f"a chain must have one {kind}, got {len(advisors)}: {found}; keep one of them")
