"""Regular expressions of JSON Schemas, searched in linear time."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["found_in"]

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def found_in(pattern: str, text: str) -> bool | None:
    """Whether `pattern` matches somewhere in `text`; None when re2 cannot tell.

    A schema may come from a stranger and the text from a model: Python's own engine can be kept busy for ever by
    the pair. re2 has no look-around and no back references; what needs them is not judged.

    Example:
        >>> found_in("^[a-z]+$", "gouda"), found_in("^(?=a)", "a")
        (True, None)
    """
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text) is not None
    except UnicodeError:  # a lone surrogate
        return None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_ESCAPE.sub(_translated, pattern), options)
    except (re2.error, UnicodeError, TypeError):
        return None


def _translated(escape: re.Match[str]) -> str:
    r"""JavaScript's ``\u00e9`` as re2 writes it; any other escape as it is."""
    return rf"\x{{{escape[1]}}}" if escape[1] else escape[0]
