"""The current tools of a server; clients are notified when those of a provider change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from ...tools.collect import ToolLike, ToolListing, expand_tools, name_tools
from ...tools.threads import run_library_work
from ...tools.tool_type import Tool
from .change_notifier import ChangeNotifier

__all__ = ["ServedTools"]


class ServedTools:
    """The served tools, under the names that clients see.

    Args:
        tools: The tools, in any form that `ChatClient` accepts.
        notifiers: The notifiers of the running servers.

    Attributes:
        may_change: Whether the tools include a provider, whose tools may change.
    """

    def __init__(self, tools: Iterable[ToolLike] | ToolLike, notifiers: Sequence[ChangeNotifier]) -> None:
        self._found = expand_tools(tools)
        self._notifiers = notifiers
        self.may_change = not all(isinstance(tool, Tool) for tool in self._found)
        self._named = name_tools(tool for tool in self._found if isinstance(tool, Tool))
        self._listing = ToolListing()
        self._listed = not self.may_change

    async def current(self) -> tuple[Tool, ...]:
        """Return the current tools; notify clients if they changed since the last call."""
        if not self.may_change:
            return self._named
        named = await run_library_work(partial(self._listing.current, self._found))  # a provider may block
        if named != self._named:  # tools compare by identity
            self._named, before = named, self._listed
            self._listed = True
            for notifier in self._notifiers if before else ():
                await notifier.notify()
        return self._named

    async def notify_if_changed(self) -> None:
        """Notify clients of a change now; the error of a provider that fails is left to the next request."""
        if self.may_change:
            with suppress(Exception):
                await self.current()
