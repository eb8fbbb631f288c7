"""A case of the heartbeat benchmark, and clients for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ...client.client import ChatClient
from ...disclosure.advisor import ToolSearchAdvisor
from ...testing import ScriptedAnswer, ScriptedChatModel
from ...tools.tool_type import Tool

__all__ = ["Case", "Turn", "client_case", "search_client"]

_WORDS = "read write list delete update issue pull request file branch user invoice order report chart mail".split()  # noqa: SIM905

Turn = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Case:
    """A turn to measure.

    Args:
        group: The kind of work: ``idle``, ``blocking`` or ``hostile``.
        name: What happens in the turn.
        prepare: Returns a new turn, so that caches do not help.
    """

    group: str
    name: str
    prepare: Callable[[], Turn]


def client_case(group: str, name: str, client: Callable[[], ChatClient], prompt: str = "Go.", **arguments: Any) -> Case:
    """Return a case in which a new client gets a prompt."""

    def prepare() -> Turn:
        made = client()
        return lambda: made.acall(prompt, **arguments)

    return Case(group, name, prepare)


def search_client(index: str, number: int, query: str = "delete the invoice of a user") -> ChatClient:
    """Return a client that searches `number` tools."""
    tools = [
        Tool(
            f"{_WORDS[n % 15]}_{_WORDS[n % 13]}_{n}",
            f"{_WORDS[n % 7].capitalize()} the {_WORDS[n % 11]} of a {_WORDS[n % 16]}, with all that belongs to it.",
            {"type": "object", "properties": {f"{_WORDS[n % 9]}_id": {"type": "string", "description": "Which one."}}},
        )
        for n in range(number)
    ]
    script: list[ScriptedAnswer] = [[("tool_search", {"query": query})], "done"]
    return ChatClient(ScriptedChatModel(script), tools=tools, advisors=[ToolSearchAdvisor(index)])
