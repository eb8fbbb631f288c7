"""What a request quotes: titles, messages and other values to work with, rather than words for the work itself."""

from __future__ import annotations

import re

__all__ = ["quoted_values", "remove_quoted"]

# An apostrophe is no quotation mark, nor is the sign for inches: those stand behind a letter or digit. What is quoted
# holds no other mark of its kind, so that a text of marks alone costs no more than its length.
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]*)'(?!\w)|(?<!\w)\"([^\"]*)\"(?!\w)|‘([^‘’\n]*)’(?!\w)"
    r"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«|‹([^‹›]*)›|「([^「」]*)」|『([^『』]*)』|《([^《》]*)》"
)


_SHORTEST = 2  # a separator, a unit: but its marks must be seen, lest the closing one opens a quotation


def quoted_values(text: str) -> list[str]:
    """Return what stands between quotation marks, in order.

    Example:
        >>> quoted_values("Post 'Hello' as the user's “status”")
        ['Hello', 'status']
    """
    return [value for match in _QUOTED.finditer(text) if len(value := _value(match)) >= _SHORTEST]


def remove_quoted(text: str) -> str:
    """Return `text` without what stands between quotation marks.

    Example:
        >>> remove_quoted("Post 'Hello' as a status")
        'Post   as a status'
    """
    return _QUOTED.sub(lambda match: " " if len(_value(match)) >= _SHORTEST else match[0], text)


def _value(match: re.Match[str]) -> str:
    return match[match.lastindex or 0]
