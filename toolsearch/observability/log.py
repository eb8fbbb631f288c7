"""Observer that logs every turn, round, tool call and search."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..indexes.response import ToolSearchResponse
from ..messages import ToolMessage
from ..text.logs import log_event
from .observer import Observation, Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn, Observer

__all__ = ["LoggingObserver", "with_debug_log"]

_operations = logging.getLogger("toolsearch.operations")

_Facts: TypeAlias = dict[str, str | int | float | bool | None]


class LoggingObserver:
    """Observer that writes one log record for each operation when it ends.

    A client does the same without an observer if the level of the logger ``toolsearch.operations`` is DEBUG.

    The facts of the operation are attributes of the record (``extra=``). Prompts, arguments, results, queries and the
    context are never logged. Line breaks and control characters of names and ids are escaped.

    Args:
        logger: The logger; by default ``toolsearch.operations``.
        level: The level of the records.

    Raises:
        ConfigurationError: If `level` is not an integer.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> logging.getLogger("toolsearch.operations").setLevel(logging.DEBUG)
        >>> client = ChatClient(ScriptedChatModel(["Hello!"]), observer=LoggingObserver())
        >>> client.call("Hi").text
        'Hello!'
    """

    def __init__(self, logger: logging.Logger | None = None, level: int = logging.DEBUG) -> None:
        if isinstance(level, bool) or not isinstance(level, int):
            raise ConfigurationError(f"level must be an integer such as logging.DEBUG, got {level!r}")
        self._logger = logger or _operations
        self._level = level

    def begin(self, operation: Observed) -> _LoggedOperation:
        """Start the timer of an operation."""
        return _LoggedOperation(operation, self._logger, self._level)


def with_debug_log(observer: Observer | None) -> Observer | None:
    """Return the observer of one turn: `observer`, and the log of operations if its level is DEBUG."""
    if not _operations.isEnabledFor(logging.DEBUG):
        return observer
    if observer is None:
        return LoggingObserver()
    return observer if isinstance(observer, LoggingObserver) else _LoggedObserver(observer)


class _LoggedObserver:
    """Observer that logs every operation beside another observer."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def begin(self, operation: Observed) -> _LoggedObservation:
        logged = _LoggedOperation(operation, _operations, logging.DEBUG)
        return _LoggedObservation(self._observer.begin(operation), logged)


class _LoggedObservation:
    def __init__(self, observation: Observation, logged: _LoggedOperation) -> None:
        self._observation = observation
        self._logged = logged

    def current(self) -> AbstractContextManager[object]:
        return self._observation.current()

    def end(self, result: Any, error: BaseException | None) -> None:
        self._logged.end(result, error)
        self._observation.end(result, error)


class _LoggedOperation:
    def __init__(self, operation: Observed, logger: logging.Logger, level: int) -> None:
        self._operation = operation
        self._logger = logger
        self._level = level
        self._started = time.perf_counter()

    def current(self) -> AbstractContextManager[object]:
        return nullcontext()

    def end(self, result: Any, error: BaseException | None) -> None:
        if not self._logger.isEnabledFor(self._level):
            return
        event, facts = _event(self._operation, result)
        facts["milliseconds"] = round((time.perf_counter() - self._started) * 1000, 3)
        if error is not None:
            facts["error_type"] = type(error).__name__
        log_event(self._logger, self._level, event, facts)


def _event(operation: Observed, result: Any) -> tuple[str, _Facts]:
    """Return the name of the event and its facts. The result is None if the operation was interrupted."""
    match operation:
        case ObservedTurn(request=request, streaming=streaming):
            return "turn", {"session_id": request.session_id, "streaming": streaming, **_response_facts(result)}
        case ObservedRound(request=request, number=number):
            sizes: _Facts = {"messages": len(request.messages), "tools": len(request.tools)}
            return "round", {"round": number, **sizes, **_response_facts(result)}
        case ObservedToolCall(call=call):
            facts: _Facts = {"tool": call.name, "tool_call_id": call.id, "argument_characters": len(call.arguments)}
            if not isinstance(result, ToolMessage):
                return "tool_call", {**facts, "failed": False}
            return "tool_call", {**facts, "failed": result.is_error, "result_characters": len(result.text)}
        case ObservedSearch():
            if not isinstance(result, ToolSearchResponse):
                return "search", {}
            return "search", {"hits": len(result.hits), "reason": result.reason_code}


def _response_facts(result: Any) -> _Facts:
    if not isinstance(result, ChatResponse):
        return {}
    usage = result.usage
    return {
        "finish_reason": result.finish_reason,
        "calls": len(result.tool_calls),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
