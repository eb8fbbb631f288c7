"""The tools a server offers at the moment; where a provider's have changed, clients are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from ...errors import ToolSearchError
from ...tools.collect import ToolLike, expand_tools, name_tools, resolve_tools
from ...tools.threads import run_in_worker_thread
from ...tools.tool import Tool
from .change_notifier import Announcer

__all__ = ["ServedTools"]


class ServedTools:
    """Tools under the names that clients see.

    Args:
        tools: whatever `ChatClient` takes.
        announcers: those of the servers that run.

    Attributes:
        change: whether a provider is among them, whose tools may change.
    """

    def __init__(self, tools: Iterable[ToolLike] | ToolLike, announcers: Sequence[Announcer]) -> None:
        self._found = expand_tools(tools)
        self._announcers = announcers
        self.change = not all(isinstance(tool, Tool) for tool in self._found)
        self._named = name_tools(tool for tool in self._found if isinstance(tool, Tool))
        self._listed = not self.change

    async def current(self) -> tuple[Tool, ...]:
        """Return the tools of this moment; a change since they were last asked for is told to clients."""
        if not self.change:
            return self._named
        tools = await run_in_worker_thread(partial(resolve_tools, self._found))  # a provider may take its time
        named = name_tools(tools)
        if named != self._named:  # tools compare by identity
            self._named, before = named, self._listed
            self._listed = True
            for announcer in self._announcers if before else ():
                await announcer.tell()
        return self._named

    async def look_for_changes(self) -> None:
        """Tell clients of a change that no request has shown yet; a provider that fails is heard of at the next one."""
        if self.change:
            with suppress(ToolSearchError):
                await self.current()
