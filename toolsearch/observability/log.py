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
from .observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn

__all__ = ["LoggingObserver"]

_Facts: TypeAlias = dict[str, str | int | float | bool | None]


class LoggingObserver:
    """Observer that writes one log record for each operation when it ends.

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
        self._logger = logger or logging.getLogger("toolsearch.operations")
        self._level = level

    def begin(self, operation: Observed) -> _LoggedOperation:
        """Start the timer of an operation."""
        return _LoggedOperation(operation, self._logger, self._level)


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
            return "round", {"round": number, "tools": len(request.tools), **_response_facts(result)}
        case ObservedToolCall(call=call):
            failed = isinstance(result, ToolMessage) and result.is_error
            return "tool_call", {"tool": call.name, "tool_call_id": call.id, "failed": failed}
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
