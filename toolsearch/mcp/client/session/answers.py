"""Answers of a server, matched to the requests that they answer, and repaired before the SDK reads them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from ...events import log_event
from .disconnects import describe_status
from .http_client import ANSWER_BROKEN
from .result_repair import repair_result
from .tool_list_filter import drop_invalid_tools

__all__ = ["SESSION_LOST", "Answers"]

SESSION_LOST = -32098
"""The code of an answer that says that the server does not know the session of the request; it ran nothing."""

_HANDSHAKE_VERSION = "2025-11-25"
# The SDK's own texts for an answer that it could not read, and its codes for calls without an answer. Servers use the
# same codes for errors of their own.
_BROKEN_TEXTS = ("SSE stream ended", "Failed to parse JSON response", "Failed to parse SSE message")
_LOCAL_CODES = (CONNECTION_CLOSED, REQUEST_TIMEOUT, SESSION_LOST)
_GENERAL_TEXTS = ("Server returned an error response", "Not Found")


class Answers:
    """The requests under way in one session, and the repair of their answers.

    Args:
        server: The server's name, for the log.
        version: A function that returns the protocol version of the session, None during the handshake.
    """

    def __init__(self, server: str, version: Callable[[], str | None]) -> None:
        self._server = server
        self._version = version
        self._methods: dict[int | str, str] = {}
        self._reasons: dict[int | str, str] = {}
        self._losses: dict[int | str, Callable[[], object]] = {}

    def sent(self, item: SessionMessage) -> None:
        """Record a message to the server."""
        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._methods[message.id] = message.method
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))

    def failed(self, request_id: Any, status: int, retry_after: str | None = None) -> None:
        """Record the HTTP status of a request that the server refused, and how long it asks to wait."""
        if request_id in self._methods:
            self._reasons[request_id] = f"it answered with {describe_status(status)}{_describe_wait(retry_after)}"

    def lost(self, request_id: Any, on_session_lost: Callable[[], object]) -> None:
        """Record that the server does not know the session of a request; report it once the request has its answer."""
        if request_id in self._methods:
            self._losses[request_id] = on_session_lost

    async def received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """Return a message of the server in a form that the SDK accepts."""
        if isinstance(item, ValidationError):
            item = self._recovered(item)
        if isinstance(item, Exception):
            return item
        message = item.message
        if isinstance(message, JSONRPCResponse):
            if self._forget(message.id) == "tools/call":
                self._repair(message)
            else:
                await drop_invalid_tools(self._server, item, self._version())
        elif isinstance(message, JSONRPCError):
            self._explain(message)
        return item

    def _explain(self, message: JSONRPCError) -> None:
        """Put the reason of a failed request into its answer."""
        key, error = self._known(message.id), message.error
        reason, on_session_lost = self._reasons.get(key), self._losses.get(key)
        called = self._forget(message.id) == "tools/call"
        if called and error.message.startswith(_BROKEN_TEXTS):
            told = "the answer broke off" if error.message.startswith("SSE") else "the answer was invalid"
            error.code, error.message = ANSWER_BROKEN, told
        elif called and error.code in _LOCAL_CODES:
            error.code = INTERNAL_ERROR
        elif reason is not None and (on_session_lost is not None or error.message in _GENERAL_TEXTS):
            error.message = reason
        if on_session_lost is not None:
            error.code = SESSION_LOST
            on_session_lost()

    def _forget(self, request_id: Any) -> str | None:
        key = self._known(request_id)
        self._reasons.pop(key, None)
        self._losses.pop(key, None)
        return self._methods.pop(key, None)

    def _known(self, request_id: Any) -> Any:
        """Return the id of a request under way that a server may have sent back as text or as another number."""
        if not isinstance(request_id, int | str | float):
            return None
        if request_id in self._methods:
            return request_id if not isinstance(request_id, float) else int(request_id)
        return int(request_id) if isinstance(request_id, str) and request_id.isdecimal() else None

    def _repair(self, message: JSONRPCResponse) -> None:
        repaired = repair_result(message.result, self._version() or _HANDSHAKE_VERSION)
        if repaired is not message.result:
            log_event(logging.DEBUG, "mcp_result_repaired", server=self._server)
            message.result = repaired

    def _recovered(self, error: ValidationError) -> SessionMessage | Exception:
        """Return the answer in a message that the SDK could not read; the request would otherwise wait for it."""
        for detail in error.errors(include_url=False, include_context=False):
            raw = detail["input"]
            if detail["type"] != "missing" or len(detail["loc"]) != 2 or not isinstance(raw, dict):
                continue
            key = self._known(raw.get("id"))
            if key not in self._methods or "method" in raw:
                break
            log_event(logging.DEBUG, "mcp_message_repaired", server=self._server, error=error, show_text=False)
            if (problem := raw.get("error")) is not None:
                return SessionMessage(JSONRPCError(jsonrpc="2.0", id=key, error=_error_data(problem)))
            result = raw.get("result")
            if self._methods[key] == "tools/call":
                result = repair_result(result, self._version() or _HANDSHAKE_VERSION)
            if isinstance(result, dict):
                return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=key, result=result))
            break
        return error


def _describe_wait(retry_after: str | None) -> str:
    """Return how long a server asks to wait; nothing for dates and other values."""
    seconds = (retry_after or "").strip()
    return f"; try again in {int(seconds)} s" if seconds.isdecimal() and len(seconds) < 7 else ""


def _error_data(problem: object) -> ErrorData:
    if not isinstance(problem, dict):
        return ErrorData(code=INTERNAL_ERROR, message=str(problem))
    code, message = problem.get("code"), problem.get("message")
    return ErrorData(
        code=code if isinstance(code, int) else INTERNAL_ERROR,
        message=message if isinstance(message, str) else f"error {code}" if message is None else str(message),
    )
