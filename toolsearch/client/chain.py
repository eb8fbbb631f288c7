"""Which chain a client's call runs through: its advisors in order, at most one loop and one memory, a loop if none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..chat.turn_memory import TurnMemory, TurnMemoryProvider
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, in_order
from ..loop.tool_calling import ToolCallingAdvisor

__all__ = ["chain_of", "client_advisors", "inner_memory"]


def client_advisors(advisors: Iterable[Advisor]) -> tuple[Advisor, ...]:
    """Return a client's advisors in order.

    Raises:
        ConfigurationError: for what is no advisor, two tool advisors, or two memories.
    """
    ordered = in_order(advisors)
    _check_one_tool_advisor(ordered)
    _check_one_memory(ordered)
    return ordered


def chain_of(advisors: Iterable[Advisor], *, tool_calling: bool) -> tuple[Advisor, ...]:
    """Return the chain of one call, with a plain loop added if there is none, or without any if it is switched off.

    Raises:
        ConfigurationError: as `client_advisors`; tool advisors that are switched off may be several.
    """
    ordered = in_order(advisors)
    _check_one_memory(ordered)
    if not tool_calling:
        return tuple(advisor for advisor in ordered if not isinstance(advisor, ToolCallingAdvisor))
    _check_one_tool_advisor(ordered)
    if any(isinstance(advisor, ToolCallingAdvisor) for advisor in ordered):
        return ordered
    return in_order((*ordered, ToolCallingAdvisor()))


def inner_memory(chain: Sequence[Advisor]) -> TurnMemory | None:
    """Return what keeps the turn, if a memory advisor is further in than the tool loop."""
    inside = False
    for advisor in chain:
        if inside and isinstance(advisor, TurnMemoryProvider):
            return advisor.turn_memory()
        inside = inside or isinstance(advisor, ToolCallingAdvisor)
    return None


def _check_one_tool_advisor(advisors: Sequence[Advisor]) -> None:
    loops = [advisor for advisor in advisors if isinstance(advisor, ToolCallingAdvisor)]
    if len(loops) > 1:
        found = ", ".join(f"{type(loop).__name__}(order={loop.order})" for loop in loops)
        raise ConfigurationError(f"a chain has one tool advisor, this one has {len(loops)}: {found}; keep one of them")


def _check_one_memory(advisors: Sequence[Advisor]) -> None:
    keepers = [advisor for advisor in advisors if isinstance(advisor, TurnMemoryProvider)]
    if len(keepers) > 1:
        found = ", ".join(f"{type(keeper).__name__}(order={keeper.order})" for keeper in keepers)
        raise ConfigurationError(f"a chain has one memory advisor, this one has {len(keepers)}: {found}; keep one")
