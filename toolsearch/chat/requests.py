"""Chat requests: everything that is sent to a model for one answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..messages import Message
from ..tools.context import ToolContext

if TYPE_CHECKING:
    from ..tools.tool_type import Tool
    from .turn_memory import TurnMemory
    from .turn_record import TurnRecord

__all__ = ["ChatRequest", "OutputSchema"]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """A JSON Schema that the provider enforces on the answer, for models with `supports_output_schema`.

    Args:
        name: A name for the schema, of the characters a-z A-Z 0-9 _ -.
        schema: A JSON Schema whose root is an object.

    Example:
        >>> OutputSchema("city", {"type": "object", "properties": {"name": {"type": "string"}}}).name
        'city'
    """

    name: str
    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request on its way through the chain of advisors to the model. Immutable; `replace` makes a changed copy.

    Args:
        messages: The whole conversation to send, oldest first.
        tools: The tools whose definitions are sent, in this order.
        options: Provider options such as ``temperature``, passed through by name.
        context: Values of the application. Tools and advisors can read them; the model never sees them.
        session_id: The session that the turn belongs to; None for a turn that nothing is stored of.
        tenant_id: The tenant of the session; sessions of different tenants are separate.
        output_schema: The schema that the provider enforces on the answer; set by `StructuredOutputAdvisor`.
        buffered: Whether streamed text is held back until the advisor that set this returns its response. Then the
            text of that response is streamed, and nothing of rejected answers or earlier rounds.
        earlier: Earlier messages of the conversation that a memory advisor outside the tool-calling loop leaves out of
            `messages`, because its window is full. Tool search reads in them what was revealed. They are not sent.
        allow_tool_calls: Whether the model may call the tools. False keeps their definitions in the request, so that
            the prompt cache still matches, and makes the model answer, if its provider can do that.
        memory: Set by the client if an advisor inside the tool-calling loop stores the conversation.
        record: Set by the driver: what happened in this turn so far.

    Example:
        >>> from toolsearch.messages import UserMessage
        >>> request = ChatRequest(messages=[UserMessage("Hi")], options={"temperature": 0})
        >>> request.replace(options={}).options
        {}
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    tenant_id: str | None = None
    output_schema: OutputSchema | None = None
    buffered: bool = False
    earlier: Sequence[Message] = field(default=(), repr=False, compare=False)
    allow_tool_calls: bool = True
    memory: TurnMemory | None = field(default=None, repr=False, compare=False)
    record: TurnRecord | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "tools", tuple(self.tools))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the request without `memory` and `record`, which belong to a turn of this process."""
        return _restore_request, ({**self._fields(), "memory": None, "record": None},)

    def __deepcopy__(self, memo: dict[int, Any]) -> ChatRequest:
        """Copy the request. `memory` and `record` stay those of the turn."""
        shared = ("memory", "record")
        copied = {name: value if name in shared else deepcopy(value, memo) for name, value in self._fields().items()}
        return type(self)(**copied)

    def _fields(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}

    def tool_context(self, tool_call_id: str = "", tool_name: str = "") -> ToolContext:
        """Return the context for a tool call of this request, or for the tool filter."""
        return ToolContext(
            self.context,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            session_id=self.session_id,
            tenant_id=self.tenant_id,
        )

    def replace(self, **changes: Any) -> ChatRequest:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


def _restore_request(fields: dict[str, Any]) -> ChatRequest:
    return ChatRequest(**fields)
