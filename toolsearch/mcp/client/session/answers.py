"""Answers of a server, matched to the requests that they answer, and repaired before the SDK reads them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError

from ...events import log_event
from .disconnects import describe_status
from .result_repair import repair_result
from .tool_list_filter import drop_invalid_tools

__all__ = ["Answers"]

_HANDSHAKE_VERSION = "2025-11-25"
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
        self._statuses: dict[int | str, int] = {}

    def sent(self, item: SessionMessage) -> None:
        """Record a message to the server."""
        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._methods[message.id] = message.method
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))

    def failed(self, request_id: Any, status: int) -> None:
        """Record the HTTP status of a request that the server refused."""
        if request_id in self._methods:
            self._statuses[request_id] = status

    async def received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """Return a message of the server in a form that the SDK accepts."""
        if isinstance(item, ValidationError):
            item = self._recovered(item)
        if isinstance(item, Exception):
            return item
        message = item.message
        if isinstance(message, JSONRPCResponse):
            method, _ = self._forget(message.id)
            if method == "tools/call":
                self._repair(message)
            else:
                await drop_invalid_tools(self._server, item, self._version())
        elif isinstance(message, JSONRPCError):
            _, status = self._forget(message.id)
            if status is not None and message.error.message in _GENERAL_TEXTS:
                message.error.message = f"it answered with {describe_status(status)}"
        return item

    def _forget(self, request_id: Any) -> tuple[str | None, int | None]:
        key = self._known(request_id)
        return self._methods.pop(key, None), self._statuses.pop(key, None)

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


def _error_data(problem: object) -> ErrorData:
    if not isinstance(problem, dict):
        return ErrorData(code=INTERNAL_ERROR, message=str(problem))
    code, message = problem.get("code"), problem.get("message")
    return ErrorData(
        code=code if isinstance(code, int) else INTERNAL_ERROR,
        message=message if isinstance(message, str) else f"error {code}" if message is None else str(message),
    )
