"""Answer one tool call: look up the tool, validate arguments, convert the result or the error.

`answer_call` is a generator, so that threads and tasks share it: it yields the invocation, if there is one, and
receives its result or its error.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from ...errors import AsyncCallableError, ConfigurationError, TookTooLongError, ToolSearchError, leaf_errors
from ...messages import Media, ToolCall, ToolMessage, ToolVersion
from ...observability.observer import Span
from ...text import replace_surrogates, short_repr
from ...text.logs import log_event
from ...tools.background_loop import run_coroutine
from ...tools.definition.signature import is_awaitable
from ...tools.names import NOTHING_TO_SEARCH, SEARCH_TOOL, closest_names
from ...tools.results.large_values import is_small
from ...tools.results.object_words import unshown_result
from ...tools.revealing import RevealingText
from ...tools.threads import run_library_work
from ...tools.tool_type import Tool, ToolContext
from ...tools.validation.steps import OutOfStepsError
from ..effects import RunTools

__all__ = ["CallFlow", "Invocation", "LargeWork", "ToolResult", "answer_call", "error_text", "unknown_tool_text"]

logger = logging.getLogger(__name__)

MAX_QUICK_NAMES = 300
MAX_SHOWN_ERRORS = 5
MAX_SHOWN_CAUSES = 3
MAX_QUICK_CHARACTERS = 50_000


class ToolResult(NamedTuple):
    """A tool's result for the model: text, media, the tools that tool search revealed, and whether anything ran."""

    text: str
    media: tuple[Media, ...] = ()
    revealed: tuple[str, ...] | None = None
    tools: tuple[ToolVersion, ...] = ()
    ran: bool = True


@dataclass(frozen=True, slots=True)
class Invocation:
    """A tool to run, with validated arguments."""

    tool: Tool
    arguments: dict[str, Any]
    context: ToolContext

    def run(self) -> ToolResult:
        """Run the tool and return the converted result. An async tool runs on the background event loop."""
        if self.tool.is_async:
            work = partial(self.tool.acall, self.arguments, self.context)
            return self._converted(run_coroutine(work, timeout_seconds=self.tool.timeout))
        return self._converted(self.tool.call(self.arguments, self.context))

    def begin(self) -> ToolResult | Awaitable[Any]:
        """Run the tool on this thread. Return the converted result, or an awaitable, e.g. the coroutine of a lambda."""
        value = self.tool.begin(self.arguments, self.context)
        return value if is_awaitable(value) else self._converted(value)

    async def arun(self, result: Awaitable[Any] | None = None) -> ToolResult:
        """Await the tool, or the awaitable that `begin` returned, and return the converted result.

        A result that is not small is converted in a worker thread, so that it does not block the event loop.
        """
        value = await (self.tool.acall(self.arguments, self.context) if result is None else result)
        if is_small(value):
            return self._converted(value)
        return await run_library_work(partial(self._converted, value))

    def _converted(self, value: Any) -> ToolResult:
        """Return a value as a result. What goes wrong here is not a failure of the tool, which has run."""
        from ...tools.results.conversion import LazyResultError, apply_converter

        try:
            text, media = apply_converter(value, self.tool)
            if issubclass(type(value), RevealingText):
                return ToolResult(text, media, value.revealed, value.tools, ran=value.revealed is not None)
            return ToolResult(text, media)
        except LazyResultError as error:
            raise error.__cause__ or error from None
        except MemoryError:
            raise
        except Exception as error:
            raise UnshownResultError(unshown_result(self.tool.name, value)) from error


class UnshownResultError(Exception):
    """A result that cannot be converted. The text is the result for the model; the cause is the reason."""


@dataclass(frozen=True, slots=True)
class LargeWork:
    """Work of the library that can take long, so that it must not run on an event loop."""

    run: Callable[[], Any]


CallFlow = Generator[Invocation | LargeWork, Any, ToolMessage]


def answer_call(call: ToolCall, batch: RunTools, span: Span) -> CallFlow:
    """Yield the invocation of a call, if there is one, and return the message with its result, within its limits.

    Work that the event loop should not wait for is yielded before. An error that is answered instead of raised is set
    on `span`. A direct result is for the user and stays whole.
    """
    message = yield from _answer(call, batch, span)
    tool = batch.tools.get(call.name)
    if tool is not None and tool.return_direct and not message.is_error:
        return message
    if len(message.text) <= MAX_QUICK_CHARACTERS:
        return batch.limit(message)
    limited: ToolMessage = yield LargeWork(partial(batch.limit, message))
    return limited


