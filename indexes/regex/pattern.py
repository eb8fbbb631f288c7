"""Patterns and globs: how a query is read, and matching in linear time."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, Protocol, TypeAlias

from ...text import one_line, replace_surrogates, short_repr

__all__ = [
    "MAX_PATTERN_LENGTH",
    "InvalidPatternError",
    "Matcher",
    "QueryKind",
    "compile_pattern",
    "compile_query",
    "glob_to_pattern",
    "normalized_bytes",
    "query_kind",
    "strip_delimiters",
]

QueryKind: TypeAlias = Literal["pattern", "maybe_pattern", "glob", "dotted", "words"]
"""The ways to read a query; see `query_kind`."""

MAX_PATTERN_LENGTH: Final = 512
"""Maximum length of a pattern in characters."""
_MAX_PROGRAM_SIZE: Final = 2_500
"""Maximum number of instructions in a compiled pattern. Each can run once for every character of a string."""
_MAX_MEMORY_BYTES: Final = 1 << 20
"""Maximum memory of one pattern's automaton. re2 caches up to 128 patterns."""
_MAX_SHOWN_CHARACTERS: Final = 80

_GLOB = re.compile(r"[\w\-./:?*]+")
# In running text, only a sequence that prose does not contain makes a pattern.
_CERTAIN_SYNTAX = re.compile(r"\.[*+]|\\[bBdDsSwW]|\][*+?{]|\(\?|\(\w+\||[\w)]\|[\w(]|^\^\w|\\p\{|\{\d+(?:,\d*)?\}")
_POSSIBLE_SYNTAX = re.compile(r"[*+?\[\](){}|^$\\]")
_PUNCTUATED_WORD = re.compile(r"[\"']*(?:\([\w\-./:]+\)|[\w\-./:]+(?:\+\+)?)[\"'?!.,;:]*")
_DOTTED = re.compile(r"[\w\-]+(?:\.[\w\-]+)+")
_DELIMITED = re.compile(r"/(.+)/[gimsuy]*|r?(?P<quote>[\"'`])(.+)(?P=quote)")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=")
_POSSESSIVE = re.compile(r"\(\?>|[*+?}]\+")


class InvalidPatternError(Exception):
    """An unusable pattern. The message says why and what to write instead."""


class Matcher(Protocol):
    """A compiled pattern."""

    def search(self, text: bytes) -> object | None:
        """Return a match anywhere in a string, or None."""
        ...

    def fullmatch(self, text: bytes) -> object | None:
        """Return a match of the whole string, or None."""
        ...


def query_kind(query: str) -> QueryKind:
    """Return how to read a query.

    Returns:
        - ``"glob"`` for a word with ``*`` and no other pattern syntax.
        - ``"pattern"`` for syntax that prose does not contain, such as ``.*`` or ``a|b``.
        - ``"maybe_pattern"`` for a single word with other syntax, such as ``colou?r`` or ``a+b``. Punctuation around a
          word (``weather?``, ``(today)``, ``C++``) does not count.
        - ``"dotted"`` for ``get.user``, in which the dot can be itself or match any character.
        - ``"words"`` for any other query.

    Example:
        >>> query_kind("get_*"), query_kind("get_.*"), query_kind("colou?r"), query_kind("what is the weather?")
        ('glob', 'pattern', 'maybe_pattern', 'words')
    """
    text = query.strip()
    if len(text) > MAX_PATTERN_LENGTH and len(text.split(maxsplit=1)) > 1:
        return "words"  # a pasted text, even if it contains pattern syntax
    if "*" in text and ".*" not in text and _GLOB.fullmatch(text):
        return "glob"
    head = text[:MAX_PATTERN_LENGTH]
    if _CERTAIN_SYNTAX.search(head):
        return "pattern"
    if len(text.split(maxsplit=1)) == 1 and _POSSIBLE_SYNTAX.search(head) and not _PUNCTUATED_WORD.fullmatch(head):
        return "maybe_pattern"
    return "dotted" if len(text) <= MAX_PATTERN_LENGTH and _DOTTED.fullmatch(text) else "words"


