"""What a query to a regex index is - a pattern, a glob, or words - and patterns in linear time."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, Protocol, TypeAlias

from ...text import replace_surrogates, short_repr

__all__ = [
    "InvalidPatternError",
    "Kind",
    "Matcher",
    "compile_pattern",
    "compile_query",
    "glob_to_pattern",
    "normalized_bytes",
    "query_kind",
    "strip_delimiters",
]

Kind: TypeAlias = Literal["pattern", "maybe_pattern", "glob", "dotted", "words"]

MAX_PATTERN_LENGTH: Final = 512
_LARGEST_PROGRAM: Final = 2_500
"""Instructions of a compiled pattern: each may run once for every character of a text."""
_MEMORY: Final = 1 << 20
"""Bytes for the automaton of one pattern; re2 keeps the patterns used last, up to 128."""

_GLOB = re.compile(r"[\w\-./:?*]+")
# In running text only what nobody writes by chance makes a pattern.
_SURE_SIGN = re.compile(r"\.[*+]|\\[bBdDsSwW]|\][*+?{]|\(\?|\(\w+\||[\w)]\|[\w(]|^\^\w|\\p\{|\{\d+(?:,\d*)?\}")
_SIGN = re.compile(r"[*+?\[\](){}|^$\\]")
_PUNCTUATION = re.compile(r"[\"']*(?:\([\w\-./:]+\)|[\w\-./:]+(?:\+\+)?)[\"'?!.,;:]*")
_DOTTED = re.compile(r"[\w\-]+(?:\.[\w\-]+)+")
_DELIMITED = re.compile(r"/(.+)/[gimsuy]*|r?(?P<quote>[\"'`])(.+)(?P=quote)")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=")
_POSSESSIVE = re.compile(r"\(\?>|[*+?}]\+")


class InvalidPatternError(Exception):
    """A pattern cannot be used; the message tells why and what to write instead."""


class Matcher(Protocol):
    """A compiled pattern."""

    def search(self, text: bytes) -> object | None:
        """Return a match anywhere in `text`, or None."""
        ...

    def fullmatch(self, text: bytes) -> object | None:
        """Return a match of all of `text`, or None."""
        ...


def query_kind(query: str) -> Kind:
    """Tell how to read a query.

    A word with ``*`` and no other sign is a glob. What holds signs nobody writes by chance, such as ``.*`` or
    ``a|b``, is a pattern. A single word with any other sign (``colou?r``, ``a+b``) may be one, unless it is but
    punctuation around a word (``weather?``, ``(today)``, ``C++``). In ``get.user`` the dot may stand for any
    character, or for itself. All else is words.
    """
    text = query.strip()
    if len(text) > MAX_PATTERN_LENGTH and len(text.split(maxsplit=1)) > 1:
        return "words"  # a pasted text, whatever it holds
    if "*" in text and ".*" not in text and _GLOB.fullmatch(text):
        return "glob"
    head = text[:MAX_PATTERN_LENGTH]
    if _SURE_SIGN.search(head):
        return "pattern"
    if len(text.split(maxsplit=1)) == 1 and _SIGN.search(head) and not _PUNCTUATION.fullmatch(head):
        return "maybe_pattern"
    return "dotted" if len(text) <= MAX_PATTERN_LENGTH and _DOTTED.fullmatch(text) else "words"


def strip_delimiters(query: str) -> str:
    """Return the pattern between slashes (``/get_.*/i``), quotes or backquotes; any other text as it is."""
    text = query.strip()
    found = _DELIMITED.fullmatch(text) if len(text) <= 2 * MAX_PATTERN_LENGTH else None
    inner = (found[1] or found[3]).strip() if found else ""
    return inner if inner and query_kind(inner) != "words" else text


def glob_to_pattern(glob: str) -> str:
    """Return the pattern for a glob: ``*`` stands for any characters but blanks, ``?`` for one."""
    parts = {"*": r"\S*", "?": r"\S"}
    return "".join(parts.get(char) or re.escape(char) for char in re.sub(r"\*+", "*", glob.strip()))


def compile_query(text: str, kind: Kind) -> Matcher:
    """Compile a text of a kind other than words; a ``?`` among letters is read as in a pattern and as in a glob.

    Raises:
        InvalidPatternError: see `compile_pattern`.
    """
    if kind == "glob":
        return compile_pattern(glob_to_pattern(text))
    if kind == "maybe_pattern" and _GLOB.fullmatch(text):
        glob = glob_to_pattern(text)
        if not text.strip("?"):
            return compile_pattern(text)  # raises, in words about this text
        try:
            return compile_pattern(f"{text}|{glob}")
        except InvalidPatternError:
            return compile_pattern(glob)  # ??_user
    return compile_pattern(text)


def compile_pattern(pattern: str) -> Matcher:
    """Compile a pattern, case ignored, for UTF-8 text; matching takes time linear in the text, whatever the pattern.

    Raises:
        InvalidPatternError: it is malformed, too long, too large, or uses what cannot be done in linear time.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidPatternError(
            f"The pattern has {len(pattern)} characters, more than {MAX_PATTERN_LENGTH}. Use a shorter one, or words."
        )
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(normalized_bytes(pattern), options)
    except re2.error as error:
        raise InvalidPatternError(_explained(pattern, error)) from error
    if compiled.programsize > _LARGEST_PROGRAM:
        raise InvalidPatternError(
            f"{short_repr(pattern, 80)} repeats too much to be searched for; use * or +, or words."
        )
    matcher: Matcher = compiled
    return matcher


def normalized_bytes(text: str) -> bytes:
    """Return the UTF-8 form in which patterns and texts are compared."""
    return text.encode() if text.isascii() else unicodedata.normalize("NFC", replace_surrogates(text)).encode()


def _explained(pattern: str, error: Exception) -> str:
    cause = error.args[0] if error.args else ""
    said = cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause)
    if _LOOK_AROUND.search(pattern):
        hint = "Look-ahead and look-behind are not supported; leave them out and search for what must be there."
    elif _BACK_REFERENCE.search(pattern):
        hint = "Back-references are not supported; write the repeated part out."
    elif _POSSESSIVE.search(pattern):
        hint = "Possessive and atomic forms are not supported; use the plain form."
    elif "repetition size" in said or "too large" in said:
        hint = "Repeat less often (at most 1000 times in all), or use * or +."
    elif r"\Z" in pattern:
        hint = r"Write \z or $ for the end."
    else:
        hint = r"Put a backslash before a special character that is meant literally, or search for words."
    return f"{short_repr(pattern, 80)} is not a usable regular expression: {said}. {hint}"
