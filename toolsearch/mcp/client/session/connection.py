"""One server's session, opened and closed by one task."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import math
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ..reconnect import Attempts
from ..servers import Server
from .background_loop import LoopThread, hold, release
from .disconnects import CLOSED, Ending, log_not_started, log_stopped, not_started, stopped
from .exit_code import ExitCode
from .stderr_tail import StderrTail
from .tool_list import ToolList

if TYPE_CHECKING:
    import anyio
    from mcp import Client
    from mcp_types import Implementation

__all__ = ["Connection"]

# A process that ignores the end of its input is killed by the SDK within about six seconds; what takes longer is HTTP.
_CLOSE_PATIENCE = 8.0


class Connection:
    """A server's session: how it begins, how it is doing, and how it ends.

    Everything but `running`, `may_start`, `due`, `abandon` and the plain attributes is used on the background loop.
    The session lives in one task (`_serve`) from opening to closing, because the SDK's cancel scopes belong to the task
    that entered them; requests come from any task of the loop.

    Args:
        server: which.
        attempts: when it may be started again.
        on_tools_changed: called with its name when it says that its tools changed.

    Attributes:
        state: see `ServerStatus`.
        client: what requests go to; None while there is no session.
        listed: the tools it listed last.
        info: what it said of itself.
        closing: it was told to end.
        forgotten: the server, reached over HTTP, does not know the session any more.
    """

    def __init__(
        self, server: Server, attempts: Attempts, *, on_tools_changed: Callable[[str], object] | None = None
    ) -> None:
        self.server = server
        self.attempts = attempts
        self.state: Literal["new", "ready", "failed", "stopped", "closed"] = "new"
        self.client: Client | None = None
        self.listed = ToolList(server, lambda: self.client, on_tools_changed)
        self.info: Implementation | None = None
        self.closing = False
        self.forgotten = False
        self._ending = Ending("it has not been started")
        self._task: asyncio.Task[None] | None = None
        self._thread: LoopThread | None = None
        self._scope: anyio.CancelScope | None = None
        self._ended = asyncio.Event()  # set when the session is to end, or has
        self._settled = asyncio.Event()  # set when opening has come to a result

    # ------------------------------------------------------------------ from any thread

    @property
    def running(self) -> bool:
        """Whether it has a session here (one that has just died may still seem to)."""
        return self.client is not None and not self.elsewhere

    @property
    def may_start(self) -> bool:
        """Whether it has ended and may be started again by now; one that only forgot its session runs all the same."""
        waited = self.forgotten or self.attempts.wait == 0
        return self.state in ("failed", "stopped") and not self.elsewhere and waited

    @property
    def due(self) -> bool:
        """Whether its list has changed and nobody asks for the new one yet."""
        return self.running and self.listed.due

    @property
    def reason(self) -> str:
        """Why there is no session, for the model."""
        return self._ending.reason

    @property
    def error(self) -> str | None:
        """The same for the application; None while it is ready, and where the application closed it."""
        return self._ending.error

    @property
    def elsewhere(self) -> bool:
        """Whether this process was forked since the session was opened: the loop it lives on has stayed behind."""
        return self._thread is not None and self._thread.pid != os.getpid()

    def abandon(self) -> None:
        """Close soon, without waiting or locking: for finalizers."""
        if self._thread is not None and not self.elsewhere:
            self._thread.call_soon(self._request_close)

    # ------------------------------------------------------------------ life of the session

    async def open(self) -> None:
        """Start the server, shake hands and list its tools; on return it is ready or failed, and never raises."""
        while self._task is not None and self._settled.is_set() and not self.running and not self.elsewhere:
            await self.over()  # no session any more, but its process is not quite gone
        if self._task is None or self.elsewhere:
            self.closing = False
            self._ended = asyncio.Event()
            self._settled = asyncio.Event()
            self._thread = thread = hold()
            # A context of its own: whoever happens to be the first caller must not be kept, nor traced, for ever.
            own = contextvars.Context()
            self._task = asyncio.create_task(self._serve(), name=f"mcp {self.server.name}", context=own)
            self._task.add_done_callback(lambda _: release(thread))
        await self._settled.wait()

    async def over(self) -> None:
        """Wait for the end of a session that is ending."""
        task = self._task
        if task is not None and self._ended.is_set():
            await asyncio.wait([task])

    async def over_within(self, seconds: float) -> None:
        """Wait for the end of the session, but not for long."""
        task = self._task
        if task is not None:
            await asyncio.wait([task], timeout=seconds)

    async def close(self) -> None:
        """End the session and wait until its process is gone; a session opened before a fork is left alone."""
        if self.elsewhere:
            return
        self._request_close()
        task = self._task
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=_CLOSE_PATIENCE)
            if not done and self._scope is not None:
                self._scope.cancel()
                await asyncio.wait([task])
        if self.state != "failed":
            self.state, self._ending = "closed", CLOSED

    def _request_close(self) -> None:
        self.closing = True
        self._ended.set()
        if self._scope is not None and self.state != "ready":
            self._scope.cancel()  # still connecting: nothing but a cancellation ends that

    async def _serve(self) -> None:
        stderr = StderrTail()
        exit_code = ExitCode()
        failure: BaseException | None = None
        try:
            await self._session(stderr, exit_code)
        except Exception as error:
            failure = error
        except asyncio.CancelledError:  # by the loop, which ends with the program
            self.closing = True
            raise
        finally:
            self.client = None
            self._scope = None
            self._task = None
            stderr.close()
            self._conclude(failure, str(exit_code), stderr.text())
            self._settled.set()

    async def _session(self, stderr: StderrTail, exit_code: ExitCode) -> None:
        if "mcp" not in sys.modules:  # takes the better part of a second, in which other sessions go on
            await asyncio.to_thread(importlib.import_module, "mcp")
        import anyio
        from mcp import Client

        from .transports import open_transport

        # The deadline is lifted, not the scope left: scopes must be left in the order they were entered.
        with anyio.CancelScope(deadline=anyio.current_time() + self.server.connect_timeout) as self._scope:
            self.forgotten = False
            transport = open_transport(
                self.server,
                stderr,
                exit_code,
                ended=self._ended.set,
                forgotten=self._forget,
                version=lambda: _agreed_version(client),
            )
            # No response cache: a refresh must ask. No `read_timeout`: connecting has its deadline, calls have theirs.
            client = Client(transport, mode=self.server.handshake, message_handler=self.listed.on_message, cache=None)
            async with client, anyio.create_task_group() as watchers:
                await self.listed.begin(client, watchers)
                self._scope.deadline = math.inf
                self.info = client.server_info
                self._ending = Ending(self._ending.reason)
                self.state = "ready"
                self.attempts.started()
                self.client = client
                self._settled.set()
                await self._ended.wait()
                self.client = None
                watchers.cancel_scope.cancel()
        if self._scope.cancelled_caught and not self.closing:
            raise TimeoutError(f"no answer to the handshake within {self.server.connect_timeout:g} s")

    def _forget(self) -> None:
        self.forgotten = True
        self._ended.set()

    def _conclude(self, failure: BaseException | None, exited: str, stderr: str) -> None:
        started = self.state == "ready"
        self.listed.session_ended()
        if not self.closing and not self.forgotten:  # a server that forgets sessions is there all the same
            self.attempts.ended(started=started)
        if self.closing:
            self.state, self._ending = "closed", CLOSED
        elif started:
            ending = stopped(self.server, failure, exited, stderr, forgotten=self.forgotten)
            self.state, self._ending = "stopped", ending
            log_stopped(self.server, ending, stderr, forgotten=self.forgotten)
        else:
            ending = not_started(self.server, failure, exited, stderr)
            self.state, self._ending = "failed", ending
            log_not_started(self.server, ending)


def _agreed_version(client: Client) -> str | None:
    """The version of the protocol that client and server talk in; None during the handshake."""
    try:
        return client.protocol_version
    except RuntimeError:
        return None
