"""Execution of `Perform`: a function that may block, on the caller's thread or beside the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from ...errors import AsyncCallableError
from ...tools.definition.signature import origin
from ...tools.threads import run_library_work
from ...tools.threads.tenants import acting_for

__all__ = ["aperform", "perform"]


def perform(fn: Callable[[], Any]) -> Any:
    """Call `fn` on this thread.

    Raises:
        AsyncCallableError: If it is async.
    """
    result = None if _is_async(fn) else fn()
    if _is_async(fn) or inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise AsyncCallableError(f"{origin(fn)} must not be async in call() and stream(); use acall() or astream()")
    return result


async def aperform(fn: Callable[[], Any], tenant: str | None = None) -> Any:
    """Call `fn` in a worker thread, or await it if it is async. It works for a tenant, by default the current one."""
    with acting_for(tenant):
        if _is_async(fn):
            return await cast("Callable[[], Coroutine[Any, Any, Any]]", fn)()
        result = await run_library_work(fn)
        return await result if inspect.isawaitable(result) else result


def _is_async(fn: Callable[[], Any]) -> bool:
    while isinstance(fn, partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
