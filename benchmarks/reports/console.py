"""Terminal output of the commands: console width, safe text, log levels and one-line errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import typer
from rich.console import Console

from ...errors import ToolSearchError

__all__ = ["log_levels", "make_console", "report_errors", "strip_control_characters"]

_FILE_WIDTH = 110
_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def make_console(*, stderr: bool = False) -> Console:
    """Create a console. If the output is a file or a log, it is wide enough for the tables.

    Args:
        stderr: Write to standard error instead of standard output.
    """
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=_FILE_WIDTH)


def strip_control_characters(text: str) -> str:
    """Replace control characters, direction overrides and lone surrogates, so that text cannot control the terminal."""
    return _CONTROL_CHARACTERS.sub("\ufffd", text)


@contextmanager
def log_levels(**levels: int) -> Iterator[None]:
    """Set the levels of loggers, by name, and restore them at the end."""
    with ExitStack() as restored:
        for name, level in levels.items():
            logger = logging.getLogger(name)
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(level)
        yield


@contextmanager
def report_errors() -> Iterator[None]:
    """Print an error of the library as one line on standard error and exit with code 2, without a traceback."""
    try:
        yield
    except ToolSearchError as error:
        typer.echo(f"toolsearch: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
