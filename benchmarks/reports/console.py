"""How the command line talks: tables that fit, and errors in one line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import typer
from rich.console import Console

from ...errors import ToolSearchError

__all__ = ["clear_errors", "harmless", "make_console", "quiet_logs"]

_LOG_WIDTH = 110
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def make_console(*, stderr: bool = False) -> Console:
    """A console that is wide enough for tables where the output is a file or a log."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=_LOG_WIDTH)


def harmless(text: str) -> str:
    """The text without controls and direction overrides: what a server says must not steer the terminal.

    Lone surrogates, which cannot be written either, are replaced too.
    """
    return _STEERING.sub("\ufffd", text)


@contextmanager
def quiet_logs(**levels: int) -> Iterator[None]:
    """Let loggers, by name, say only what is at least as serious; afterwards they are as they were."""
    with ExitStack() as restored:
        for name, level in levels.items():
            logger = logging.getLogger(name)
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(level)
        yield


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn the library's errors into one line on standard error and exit code 2, without a traceback."""
    try:
        yield
    except ToolSearchError as error:
        typer.echo(f"toolsearch: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
