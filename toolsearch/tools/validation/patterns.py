"""Regular expressions of JSON Schemas, matched in linear time and within limits."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from .steps import Steps

__all__ = ["matches"]

MAX_PATTERN_CHARACTERS = 2_000
MAX_PROGRAM_SIZE = 2_500
"""Maximum number of instructions in a compiled pattern. Each can run once for every character of a string."""
MAX_MEMORY_BYTES = 1 << 20
"""Maximum memory of one pattern's automaton."""
MAX_MATCH_WORK = 10_000_000
"""Maximum product of instructions and characters of one match; at worst a third of a second."""
_WORK_PER_STEP = 100

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def matches(pattern: str, text: str, steps: Steps | None = None) -> bool | None:
    """Return whether `pattern` matches somewhere in `text`, or None if that cannot be told within the limits.

    A schema can come from an untrusted server and the text from a model. Together they could keep Python's
    backtracking engine busy forever, so re2 matches them. It does not support look-around and back references; such a
    pattern is not judged. A pattern that is too large, or too large for so long a text, is not judged either.

    Args:
        pattern: The regular expression, as in JavaScript.
        text: The string to search.
        steps: The budget that the match is charged to.

    Example:
        >>> matches("^[a-z]+$", "gouda"), matches("^(?=a)", "a")
        (True, None)
    """
    compiled = _compile(pattern) if len(pattern) <= MAX_PATTERN_CHARACTERS else None
    if compiled is None:
        return None
    work = compiled.programsize * len(text)
    if work > MAX_MATCH_WORK:
        return None
    if steps is not None:
        steps.spend(1 + work // _WORK_PER_STEP)
    try:
        return compiled.search(text) is not None
    except UnicodeError:  # a lone surrogate
        return None


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    try:
        compiled = re2.compile(_ESCAPE.sub(_translate_escape, pattern), options)
    except (re2.error, UnicodeError, TypeError):
        return None
    return compiled if compiled.programsize <= MAX_PROGRAM_SIZE else None


def _translate_escape(escape: re.Match[str]) -> str:
    r"""Return JavaScript's ``\u00e9`` as re2 writes it, and any other escape unchanged."""
    return rf"\x{{{escape[1]}}}" if escape[1] else escape[0]
