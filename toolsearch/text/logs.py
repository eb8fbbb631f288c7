"""Log records that strangers cannot forge: an event name, and its facts on one line and as attributes.

Every record of the package is written by `log_event`. A fact may contain a text of a model, a user or a server, so it
is escaped, cut, and freed from credentials here. No caller formats a fact by itself.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import PurePath
from types import TracebackType
from typing import TypeAlias

from .secret import redact_urls
from .strings import clip, short_repr

__all__ = ["Fact", "log_event", "log_text"]

Fact: TypeAlias = object
"""A value of a log record. Numbers, booleans and None are written as they are, everything else as text."""

_MAX_CHARACTERS = 500
_MAX_FRAMES = 5
_WORD = re.compile(r"[^\s\"'=]+")


def log_event(
    logger: logging.Logger,
    level: int,
    event: str,
    facts: Mapping[str, Fact] | None = None,
    *,
    error: BaseException | None = None,
    show_text: bool = True,
    note: str = "",
    max_length: int = _MAX_CHARACTERS,
    stacklevel: int = 1,
) -> None:
    """Log ``toolsearch.EVENT key=value ...`` on one line, with the facts as attributes of the record.

    Args:
        logger: The logger.
        level: The level of the record.
        event: The event's name, a constant.
        facts: The facts by name. A text with a space, a quote or an equals sign is quoted.
        error: An exception, added as the facts `error_type`, `error` (its text), `cause` (the type of its cause) and
            `at` (where it was raised, the innermost call last).
        show_text: Whether to add the text of `error`. It can quote the arguments of a tool call or a query, so it is
            left out where one of these was at work.
        note: A constant sentence at the end.
        max_length: The number of characters above which a fact is cut.
        stacklevel: The number of calls up to the one that the record names as its place.

    Example:
        >>> logger = logging.getLogger("toolsearch.example")
        >>> handler = logging.StreamHandler(__import__("sys").stdout)
        >>> logger.addHandler(handler)
        >>> log_event(logger, logging.ERROR, "tool_left_out", {"tool": "a\\nERROR forged", "tools": 3})
        toolsearch.tool_left_out tool='a\\nERROR forged' tools=3
        >>> logger.removeHandler(handler)
    """
    if not logger.isEnabledFor(level):
        return
    shown = {name: _safe(value, max_length) for name, value in (facts or {}).items()}
    if error is not None:
        shown |= {name: _safe(value, max_length) for name, value in _error_facts(error, show_text).items()}
    text = " ".join(f"{name}={_quoted(value)}" for name, value in shown.items())
    logger.log(level, "%s", f"toolsearch.{event} {text}{note}".rstrip(), extra=shown, stacklevel=stacklevel + 1)


def log_text(text: str, max_length: int = _MAX_CHARACTERS) -> str:
    r"""Return a text without credentials, escaped on one line of at most `max_length` characters.

    Example:
        >>> log_text("two\nlines at http://host/?key=1")
        'two\\nlines at http://host/?***'
    """
    text = redact_urls(text[: 200 * max_length])
    cut = clip(text, max_length)
    return cut if cut.isprintable() else clip(_escaped(cut), max_length)


def _safe(value: Fact, max_length: int) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool | int | float):
        return value
    return log_text(value if isinstance(value, str) else short_repr(value, max_length), max_length)


def _quoted(value: object) -> str:
    if not isinstance(value, str) or _WORD.fullmatch(value):
        return str(value)
    return f"'{value}'" if "'" not in value else '"' + value.replace('"', '\\"') + '"'


def _escaped(text: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def _error_facts(error: BaseException, show_text: bool) -> dict[str, str]:
    text = {"error": text} if show_text and (text := _text_of(error)) else {}
    cause = {"cause": type(error.__cause__).__name__} if error.__cause__ is not None else {}
    at = {"at": _frames(error.__traceback__)} if error.__traceback__ is not None else {}
    return {"error_type": type(error).__name__, **text, **cause, **at}


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a __str__ that fails
        return ""


def _frames(traceback: TracebackType | None) -> str:
    """Return the places that an exception passed, the innermost last."""
    places: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append(f"{PurePath(code.co_filename).name}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return " > ".join(places[-_MAX_FRAMES:])