def strip_delimiters(query: str) -> str:
    """Return the pattern between slashes, quotes or backquotes, or the stripped query if there are none.

    Example:
        >>> strip_delimiters("/get_.*/i"), strip_delimiters("'send a mail'")
        ('get_.*', "'send a mail'")
    """
    text = query.strip()
    found = _DELIMITED.fullmatch(text) if len(text) <= 2 * MAX_PATTERN_LENGTH else None
    inner = (found[1] or found[3]).strip() if found else ""
    return inner if inner and query_kind(inner) != "words" else text


def glob_to_pattern(glob: str) -> str:
    r"""Return the pattern of a glob. ``*`` matches any characters except blanks, ``?`` exactly one.

    Example:
        >>> glob_to_pattern("get_*.txt") == r"get_\S*\.txt"
        True
    """
    parts = {"*": r"\S*", "?": r"\S"}
    return "".join(parts.get(char) or re.escape(char) for char in re.sub(r"\*+", "*", glob.strip()))


def compile_query(text: str, kind: QueryKind) -> Matcher:
    """Compile a query that is not words. A ``?`` among letters is read both as in a pattern and as in a glob.

    Args:
        text: The query without delimiters.
        kind: The kind of the query.

    Raises:
        InvalidPatternError: If the pattern is not usable; see `compile_pattern`.
    """
    if kind == "glob":
        return compile_pattern(glob_to_pattern(text))
    if kind == "maybe_pattern" and _GLOB.fullmatch(text):
        glob = glob_to_pattern(text)
        if not text.strip("?"):
            return compile_pattern(text)  # raises an error that shows this text
        try:
            return compile_pattern(f"{text}|{glob}")
        except InvalidPatternError:
            return compile_pattern(glob)  # for example "??_user"
    return compile_pattern(text)


def compile_pattern(pattern: str) -> Matcher:
    """Compile a case-insensitive pattern for UTF-8 strings. Matching takes linear time for every pattern.

    Raises:
        InvalidPatternError: If the pattern is malformed, too long or too large, or uses syntax that cannot be matched
            in linear time.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidPatternError(
            f"The pattern has {len(pattern)} characters, more than {MAX_PATTERN_LENGTH}. Use a shorter one, or words."
        )
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    options.max_mem = _MAX_MEMORY_BYTES
    try:
        compiled = re2.compile(normalized_bytes(pattern), options)
    except re2.error as error:
        raise InvalidPatternError(_error_message(pattern, error)) from error
    if compiled.programsize > _MAX_PROGRAM_SIZE:
        shown = short_repr(pattern, _MAX_SHOWN_CHARACTERS)
        raise InvalidPatternError(f"{shown} repeats too much to be searched for; use * or +, or words.")
    matcher: Matcher = compiled
    return matcher


def normalized_bytes(text: str) -> bytes:
    """Return the normalized UTF-8 form in which patterns and strings are compared."""
    return text.encode() if text.isascii() else unicodedata.normalize("NFC", replace_surrogates(text)).encode()


def _error_message(pattern: str, error: Exception) -> str:
    cause = error.args[0] if error.args else ""
    # re2 repeats a part of the pattern as it is, with its line breaks.
    detail = one_line(cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause))
    if _LOOK_AROUND.search(pattern):
        hint = "Look-ahead and look-behind are not supported; leave them out and search for what must be there."
    elif _BACK_REFERENCE.search(pattern):
        hint = "Back-references are not supported; write the repeated part out."
    elif _POSSESSIVE.search(pattern):
        hint = "Possessive and atomic forms are not supported; use the plain form."
    elif "repetition size" in detail or "too large" in detail:
        hint = "Repeat less often (at most 1000 times in all), or use * or +."
    elif r"\Z" in pattern:
        hint = r"Write \z or $ for the end."
    else:
        hint = r"Put a backslash before a special character that is meant literally, or search for words."
    return f"{short_repr(pattern, _MAX_SHOWN_CHARACTERS)} is not a usable regular expression: {detail}. {hint}"
