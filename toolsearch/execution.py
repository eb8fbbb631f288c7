"""Executing a batch of tool calls: one plan, carried out by threads or by tasks.

What happens to one call (look-up, arguments, errors, result) is a generator, so that the sync and the async way to
invoke a tool share it. Calls that may not overlap share a *lane*; lanes run at the same time.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from .effects import RunTools, ToolBatchResult
from .errors import AsyncCallableError, ConfigurationError, ToolSearchError
from .messages import Media, ToolCall, ToolMessage
from .names import closest_names
from .observer import ObservedToolCall, Observer, Watch, watch
from .tool import Tool, ToolContext
from .worker import TookTooLongError, in_worker_thread

__all__ = ["arun_batch", "run_batch"]

_MAX_THREADS = 16

_Result: TypeAlias = tuple[str, tuple[Media, ...]]


@dataclass(frozen=True, slots=True)
class _Invocation:
    """One tool to run, arguments checked."""

    tool: Tool
    arguments: dict[str, Any]
    context: ToolContext

    def run(self) -> _Result:
        """Run the tool on this thread."""
        return self._converted(self.tool.call(self.arguments, self.context))

    def begin(self) -> _Result | Awaitable[Any]:
        """Run the tool on this thread; what it gives may be something to await, such as the coroutine of a lambda."""
        value = self.tool.begin(self.arguments, self.context)
        return value if inspect.isawaitable(value) else self._converted(value)

    async def arun(self, result: Awaitable[Any] | None = None) -> _Result:
        """Await the tool, or what it gave."""
        value = self.tool.acall(self.arguments, self.context) if result is None else result
        return self._converted(await value)

    def _converted(self, value: Any) -> _Result:
        from .results import convert_result

        return convert_result(value, self.tool)


_Flow = Generator[_Invocation, _Result, ToolMessage]


def _answer(call: ToolCall, batch: RunTools, seen: Watch) -> _Flow:
    """What becomes of one call; yields the invocation, if it comes to one, and returns the result message.

    Errors that are answered rather than raised are noted in `seen`.
    """
    from .arguments import ArgumentError, parse_arguments

    tool = batch.tools.get(call.name)
    if tool is None:
        return ToolMessage(call.id, call.name, unknown_tool_text(call.name, list(batch.tools)), is_error=True)
    request = batch.request
    context = ToolContext(
        request.context, call_id=call.id, tool_name=call.name, session_id=request.session_id, tenant=request.tenant
    )
    try:
        arguments = parse_arguments(tool, call.arguments)
        content, media = yield _Invocation(tool, arguments, context)
    except AsyncCallableError:
        raise  # the programmer chose the wrong driver; the model cannot mend that
    except ArgumentError as error:
        seen.error = error
        return ToolMessage(call.id, call.name, str(error), is_error=True)
    except TookTooLongError as error:
        seen.error = error
        text = f"{call.name} did not answer within {tool.timeout:g} seconds; it may still be running."
        return ToolMessage(call.id, call.name, text, is_error=True)
    except Exception as error:
        if batch.raise_on_error is True or (batch.raise_on_error and isinstance(error, batch.raise_on_error)):
            raise
        seen.error = error
        return ToolMessage(call.id, call.name, _worded(call, error, batch), is_error=True)
    return ToolMessage(call.id, call.name, content, media=media)


def unknown_tool_text(name: str, known: list[str]) -> str:
    """What to tell a model that called a tool that does not exist."""
    close = closest_names(name, known)
    if close:
        return f"There is no tool {name!r}. Did you mean {' or '.join(repr(n) for n in close)}?"
    if not known:
        return f"There is no tool {name!r}; no tools are available."
    listed = ", ".join(sorted(known)[:20])
    return f"There is no tool {name!r}. Available: {listed}{', ...' if len(known) > 20 else ''}."


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


def _lanes(batch: RunTools) -> list[list[int]]:
    """Positions of calls, grouped: a lane runs in call order. Tools with ``concurrent=False`` share one per source."""
    lanes: list[list[int]] = []
    by_source: dict[str | None, list[int]] = {}
    for position, call in enumerate(batch.calls):
        if position in batch.answers:
            continue
        tool = batch.tools.get(call.name)
        if tool is None or tool.concurrent:
            lanes.append([position])
        elif tool.source in by_source:
            by_source[tool.source].append(position)
        else:
            by_source[tool.source] = lane = [position]
            lanes.append(lane)
    return lanes


_Outcome = ToolMessage | Exception


def _collect(batch: RunTools, outcomes: dict[int, _Outcome]) -> ToolBatchResult:
    """The outcomes in call order; the first error that is to be raised is raised."""
    messages: list[ToolMessage] = []
    for position in range(len(batch.calls)):
        outcome = batch.answers.get(position) or outcomes[position]
        if isinstance(outcome, Exception):
            raise outcome
        messages.append(outcome)
    direct = (
        bool(messages)
        and not batch.answers
        and all(
            (tool := batch.tools.get(message.name)) is not None and tool.return_direct and not message.is_error
            for message in messages
        )
    )
    return ToolBatchResult(tuple(messages), direct)


def _run_call(call: ToolCall, batch: RunTools, observer: Observer | None) -> ToolMessage:
    with watch(observer, ObservedToolCall, call, batch.tools.get(call.name), batch.request) as seen, seen.current():
        flow = _answer(call, batch, seen)
        try:
            invocation = next(flow)
            while True:
                try:
                    result = _invoke(invocation)
                except Exception as error:
                    invocation = flow.throw(error)
                else:
                    invocation = flow.send(result)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            seen.result = message
            return message
        finally:
            flow.close()


def _invoke(invocation: _Invocation) -> _Result:
    if invocation.tool.timeout is None or invocation.tool.is_async:
        return invocation.run()
    finished = threading.Event()
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(invocation.run())
        except BaseException as error:
            outcome.append(error)
        finally:
            finished.set()

    _daemon(contextvars.copy_context(), work)
    if not finished.wait(invocation.tool.timeout):
        raise TookTooLongError
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    result: _Result = outcome[0]
    return result


def _daemon(context: contextvars.Context, work: Callable[[], None]) -> threading.Thread:
    # Daemons: a tool that never returns must not keep the process from ending.
    thread = threading.Thread(target=context.run, args=(work,), name="toolsearch-tool", daemon=True)
    thread.start()
    return thread


def run_batch(batch: RunTools, observer: Observer | None = None) -> ToolBatchResult:
    """Execute a batch with threads; the first lane, and so a single call, stays on the caller's thread.

    Raises:
        AsyncCallableError: if a tool of the batch is async; then none is run.
    """
    for position, call in enumerate(batch.calls):
        if position not in batch.answers and call.name in batch.tools and batch.tools[call.name].is_async:
            raise AsyncCallableError(
                f"the tool {call.name!r} is async; call() and stream() cannot await it: use acall() or astream()"
            )
    lanes = deque(_lanes(batch))
    outcomes: dict[int, _Outcome] = {}
    stop: list[BaseException] = []

    def work(lane: list[int] | None) -> None:
        while lane is not None:
            for position in lane:
                if stop:
                    return
                try:
                    outcomes[position] = _run_call(batch.calls[position], batch, observer)
                except Exception as error:
                    outcomes[position] = error
                except BaseException as error:  # Ctrl-C, sys.exit: nothing more is begun
                    stop.append(error)
            lane = _next(lanes)

    first, more = _next(lanes), min(len(lanes), _MAX_THREADS - 1)
    helpers = [_daemon(contextvars.copy_context(), partial(work, _next(lanes))) for _ in range(more)]
    try:
        work(first)
        for thread in helpers:
            thread.join()
    except BaseException as error:  # Ctrl-C while waiting
        stop.append(error)
    if stop:
        raise stop[0]
    return _collect(batch, outcomes)


def _next(lanes: deque[list[int]]) -> list[int] | None:
    try:
        return lanes.popleft()
    except IndexError:  # another thread took the last one
        return None


async def _arun_call(call: ToolCall, batch: RunTools, observer: Observer | None) -> ToolMessage:
    with watch(observer, ObservedToolCall, call, batch.tools.get(call.name), batch.request) as seen, seen.current():
        flow = _answer(call, batch, seen)
        try:
            invocation = next(flow)
            while True:
                try:
                    result = await _ainvoke(invocation)
                except Exception as error:
                    invocation = flow.throw(error)
                else:
                    invocation = flow.send(result)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            seen.result = message
            return message
        finally:
            flow.close()


async def _ainvoke(invocation: _Invocation) -> _Result:
    import anyio

    given = None
    if not invocation.tool.awaits:
        # Conversion runs in the worker thread too: a large result must not hold the event loop.
        result = await in_worker_thread(invocation.begin, seconds=invocation.tool.timeout)
        if isinstance(result, tuple):
            return result
        given = result
    with anyio.move_on_after(invocation.tool.timeout):
        return await invocation.arun(given)
    raise TookTooLongError


async def arun_batch(batch: RunTools, observer: Observer | None = None) -> ToolBatchResult:
    """Execute a batch with tasks; sync tools run in worker threads with context variables copied."""
    import anyio

    lanes = _lanes(batch)
    outcomes: dict[int, _Outcome] = {}
    stop: list[BaseException] = []

    async def work(lane: list[int], scope: anyio.CancelScope) -> None:
        for position in lane:
            try:
                outcomes[position] = await _arun_call(batch.calls[position], batch, observer)
            except Exception as error:
                outcomes[position] = error
            except BaseException as error:  # sys.exit, or a tool that says it was cancelled: the turn ends
                stop.append(error)
                if isinstance(error, anyio.get_cancelled_exc_class()):
                    raise
                scope.cancel()
                return

    async with anyio.create_task_group() as group:
        for lane in lanes[1:]:
            group.start_soon(work, lane, group.cancel_scope)
        if lanes:
            await work(lanes[0], group.cancel_scope)
    if stop:
        raise stop[0]
    return _collect(batch, outcomes)
