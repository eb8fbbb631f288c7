"""Token counts of requests, from the JSON that the provider receives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...chat.requests import ChatRequest
from ...chat.tokens import TokenCounter
from ...messages import AssistantMessage
from ...models.openai.wire import wire_messages, wire_tools
from ...tools.tool_type import Tool

__all__ = ["Payload", "PayloadCounter"]


@dataclass(frozen=True, slots=True)
class Payload:
    """Request in the chat completions format, in parts, in the order in which providers render them.

    Args:
        tools: The tool definitions as JSON.
        system: The system messages as JSON.
        messages: The other messages as JSON.
    """

    tools: tuple[str, ...]
    system: tuple[str, ...]
    messages: tuple[str, ...]

    @classmethod
    def from_request(cls, request: ChatRequest) -> Payload:
        """Return the payload of a request."""
        sent = wire_messages(request.messages)
        return cls(
            tools=tuple(map(_json, wire_tools(request.tools))),
            system=tuple(_json(message) for message in sent if message["role"] == "system"),
            messages=tuple(_json(message) for message in sent if message["role"] != "system"),
        )


class PayloadCounter:
    """Counter of the tokens of payloads. It counts a list of definitions once, since many requests share it.

    Args:
        counter: Counts the tokens of a string.

    Example:
        >>> from ...chat.tokens import EstimateTokenCounter
        >>> PayloadCounter(EstimateTokenCounter()).count(Payload((), (), ('{"role":"user","content":"Hi"}',)))
        8
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._count = counter.count
        self._count_cached = lru_cache(maxsize=512)(counter.count)

    def count(self, payload: Payload) -> int:
        """Return the tokens of the whole request."""
        return self.definitions(payload.tools) + self._count(_array((*payload.system, *payload.messages)))

    def definitions(self, tools: Sequence[str]) -> int:
        """Return the tokens of a list of definitions as JSON. An empty list is not sent and has none."""
        return self._count_cached(_array(tools)) if tools else 0

    def definitions_of(self, tools: Sequence[Tool]) -> int:
        """Return the tokens of the definitions of `tools`."""
        return self.definitions(tuple(map(_json, wire_tools(tools))))

    def each_of(self, tools: Sequence[Tool]) -> list[int]:
        """Return the tokens of the definition of each tool."""
        return [self._count(_json(definition)) for definition in wire_tools(tools)]

    def shared(self, payload: Payload, before: Payload) -> int:
        """Return the tokens of the longest common prefix of two requests: tools, then system, then messages."""
        shared = _common_length(payload.tools, before.tools)
        total = self.definitions(payload.tools[:shared])
        if shared < max(len(payload.tools), len(before.tools)):
            return total
        system = _common_length(payload.system, before.system)
        conversation: tuple[str, ...] = payload.system[:system]
        if system == max(len(payload.system), len(before.system)):
            conversation += payload.messages[: _common_length(payload.messages, before.messages)]
        return total + (self._count(_array(conversation)) if conversation else 0)

    def reply(self, message: AssistantMessage) -> int:
        """Return the tokens of an answer: its text, and the name and arguments of each tool call."""
        calls = [_json({"name": call.name, "arguments": call.arguments}) for call in message.tool_calls]
        return sum(map(self._count, filter(None, [message.text, *calls])))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _array(parts: Sequence[str]) -> str:
    return f"[{','.join(parts)}]"


def _common_length(parts: Sequence[str], others: Sequence[str]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b), min(len(parts), len(others))
    )
