"""What a request costs: the tokens of the JSON that goes to the provider."""

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
from ...tools.tool import Tool

__all__ = ["Payload", "PayloadCounter"]


@dataclass(frozen=True, slots=True)
class Payload:
    """A request in chat-completions form, part by part, in the order in which providers render it.

    Args:
        tools: the definitions as JSON.
        system: the system messages as JSON.
        messages: the other messages as JSON.
    """

    tools: tuple[str, ...]
    system: tuple[str, ...]
    messages: tuple[str, ...]

    @classmethod
    def from_request(cls, request: ChatRequest) -> Payload:
        """The payload of a request."""
        sent = wire_messages(request.messages)
        return cls(
            tools=tuple(map(_json, wire_tools(request.tools))),
            system=tuple(_json(message) for message in sent if message["role"] == "system"),
            messages=tuple(_json(message) for message in sent if message["role"] != "system"),
        )


class PayloadCounter:
    """Counts the tokens of payloads; the long lists of definitions that many requests share are counted once.

    Args:
        counter: counts a text.

    Example:
        >>> from ...chat.tokens import EstimateTokenCounter
        >>> PayloadCounter(EstimateTokenCounter()).count(Payload((), (), ('{"role":"user","content":"Hi"}',)))
        8
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._count = counter.count
        self._count_kept = lru_cache(maxsize=512)(counter.count)

    def count(self, payload: Payload) -> int:
        """The tokens of the whole request."""
        return self.definitions(payload.tools) + self._count(_array((*payload.system, *payload.messages)))

    def definitions(self, tools: Sequence[str]) -> int:
        """The tokens of a list of definitions; none for an empty list, which is not sent."""
        return self._count_kept(_array(tools)) if tools else 0

    def definitions_of(self, tools: Sequence[Tool]) -> int:
        """The tokens of the definitions of `tools`."""
        return self.definitions(tuple(map(_json, wire_tools(tools))))

    def each_of(self, tools: Sequence[Tool]) -> list[int]:
        """The tokens of the definition of each tool by itself."""
        return [self._count(_json(definition)) for definition in wire_tools(tools)]

    def shared(self, payload: Payload, before: Payload) -> int:
        """The tokens of the longest beginning that two requests have in common: tools, then system, then messages."""
        shared = _common(payload.tools, before.tools)
        total = self.definitions(payload.tools[:shared])
        if shared < max(len(payload.tools), len(before.tools)):
            return total
        system = _common(payload.system, before.system)
        conversation: tuple[str, ...] = payload.system[:system]
        if system == max(len(payload.system), len(before.system)):
            conversation += payload.messages[: _common(payload.messages, before.messages)]
        return total + (self._count(_array(conversation)) if conversation else 0)

    def reply(self, message: AssistantMessage) -> int:
        """The tokens of what the model writes: its text, and the name and arguments of each call."""
        calls = [_json({"name": call.name, "arguments": call.arguments}) for call in message.tool_calls]
        return sum(map(self._count, filter(None, [message.text, *calls])))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _array(parts: Sequence[str]) -> str:
    return f"[{','.join(parts)}]"


def _common(parts: Sequence[str], others: Sequence[str]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b), min(len(parts), len(others))
    )
