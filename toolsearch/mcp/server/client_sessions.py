"""The sessions of MCP clients: who a request comes from, as far as the transport or the application knows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...errors import ConfigurationError
from ...text import short_repr

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

__all__ = ["ClientSession", "find_session"]

_SessionKey: TypeAlias = Callable[[Mapping[str, str]], str | tuple[str | None, str] | None]

_STDIO = "stdio"


class ClientSession(NamedTuple):
    """The session of a client.

    Attributes:
        owner: Who the session belongs to, so that the sessions of one owner do not displace those of another.
        session_id: The session.
        tenant_id: The tenant that the application named; None if it named none.
    """

    owner: str | None
    session_id: str
    tenant_id: str | None = None

    @property
    def share(self) -> Hashable:
        """Key of the client when threads are shared: its tenant or owner, or itself if nobody is known."""
        return self.tenant_id or self.owner or self.key

    @property
    def key(self) -> tuple[str | None, str]:
        """The key of the session."""
        return self.owner, self.session_id


def find_session(ctx: ServerRequestContext[Any], session_key: _SessionKey | None) -> ClientSession | None:
    """Return the session of a request, or None if nothing but the client itself vouches for one.

    Over stdio there is one client. Over HTTP the session is the answer of `session_key`. Without such a function it is
    the session that the transport opened; a header alone is no proof, because a client can write any.

    Raises:
        ConfigurationError: If `session_key` returns something else than a session.
    """
    if ctx.request is None:
        return ClientSession(None, _STDIO)
    if session_key is None:
        # Set by the transport for the sessions that it opened, and never in the protocol of 2026, which has none.
        session_id = getattr(getattr(ctx.session, "_connection", None), "session_id", None)
        return ClientSession(_owner(ctx.request), session_id) if isinstance(session_id, str) else None
    answer: object = session_key(ctx.request.headers)
    match answer:
        case None:
            return None
        case str() as session_id:
            return ClientSession(None, session_id)
        case (str() | None as tenant_id, str() as session_id):
            return ClientSession(tenant_id, session_id, tenant_id)
        case _:
            if inspect.iscoroutine(answer):
                answer.close()
            raise ConfigurationError(
                f"session_key must return a string, a pair of tenant and session, or None, got {short_repr(answer)}"
            )


def _owner(request: Any) -> str:
    """Return the authenticated user of a request, or else the address that it came from."""
    user = request.scope.get("user")
    if getattr(user, "is_authenticated", False):
        return f"user {user.display_name}"
    return f"address {request.client.host}" if request.client is not None else "unknown"
