"""How MCP servers are named, started and reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from ...errors import ConfigurationError

__all__ = ["HttpServer", "Server", "ServerStatus", "StdioServer"]

Handshake: TypeAlias = Literal["auto", "legacy"]


def _check(name: str, timeout: float, connect_timeout: float) -> None:
    if not name or not name.strip():
        raise ConfigurationError("an MCP server needs a name: it is the source of its tools and their prefix")
    for label, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
        if not value > 0:
            raise ConfigurationError(f"{label} of MCP server {name!r} must be more than 0 seconds, not {value!r}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """An MCP server that runs as a child process and speaks over its standard input and output.

    Its standard error never reaches the terminal; the end of it is quoted in error messages. Its environment is `env`
    over the few variables that are safe to inherit (``PATH``, ``HOME`` and the like).

    Args:
        name: the source of its tools, and their prefix where one is needed.
        command: the executable.
        args: its arguments.
        env: variables to add; not shown by ``repr``.
        cwd: its working directory.
        timeout: seconds a call may take.
        connect_timeout: seconds that start, handshake and listing may take together, and so how long the first turn may
            wait for it; listing again later may take as long, beside the turns.
        handshake: ``"auto"`` asks for the newest protocol and falls back to the ``initialize`` handshake;
            ``"legacy"`` starts with the latter, for servers that do not answer the question.

    Example:
        >>> StdioServer("git", "uvx", ["mcp-server-git"], env={"TOKEN": "secret"})
        StdioServer(name='git', command='uvx', args=('mcp-server-git',), cwd=None, timeout=60.0, connect_timeout=30.0, \
handshake='auto')
    """

    name: str
    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | Path | None = None
    timeout: float = 60.0
    connect_timeout: float = 30.0
    handshake: Handshake = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.args, str):
            raise ConfigurationError(f"args of MCP server {self.name!r} must be a sequence of strings, not one string")
        object.__setattr__(self, "args", tuple(self.args))
        _check(self.name, self.timeout, self.connect_timeout)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """An MCP server reached over streamable HTTP.

    Args:
        name: the source of its tools, and their prefix where one is needed.
        url: its endpoint.
        headers: sent with every request, e.g. an authorization; not shown by ``repr``.
        timeout: seconds a call may take.
        connect_timeout: seconds that handshake and listing may take together, as for `StdioServer`.
        handshake: as for `StdioServer`.

    Example:
        >>> HttpServer("docs", "https://example.org/mcp", headers={"Authorization": "Bearer secret"}).url
        'https://example.org/mcp'
    """

    name: str
    url: str
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    timeout: float = 60.0
    connect_timeout: float = 30.0
    handshake: Handshake = "auto"

    def __post_init__(self) -> None:
        _check(self.name, self.timeout, self.connect_timeout)
        if not self.url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"url of MCP server {self.name!r} must start with http:// or https://: {self.url!r}"
            )


Server: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is doing.

    Args:
        name: its name here.
        state: ``"new"`` before it was first connected, ``"ready"``, ``"failed"`` (did not start), ``"stopped"`` (ended
            by itself) or ``"closed"`` (by `McpTools.close`).
        tools: the number of its tools, after the filter.
        title: what it calls itself.
        version: the version it reports.
        error: what went wrong, with the end of its stderr.
    """

    name: str
    state: Literal["new", "ready", "failed", "stopped", "closed"]
    tools: int = 0
    title: str | None = None
    version: str | None = None
    error: str | None = None
