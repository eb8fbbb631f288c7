"""Regular expressions of JSON Schemas, matched in linear time."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["matches"]

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def matches(pattern: str, text: str) -> bool | None:
    """Return whether `pattern` matches somewhere in `text`, or None if re2 cannot tell.

    A schema can come from an untrusted server and the text from a model. Together they could keep Python's
    backtracking engine busy forever. re2 does not support look-around and back references; such a pattern is not
    judged.

    Example:
        >>> matches("^[a-z]+$", "gouda"), matches("^(?=a)", "a")
        (True, None)
    """
    compiled = _compile(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text) is not None
    except UnicodeError:  # a lone surrogate
        return None


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_ESCAPE.sub(_translate_escape, pattern), options)
    except (re2.error, UnicodeError, TypeError):
        return None


def _translate_escape(escape: re.Match[str]) -> str:
    r"""Return JavaScript's ``\u00e9`` as re2 writes it, and any other escape unchanged."""
    return rf"\x{{{escape[1]}}}" if escape[1] else escape[0]
