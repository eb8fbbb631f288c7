"""What becomes of one tool call: look-up, arguments, errors and the result, whatever way the tool is run.

`answer_call` is a generator: it yields the invocation, if it comes to one, and receives the result or the error.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import AsyncCallableError, ConfigurationError, TookTooLongError, ToolSearchError
from ...messages import Media, ToolCall, ToolMessage
from ...observability.observer import Span
from ...text import short_repr
from ...tools.names import closest_names
from ...tools.revealing import RevealingText
from ...tools.tool import Tool, ToolContext
from ..effects import RunTools

__all__ = ["CallFlow", "Invocation", "ToolResult", "answer_call", "error_text", "unknown_tool_text"]

_LOG = logging.getLogger(__name__)


class ToolResult(NamedTuple):
    """A tool's result for the model: text, media, and the tools that it revealed, if it comes from tool search."""

    text: str
    media: tuple[Media, ...] = ()
    revealed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One tool to run, arguments checked."""

    tool: Tool
    arguments: dict[str, Any]
    context: ToolContext

    def run(self) -> ToolResult:
        """Run the tool on this thread."""
        return self._converted(self.tool.call(self.arguments, self.context))

    def begin(self) -> ToolResult | Awaitable[Any]:
        """Run the tool on this thread; what it gives may be something to await, such as the coroutine of a lambda."""
        value = self.tool.begin(self.arguments, self.context)
        return value if inspect.isawaitable(value) else self._converted(value)

    async def arun(self, result: Awaitable[Any] | None = None) -> ToolResult:
        """Await the tool, or what it gave."""
        value = self.tool.acall(self.arguments, self.context) if result is None else result
        return self._converted(await value)

    def _converted(self, value: Any) -> ToolResult:
        from .results import convert_result

        revealed = value.revealed if isinstance(value, RevealingText) else None
        return ToolResult(*convert_result(value, self.tool), revealed)


CallFlow = Generator[Invocation, ToolResult, ToolMessage]


def answer_call(call: ToolCall, batch: RunTools, span: Span) -> CallFlow:
    """What becomes of one call; yields the invocation, if it comes to one, and returns the result message.

    Errors that are answered rather than raised are noted in `span`.
    """
    from ...errors import ToolArgumentError
    from .arguments import parse_arguments

    tool = batch.tools.get(call.name)
    if tool is None:
        return ToolMessage(call.id, call.name, unknown_tool_text(call.name, list(batch.tools)), is_error=True)
    request = batch.request
    context = ToolContext(
        request.context,
        tool_call_id=call.id,
        tool_name=call.name,
        session_id=request.session_id,
        tenant_id=request.tenant_id,
    )
    try:
        arguments = parse_arguments(tool, call.arguments)
        result = yield Invocation(tool, arguments, context)
    except AsyncCallableError:
        raise  # the programmer chose the wrong driver; the model cannot mend that
    except ToolArgumentError as error:
        span.error = error
        return ToolMessage(call.id, call.name, str(error), is_error=True)
    except TookTooLongError as error:
        span.error = error
        text = f"{call.name} did not answer within {tool.timeout:g} seconds; it may still be running."
        return ToolMessage(call.id, call.name, text, is_error=True)
    except Exception as error:
        if batch.raise_on_error is True or (batch.raise_on_error and isinstance(error, batch.raise_on_error)):
            raise
        span.error = error
        facts = {"tool": call.name, "error": type(error).__name__}
        _LOG.debug("toolsearch.tool_failed tool=%(tool)s error=%(error)s", facts, extra=facts, exc_info=error)
        return ToolMessage(call.id, call.name, _worded(call, error, batch), is_error=True)
    return ToolMessage(call.id, call.name, result.text, media=result.media, revealed=result.revealed)


def unknown_tool_text(name: str, known: list[str]) -> str:
    """What to tell a model that called a tool that does not exist."""
    close, shown = closest_names(name, known), short_repr(name)
    if close:
        return f"There is no tool {shown}. Did you mean {' or '.join(repr(n) for n in close)}?"
    if not known:
        return f"There is no tool {shown}; no tools are available."
    listed = ", ".join(sorted(known)[:20])
    return f"There is no tool {shown}. Available: {listed}{', ...' if len(known) > 20 else ''}."


def error_text(error: Exception) -> str:
    """A tool's exception as the model reads it: our own errors are written for it, others get their type."""
    text = str(error)
    if isinstance(error, ToolSearchError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _worded(call: ToolCall, error: Exception, batch: RunTools) -> str:
    """The answer to a tool's error, as the application words it if it does."""
    if batch.on_error is None:
        return error_text(error)
    text: object = batch.on_error(call, error)
    if not isinstance(text, str):
        raise ConfigurationError(f"on_error must return a text for the model, not {text!r:.100}") from error
    return text
