"""The MCP servers of the bundled run: started from their own environment, asked for their tools, ended again."""

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
from ...tools.tool import Tool

if TYPE_CHECKING:
    from mcp_types import Tool as McpTool

    from ...mcp import StdioServer

__all__ = ["Listing", "ServerListing", "list_servers"]

_DATA = Path(__file__).parents[1] / "data"
_PATIENCE = 60.0
_SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """One server of a run.

    Args:
        name: its name here, the source of its tools.
        distribution: the distribution it was installed from.
        version: that distribution's pinned version.
        tools: how many tools it listed; 0 if it did not start.
        error: why it did not start; empty if it did.
    """

    name: str
    distribution: str
    version: str
    tools: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What running servers listed: the tools, and where they come from."""

    tools: tuple[Tool, ...]
    servers: tuple[ServerListing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    """A server as `data/servers.json` describes it."""

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
        # Two busy cores start a dozen Python servers slowly; the limit is for those that hang.
        return StdioServer(self.name, command, args, env=self.env, cwd=workdir, connect_timeout=_PATIENCE)


def list_servers(environment: str | Path) -> Listing:
    """Start the bundled servers from a virtual environment, list their tools and end them.

    A server that does not start is reported and left out. Tools that a server lists twice under another name (as its
    description in ``servers.json`` says) are left out too.

    Raises:
        ConfigurationError: there is no such environment, or no server of it started.
        MissingExtraError: the extra ``mcp`` is not installed.
    """
    from ...mcp import McpTools

    environment = Path(environment).absolute()
    if not (environment / _SCRIPTS).is_dir():
        raise ConfigurationError(
            f"{os.path.relpath(environment)} is not an environment with MCP servers; make one with `make servers`, "
            "or give a catalogue of your own with --catalog"
        )
    described = list(_described())
    excluded = {server.name: server.exclude for server in described}

    def admits(server: str, tool: McpTool) -> bool:
        return not any(fnmatchcase(tool.name, pattern) for pattern in excluded[server])

    with tempfile.TemporaryDirectory(prefix="toolsearch-servers-") as workdir:
        servers = [server.start_from(environment, workdir) for server in described]
        # A measurement waits for every server, however slow the machine.
        with McpTools(*servers, on_error="skip", filter=admits, first_wait=_PATIENCE) as provider:
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
        for server in described
    )
    if not tools:
        raise ConfigurationError(f"no MCP server started; the first said: {listed[0].error}")
    return Listing(tools, listed)


def _described() -> Iterator[_Described]:
    described: dict[str, Any] = json.loads((_DATA / "servers.json").read_text("utf-8"))
    for server in described["servers"]:
        yield _Described(**server)


def _pinned_versions() -> dict[str, str]:
    lines = (_DATA / "servers.txt").read_text("utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {name.strip(): version.strip() for name, version in pins}


def _first_line(error: str | None, environment: Path) -> str:
    """The first line of an error, without the place of the environment on this machine."""
    lines = (error or "").strip().splitlines()
    return lines[0].replace(str(environment), environment.name) if lines else ""
