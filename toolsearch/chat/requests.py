"""What goes to a model and what comes back: requests, responses, chunks and events."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..messages import Message

if TYPE_CHECKING:
    from ..tools.tool import Tool
    from .turn_memory import TurnMemory

__all__ = [
    "ChatRequest",
    "OutputSchema",
]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """What form a provider is to hold the answer to, for models with `supports_output_schema`.

    Args:
        name: what the form is called, in the characters a-z A-Z 0-9 _ -.
        schema: a JSON Schema whose root is an object.

    Example:
        >>> OutputSchema("city", {"type": "object", "properties": {"name": {"type": "string"}}}).name
        'city'
    """

    name: str
    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request on its way down the chain of advisors to the model. Immutable; `replace` makes a changed copy.

    Args:
        messages: the whole conversation to send, oldest first.
        tools: the tools whose definitions are sent, in this order.
        options: provider options (temperature and so on), passed through by name.
        context: the application's own values; they reach tools and advisors, never the model.
        session_id: whose conversation this is; None for a turn that leaves nothing behind.
        tenant_id: keeps the sessions of several customers apart.
        output_schema: the form the provider is to hold the answer to; set by `StructuredOutputAdvisor`.
        buffered: hold streamed text back until the advisor that set this returns its response; then the text of that
            response is shown, and nothing of rejected answers or earlier rounds.
        memory: set by the client where an advisor further in than the tool loop keeps the conversation.

    Example:
        >>> from toolsearch.messages import UserMessage
        >>> request = ChatRequest(messages=[UserMessage("Hi")], options={"temperature": 0})
        >>> request.replace(options={}).options
        {}
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    context: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    session_id: str | None = None
    tenant_id: str | None = None
    output_schema: OutputSchema | None = None
    buffered: bool = False
    memory: TurnMemory | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "tools", tuple(self.tools))

    def replace(self, **changes: Any) -> ChatRequest:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)
