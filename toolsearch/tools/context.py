"""`ToolContext`: what a tool may know of the call it serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["ToolContext"]


class ToolContext(Mapping[str, Any]):
    """The application's context, read-only, with the ids of the call. A parameter annotated with it is injected.

    As a mapping it holds what the application passed as ``context=`` and nothing else.

    Args:
        context: the application's values; copied, so that a later change does not reach a running tool.
        tool_call_id: the model's id of the call.
        tool_name: the tool's name as the model sees it.
        session_id: whose conversation this is, where the turn has a session.
        tenant_id: the customer the session belongs to, where there are several.

    Example:
        >>> ctx = ToolContext({"user_id": 7}, tool_call_id="call_1")
        >>> ctx["user_id"], ctx.get("locale", "nl"), ctx.tool_call_id
        (7, 'nl', 'call_1')
    """

    __slots__ = ("_call_id", "_context", "_session_id", "_tenant", "_tool_name")

    def __init__(
        self,
        context: Mapping[str, Any] | None = None,
        *,
        tool_call_id: str = "",
        tool_name: str = "",
        session_id: str | None = None,
        tenant_id: str | None = None,
    ) -> None:
        self._context: Mapping[str, Any] = MappingProxyType(dict(context or {}))
        self._call_id = tool_call_id
        self._tool_name = tool_name
        self._session_id = session_id
        self._tenant = tenant_id

    @property
    def context(self) -> Mapping[str, Any]:
        """The application's values alone."""
        return self._context

    @property
    def tool_call_id(self) -> str:
        """The model's id of the call; empty when the tool was called by hand."""
        return self._call_id

    @property
    def tool_name(self) -> str:
        """The tool's name as the model sees it."""
        return self._tool_name

    @property
    def session_id(self) -> str | None:
        """Whose conversation this is."""
        return self._session_id

    @property
    def tenant_id(self) -> str | None:
        """The customer the session belongs to."""
        return self._tenant

    def __getitem__(self, key: str) -> Any:
        return self._context[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._context)

    def __len__(self) -> int:
        return len(self._context)

    def __bool__(self) -> bool:
        """True also without values: a context is there or it is None."""
        return True

    def __repr__(self) -> str:
        # The values stay out: they are the application's and may be secrets.
        return f"ToolContext(keys={sorted(map(str, self._context))}, tool_call_id={self._call_id!r})"
