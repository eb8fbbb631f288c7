"""Context of a tool call: the application's values and the ids of the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["ToolContext"]


class ToolContext(Mapping[str, Any]):
    """The application's context, read-only, with the ids of the tool call.

    A parameter of a tool that is annotated with `ToolContext` receives it; the model does not see that parameter. As
    a mapping it contains only what the application passed as ``context=``.

    Args:
        context: The application's values. They are copied, so a later change does not reach a running tool.
        tool_call_id: The model's id of the tool call.
        tool_name: The tool's name as the model sees it.
        session_id: The session of the turn, or None.
        tenant_id: The tenant of the session, or None.

    Example:
        >>> ctx = ToolContext({"user_id": 7}, tool_call_id="call_1")
        >>> ctx["user_id"], ctx.get("locale", "nl"), ctx.tool_call_id
        (7, 'nl', 'call_1')
    """

    __slots__ = ("_call_id", "_context", "_session_id", "_tenant_id", "_tool_name")

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
        self._tenant_id = tenant_id

    @property
    def context(self) -> Mapping[str, Any]:
        """The application's values."""
        return self._context

    @property
    def tool_call_id(self) -> str:
        """The model's id of the tool call; empty if the application called the tool itself."""
        return self._call_id

    @property
    def tool_name(self) -> str:
        """The tool's name as the model sees it."""
        return self._tool_name

    @property
    def session_id(self) -> str | None:
        """The session of the turn."""
        return self._session_id

    @property
    def tenant_id(self) -> str | None:
        """The tenant of the session."""
        return self._tenant_id

    def __getitem__(self, key: str) -> Any:
        return self._context[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._context)

    def __len__(self) -> int:
        return len(self._context)

    def __bool__(self) -> bool:
        """Return True also without values: a context is present, or it is None."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the context by its values: a read-only view cannot be pickled."""
        ids = (self._call_id, self._tool_name, self._session_id, self._tenant_id)
        return _restore_context, (dict(self._context), *ids)

    def __repr__(self) -> str:
        # Without the values, which may be secrets.
        return f"ToolContext(keys={sorted(map(str, self._context))}, tool_call_id={self._call_id!r})"


def _restore_context(
    context: Mapping[str, Any], tool_call_id: str, tool_name: str, session_id: str | None, tenant_id: str | None
) -> ToolContext:
    return ToolContext(
        context, tool_call_id=tool_call_id, tool_name=tool_name, session_id=session_id, tenant_id=tenant_id
    )
