"""Storage of turns that ended early: bounded in time, and complete also if the turn was cancelled."""

from __future__ import annotations

import contextvars
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...text.logs import log_event
from .perform import aperform, perform

__all__ = ["astore_unstored", "store_unstored"]

STORE_TIMEOUT_SECONDS = 5.0

logger = logging.getLogger(__name__)


def store_unstored(functions: Sequence[Callable[[], Any]]) -> None:
    """Call the functions that store what is left of a turn. Errors are logged.

    The functions run in a thread: the garbage collector may close a stream in a thread that holds a lock of the store.
    While the interpreter is finalizing, a new thread would never run and its starter would wait forever.
    """
    for store in functions:
        if sys.is_finalizing():
            _log_error(RuntimeError("the interpreter is shutting down; close streams before the program ends"))
            continue
        work = partial(contextvars.copy_context().run, partial(_attempt, store))
        thread = threading.Thread(target=work, name="toolsearch-store", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # Python 3.12 does not start threads in functions of atexit
            _attempt(store)
            continue
        thread.join(STORE_TIMEOUT_SECONDS)
        if thread.is_alive():
            _log_timeout()


async def astore_unstored(functions: Sequence[Callable[[], Any]]) -> None:
    """Call the functions that store what is left of a turn, also if its task is cancelled. Errors are logged."""
    if not functions:
        return
    import anyio

    for store in functions:
        with anyio.move_on_after(STORE_TIMEOUT_SECONDS, shield=True) as scope:
            try:
                await aperform(store)
            except Exception as error:
                _log_error(error)
        if scope.cancelled_caught:
            _log_timeout()


def _attempt(store: Callable[[], Any]) -> None:
    try:
        perform(store)
    except Exception as error:
        _log_error(error)


def _log_error(error: Exception) -> None:
    log_event(logger, logging.ERROR, "turn_not_stored", error=error)


def _log_timeout() -> None:
    log_event(logger, logging.ERROR, "turn_not_stored", {"timeout": STORE_TIMEOUT_SECONDS})