def _answer(call: ToolCall, batch: RunTools, span: Span) -> CallFlow:
    from ...errors import ToolArgumentError
    from .arguments import parse_arguments

    tool = batch.tools.get(call.name)
    if tool is None:
        describe = partial(unknown_tool_text, call.name, list(batch.tools))
        text = describe() if len(batch.tools) <= MAX_QUICK_NAMES else (yield LargeWork(describe))
        return ToolMessage.rejected(call, text)
    context = batch.request.tool_context(call.id, call.name)
    try:
        try:
            arguments = parse_arguments(tool, call.arguments, quick=True)
        except OutOfStepsError:
            arguments = yield LargeWork(partial(parse_arguments, tool, call.arguments))
    except ToolArgumentError as error:
        span.error = error
        return ToolMessage.rejected(call, str(error))
    try:
        result = yield Invocation(tool, arguments, context)
    except AsyncCallableError:
        raise  # a mistake of the programmer, which the model cannot fix
    except ToolArgumentError as error:
        span.error = error
        return ToolMessage(call.id, call.name, str(error), is_error=True, tools=(tool.version,))
    except TookTooLongError as error:
        span.error = error
        text = f"{call.name} did not answer within {tool.timeout:g} seconds; it may still be running."
        return ToolMessage(call.id, call.name, text, is_error=True, tools=(tool.version,))
    except MemoryError:
        raise  # every part of the process is affected, unlike with a RecursionError
    except UnshownResultError as error:
        span.error = reason = cast("Exception", error.__cause__)
        if batch.raises(reason):
            raise reason from None
        log_event(logger, logging.WARNING, "result_not_shown", {"tool": call.name}, error=reason, show_text=False)
        return ToolMessage(call.id, call.name, str(error), tools=(tool.version,))
    except Exception as error:
        if batch.raises(error):
            raise
        span.error = error
        # An error whose text the model does not read concerns the operator. The text can quote arguments.
        hidden = isinstance(error, ToolSearchError) and str(error) != error.public_text
        level = logging.WARNING if hidden else logging.DEBUG
        log_event(logger, level, "tool_failed", {"tool": call.name}, error=error, show_text=False)
        return ToolMessage(call.id, call.name, _answer_text(call, error, batch), is_error=True, tools=(tool.version,))
    tools = (tool.version,) if result.revealed is None else result.tools
    return ToolMessage(
        call.id, call.name, result.text, media=result.media, revealed=result.revealed, tools=tools, ran=result.ran
    )


def unknown_tool_text(name: str, known: list[str]) -> str:
    """Return the text for a model that called a tool that does not exist."""
    close, shown = closest_names(name, known), short_repr(name)
    if name == SEARCH_TOOL and known:
        return NOTHING_TO_SEARCH
    if close:
        return f"There is no tool {shown}. Did you mean {' or '.join(repr(n) for n in close)}?"
    if not known:
        return f"There is no tool {shown}; no tools are available."
    listed = ", ".join(sorted(known)[:20])
    return f"There is no tool {shown}. Available: {listed}{', ...' if len(known) > 20 else ''}."


def error_text(error: BaseException, depth: int = 0) -> str:
    """Return the text of a tool's exception for the model: its type and text, or the public text of an own error.

    An exception group, such as that of a task group, has the texts of its errors. An error without a text has that of
    its cause.
    """
    if isinstance(error, BaseExceptionGroup):
        texts = list(dict.fromkeys(error_text(one, depth + 1) for one in leaf_errors(error)))
        shown = "; ".join(texts[:MAX_SHOWN_ERRORS])
        return shown if len(texts) <= MAX_SHOWN_ERRORS else f"{shown}; and {len(texts) - MAX_SHOWN_ERRORS} more"
    if isinstance(error, ToolSearchError):
        return error.public_text
    try:
        text = replace_surrogates(str(error))
    except Exception:  # of its __str__
        text = ""
    if not text and error.__cause__ is not None and depth < MAX_SHOWN_CAUSES:
        text = error_text(error.__cause__, depth + 1)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _answer_text(call: ToolCall, error: Exception, batch: RunTools) -> str:
    """Return the answer to a tool's error: the text of `on_error` if there is one, else the default text."""
    if batch.on_error is None:
        return error_text(error)
    text: object = batch.on_error(call, error)
    if not isinstance(text, str):
        raise ConfigurationError(f"on_error must return a string for the model, got {short_repr(text)}") from error
    return text
