"""MCP servers of the bundled run: started from their own environment to list their tools."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from ...tools.tool_type import Tool

if TYPE_CHECKING:
    from mcp_types import Tool as McpTool

    from ...mcp import StdioServer

__all__ = ["Listing", "ServerListing", "list_servers"]

_DATA = Path(__file__).parents[1] / "data"
_CONNECT_TIMEOUT_SECONDS = 60.0
_SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """Result of one server.

    Args:
        name: Name of the server, which is the source of its tools.
        distribution: Python distribution of the server.
        version: Pinned version of the distribution.
        tools: Number of tools that it listed; 0 if it did not start.
        error: Reason why it did not start, or an empty string.
    """

    name: str
    distribution: str
    version: str
    tools: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Tools that the servers listed, and the result of each server."""

    tools: tuple[Tool, ...]
    servers: tuple[ServerListing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServerDescription:
    """Entry of ``data/servers.json``."""

    name: str
    distribution: str
    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    exclude: Sequence[str]

    def start_from(self, environment: Path, workdir: str) -> StdioServer:
        from ...mcp import StdioServer

        args = [argument.replace("{workdir}", workdir) for argument in self.args]
        command = str(environment / _SCRIPTS / self.command)
        # A busy machine starts a dozen Python servers slowly. The timeout is only for servers that hang.
        return StdioServer(
            self.name, command, args, env=self.env, cwd=workdir, connect_timeout=_CONNECT_TIMEOUT_SECONDS
        )


def list_servers(environment: str | Path) -> Listing:
    """Start the bundled servers from a virtual environment, list their tools and stop the servers.

    A server that does not start is reported and left out. So are tools that match ``exclude`` in ``servers.json``,
    since they are copies under another name.

    Args:
        environment: Folder of the virtual environment.

    Raises:
        ConfigurationError: The environment does not exist, or no server started.
        MissingExtraError: The extra ``mcp`` is not installed.
    """
    from ...mcp import McpTools

    environment = Path(environment).absolute()
    if not (environment / _SCRIPTS).is_dir():
        raise ConfigurationError(
            f"{os.path.relpath(environment)} is not an environment with MCP servers; create it with `make servers`, "
            "or measure your own tools with --catalog"
        )
    descriptions = list(_load_descriptions())
    excluded = {server.name: server.exclude for server in descriptions}

    def is_included(server: str, tool: McpTool) -> bool:
        return not any(fnmatchcase(tool.name, pattern) for pattern in excluded[server])

    with tempfile.TemporaryDirectory(prefix="toolsearch-servers-") as workdir:
        servers = [server.start_from(environment, workdir) for server in descriptions]
        # The measurement waits for every server.
        with McpTools(*servers, on_error="skip", filter=is_included, first_wait=_CONNECT_TIMEOUT_SECONDS) as provider:
            tools = provider.tools()
            states = {status.name: status for status in provider.servers}
    versions = _pinned_versions()
    listed = tuple(
        ServerListing(
            name=server.name,
            distribution=server.distribution,
            version=versions.get(server.distribution, ""),
            tools=states[server.name].tools,
            error=_first_line(states[server.name].error, environment),
        )
        for server in descriptions
    )
    if not tools:
        raise ConfigurationError(f"no MCP server started; the error of the first is: {listed[0].error}")
    return Listing(tools, listed)


def _load_descriptions() -> Iterator[_ServerDescription]:
    document: dict[str, Any] = json.loads((_DATA / "servers.json").read_text("utf-8"))
    for server in document["servers"]:
        yield _ServerDescription(**server)


def _pinned_versions() -> dict[str, str]:
    lines = (_DATA / "servers.txt").read_text("utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {name.strip(): version.strip() for name, version in pins}


def _first_line(error: str | None, environment: Path) -> str:
    """Return the first line of an error, without the path of the environment on this machine."""
    lines = (error or "").strip().splitlines()
    return lines[0].replace(str(environment), environment.name) if lines else ""
