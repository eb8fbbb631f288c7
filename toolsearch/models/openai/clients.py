"""SDK clients of a model: one for sync calls, and one for each event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...errors import ConfigurationError, MissingExtraError
from ...shared.fork import new_lock, reset_in_child
from ...text.secret import reveal

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from openai import AsyncOpenAI, OpenAI

__all__ = ["SdkClients"]

_Client = TypeVar("_Client")

_inherited_by_fork: list[object] = []
"""Clients of a parent process, kept referenced so that the child never closes them."""


class _LoopClient(NamedTuple):
    """The client of one event loop, and the generator that closes it at the end of the loop."""

    client: AsyncOpenAI
    keeper: AsyncGenerator[None]


class SdkClients:
    """Opens SDK clients at the first request and closes them.

    Args:
        settings: Arguments of the SDK's client classes. A `Secret` is revealed to them only.
        client: A client of the application for sync calls; it is never closed here.
        async_client: The same for async calls.
        errors: Makes a context that converts errors of the SDK.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        client: OpenAI | None,
        async_client: AsyncOpenAI | None,
        errors: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._settings = settings
        self._given = (client, async_client) if client is not None or async_client is not None else None
        self._errors = errors
        self._lock = new_lock()
        self._sync: OpenAI | None = None
        # Connections belong to the event loop that opened them, and each `asyncio.run` makes a new loop.
        self._by_loop: dict[AbstractEventLoop | None, _LoopClient] = {}
        reset_in_child(self)

    def reset_after_fork(self) -> None:
        """Leave the clients to the parent process: a connection must not be used by two."""
        _inherited_by_fork.append((self._sync, self._by_loop))
        self._sync, self._by_loop = None, {}

    def for_sync(self) -> OpenAI:
        """Return the client for sync calls."""
        if self._given is not None:
            return _require(self._given[0], "client")
        with self._lock:
            if (client := self._sync) is None:
                sdk = _import_sdk()
                with self._errors():
                    client = self._sync = sdk.OpenAI(**self._revealed())
            return client

    async def for_async(self) -> AsyncOpenAI:
        """Return the client of the running event loop."""
        if self._given is not None:
            return _require(self._given[1], "async_client")
        loop = _running_loop()
        with self._lock:
            own = self._by_loop.get(loop)
            if own is not None and not own.client.is_closed():
                return own.client
            sdk = _import_sdk()
            self._by_loop = {key: c for key, c in self._by_loop.items() if key and not key.is_closed()}
            with self._errors():
                # The SDK's default HTTP client would be closed, when collected, in whatever loop runs then.
                client = sdk.AsyncOpenAI(**self._revealed(), http_client=sdk.DefaultAsyncHttpxClient())
            own = self._by_loop[loop] = _LoopClient(client, _close_at_loop_end(client))
        await anext(own.keeper)
        return own.client

    def _revealed(self) -> dict[str, Any]:
        return {name: reveal(value) for name, value in self._settings.items()}

    def close(self) -> None:
        """Close the client for sync calls."""
        with self._lock:
            client, self._sync = self._sync, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the client of the running event loop."""
        with self._lock:
            own = self._by_loop.pop(_running_loop(), None)
        if own is not None:
            await own.keeper.aclose()


async def _close_at_loop_end(client: AsyncOpenAI) -> AsyncGenerator[None]:
    # A loop that ends closes the async generators that were started in it.
    try:
        yield
    finally:
        await client.close()


def _import_sdk() -> ModuleType:
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError("openai", "OpenAIChatModel") from error
    return openai


def _running_loop() -> AbstractEventLoop | None:
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # under trio
        return None


def _require(client: _Client | None, name: str) -> _Client:
    if client is None:
        other = "client" if name == "async_client" else "async_client"
        raise ConfigurationError(f"this call needs {name}=, but the model was made with {other}= only; pass both")
    return client
