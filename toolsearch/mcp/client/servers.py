"""Definitions of MCP servers: how to start or reach them, and their status."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from ...errors import ConfigurationError
from ...text import short_repr
from ...text.secret import Secret, redact, redact_urls

if TYPE_CHECKING:
    import httpx2

__all__ = ["Handshake", "Headers", "HttpServer", "Server", "ServerStatus", "StdioServer", "credentials_of"]

Handshake: TypeAlias = Literal["auto", "legacy"]
"""The way a session starts: the newest protocol with a fallback, or the ``initialize`` request."""


Headers: TypeAlias = (
    Mapping[str, str | Secret] | Callable[[], Mapping[str, str | Secret] | Awaitable[Mapping[str, str | Secret]]]
)
"""Headers of requests, or a function that returns them."""


def _validate(name: str, timeout: float, connect_timeout: float, max_calls: int) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(
            f"name of an MCP server must be a non-empty string, got {name!r}: it is the source of the server's tools "
            "and their prefix"
        )
    for label, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
        if isinstance(value, bool | str) or not value > 0:
            raise ConfigurationError(f"MCP server {name!r}: {label} must be more than 0 seconds, got {value!r}")
    if not isinstance(max_calls, int) or isinstance(max_calls, bool) or max_calls < 1:
        raise ConfigurationError(f"MCP server {name!r}: max_calls must be an integer of at least 1, got {max_calls!r}")


def _validate_command(name: str, command: object, cwd: str | Path | None) -> None:
    words: list[object] = []
    if not isinstance(command, str):
        words += command if isinstance(command, list | tuple) else ()
    elif " " in command.strip() and not Path(cwd or "", command).exists() and shutil.which(command) is None:
        words += command.split()
    else:
        return
    example = "StdioServer('git', 'uvx', ['mcp-server-git'])"
    if words and all(isinstance(word, str) for word in words):
        example = f"StdioServer({name!r}, {words[0]!r}, {words[1:]!r})"
    raise ConfigurationError(
        f"MCP server {name!r}: command must be one string, the executable without its arguments, "
        f"got {short_repr(command)}; write {example}"
    )


def _validate_strings(name: str, label: str, values: Mapping[str, str | Secret] | None) -> None:
    """Validate a mapping of strings and secrets. The message does not contain its values."""
    if values is None:
        return
    if not isinstance(values, Mapping):
        raise ConfigurationError(
            f"MCP server {name!r}: {label} must be a mapping of strings, got {type(values).__name__}; "
            f"write {label}={{'NAME': 'value'}}"
        )
    for key, value in values.items():
        if not isinstance(key, str) or not isinstance(value, str | Secret):
            raise ConfigurationError(
                f"MCP server {name!r}: {label}[{key!r}] must be a string, got {type(value).__name__}"
            )


def _describe(server: Server) -> str:
    """Return the ``repr`` of a server without its hidden fields and without the credentials of its addresses."""
    shown = (f"{field.name}={getattr(server, field.name)!r}" for field in fields(server) if field.repr)
    return f"{type(server).__name__}({redact(', '.join(shown), credentials_of(server))})"


def credentials_of(server: Server) -> tuple[str | Secret, ...]:
    """Return the values that no text about a server may contain."""
    if isinstance(server, StdioServer):
        return (*(server.env or {}).values(), *(word for word in server.args if isinstance(word, Secret)))
    parts = urlsplit(server.url)
    query = tuple(value for _, value in parse_qsl(parts.query))
    headers = () if callable(server.headers) else (server.headers or {}).values()
    return (*headers, *server._issued, *query, *((parts.password,) if parts.password else ()))


@dataclass(frozen=True, slots=True)
class StdioServer:
    """An MCP server that runs as a child process and communicates over standard input and output.

    The server's standard error is not shown on the terminal; error messages quote its end. The process inherits only
    variables that are safe to pass on (``PATH``, ``HOME`` and similar), plus `env`.

    Args:
        name: The source of the server's tools, and their prefix if they need one.
        command: The executable.
        args: Its command-line arguments. One that is a `Secret` is hidden in texts.
        env: Environment variables to add. No text shows their values.
        cwd: The working directory of the process.
        timeout: The seconds that one tool call may take.
        connect_timeout: The seconds that start, handshake and the first tool list may take together. This is also
            the longest that the first turn waits for the server. Later tool lists have the same limit.
        handshake: ``"auto"`` asks for the newest protocol and falls back to the ``initialize`` request.
            ``"legacy"`` starts with ``initialize``, for servers that do not answer anything else.
        max_calls: The largest number of calls that the server works on at once; others wait. Tenants share it, so one
            tenant alone has 44 of 100. A flood of calls to one server so leaves the loop of all servers responsive.
        max_message_bytes: The largest message that the server may send. A larger answer fails its call.
        max_timeout: The seconds that a call may take if it reports progress: each report starts `timeout` again.
        inherit_env: Names of variables of this process to pass on if they are set, such as ``HTTPS_PROXY``,
            ``NO_PROXY``, ``SSL_CERT_FILE`` and ``NODE_EXTRA_CA_CERTS``.

    Raises:
        ConfigurationError: If the name is empty, a timeout is not positive, or another argument has the wrong type.

    Example:
        >>> StdioServer("git", "uvx", ["mcp-server-git"], env={"TOKEN": "secret"})
        StdioServer(name='git', command='uvx', args=('mcp-server-git',), cwd=None, timeout=60.0, connect_timeout=30.0, \
handshake='auto', max_calls=100, max_message_bytes=50000000, max_timeout=600.0, inherit_env=())
    """

    name: str
    command: str
    args: Sequence[str | Secret] = ()
    env: Mapping[str, str | Secret] | None = field(default=None, repr=False)
    cwd: str | Path | None = None
    timeout: float = 60.0
    connect_timeout: float = 30.0
    handshake: Handshake = "auto"
    max_calls: int = 100
    max_message_bytes: int = 50_000_000
    max_timeout: float = 600.0
    inherit_env: Sequence[str] = ()

    def __post_init__(self) -> None:
        _validate(self.name, self.timeout, self.connect_timeout, self.max_calls)
        _validate_command(self.name, self.command, self.cwd)
        if isinstance(self.inherit_env, str):
            raise ConfigurationError(
                f"MCP server {self.name!r}: inherit_env must be a sequence of names, got {self.inherit_env!r}; "
                f"write [{self.inherit_env!r}]"
            )
        if isinstance(self.args, str | bytes) or not isinstance(self.args, Iterable):
            raise ConfigurationError(
                f"MCP server {self.name!r}: args must be a sequence of strings, got {short_repr(self.args)}; "
                f"write [{short_repr(self.args)}]"
            )
        object.__setattr__(self, "args", tuple(self.args))
        for position, argument in enumerate(self.args):
            if not isinstance(argument, str | Secret):
                raise ConfigurationError(
                    f"MCP server {self.name!r}: args[{position}] must be a string, got {short_repr(argument)}"
                )
        _validate_strings(self.name, "env", self.env)

    def __repr__(self) -> str:
        return _describe(self)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """An MCP server reached over HTTP.

    Args:
        name: The source of the server's tools, and their prefix if they need one.
        url: The endpoint. Texts show it without its query and password.
        headers: Headers of every request, such as an authorization. No text shows their values. A function, sync or
            async, is called before each request, so tokens can be renewed; a sync one runs in a thread.
        timeout: The seconds that one tool call may take.
        connect_timeout: The seconds that handshake and the first tool list may take together, as in `StdioServer`.
        handshake: The way the session starts, as in `StdioServer`.
        max_calls: The largest number of calls at once, as in `StdioServer`.
        max_message_bytes: The largest message that the server may send, as in `StdioServer`.
        auth: An authentication of the HTTP client, such as ``mcp.client.auth.OAuthClientProvider``.
        max_timeout: The seconds that a call which reports progress may take, as in `StdioServer`.
        transport: ``"http"`` is streamable HTTP. ``"sse"`` is the older transport of two endpoints, where `url` is the
            one that sends the events, often ``/sse``.

    Raises:
        ConfigurationError: If the name is empty, a timeout is not positive, the URL is not an HTTP address, the
            transport is unknown, or `headers` is not a mapping of strings.

    Example:
        >>> from toolsearch import Secret
        >>> HttpServer("docs", "https://example.org/mcp", headers={"Authorization": Secret("Bearer abc")}).url
        'https://example.org/mcp'
    """

    name: str
    url: str
    headers: Headers | None = field(default=None, repr=False)
    timeout: float = 60.0
    connect_timeout: float = 30.0
    handshake: Handshake = "auto"
    max_calls: int = 100
    max_message_bytes: int = 50_000_000
    auth: httpx2.Auth | None = field(default=None, repr=False)
    max_timeout: float = 600.0
    transport: Literal["http", "sse"] = "http"
    _issued: deque[str | Secret] = field(
        default_factory=lambda: deque(maxlen=20), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        _validate(self.name, self.timeout, self.connect_timeout, self.max_calls)
        if not isinstance(self.url, str) or not self.url.startswith(("http://", "https://")):
            shown = redact_urls(self.url) if isinstance(self.url, str) else short_repr(self.url)
            raise ConfigurationError(
                f"MCP server {self.name!r}: url must start with http:// or https://, got {shown!r}"
            )
        if self.transport not in ("http", "sse"):
            raise ConfigurationError(
                f"MCP server {self.name!r}: transport must be 'http' or 'sse', got {short_repr(self.transport)}"
            )
        if not callable(self.headers):
            _validate_strings(self.name, "headers", self.headers)

    def __repr__(self) -> str:
        return _describe(self)

    def record_credentials(self, values: Iterable[str | Secret]) -> None:
        """Hide values that a function in `headers` returned from all texts about the server."""
        self._issued.extend(value for value in values if value not in self._issued)


Server: TypeAlias = StdioServer | HttpServer
"""Any definition of an MCP server."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The status of one server of `McpTools`.

    Args:
        name: The name given in `StdioServer` or `HttpServer`.
        state: ``"new"`` before the first connection, ``"ready"``, ``"failed"`` (did not start), ``"unauthorized"``
            (refused the credentials of the last request with HTTP status 401 or 403), ``"stopped"`` (ended by itself)
            or ``"closed"`` (by `McpTools.close`).
        tools: The number of provided tools, after the filter.
        title: The title that the server reports.
        version: The version that the server reports.
        error: What went wrong, with the end of the server's standard error.
        instructions: What the server says about the use of its tools, written by the server.

    Example:
        >>> ServerStatus("git", "ready", tools=12).error is None
        True
    """

    name: str
    state: Literal["new", "ready", "failed", "unauthorized", "stopped", "closed"]
    tools: int = 0
    title: str | None = None
    version: str | None = None
    error: str | None = None
    instructions: str | None = None
