"""Quoted parts of a request: titles, messages and other values that a tool works with."""

from __future__ import annotations

import re

__all__ = ["quoted_values", "remove_quoted"]

# An apostrophe or inch sign follows a letter or digit, so it does not open a quotation. A quotation contains no other
# mark of its kind, so that matching takes linear time even in a string of marks only.
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]*)'(?!\w)|(?<!\w)\"([^\"]*)\"(?!\w)|‘([^‘’\n]*)’(?!\w)"
    r"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«|‹([^‹›]*)›|「([^「」]*)」|『([^『』]*)』|《([^《》]*)》"
)
# One character is a separator or unit, not a value. Its marks still match, so that the closing one opens no quotation.
_MIN_VALUE_LENGTH = 2


def quoted_values(text: str) -> list[str]:
    """Return the values between quotation marks, in order.

    Example:
        >>> quoted_values("Post 'Hello' as the user's “status”")
        ['Hello', 'status']
    """
    return [value for match in _QUOTED.finditer(text) if len(value := _value(match)) >= _MIN_VALUE_LENGTH]


def remove_quoted(text: str) -> str:
    """Return a string without the values between quotation marks.

    Example:
        >>> remove_quoted("Post 'Hello' as a status")
        'Post   as a status'
    """
    return _QUOTED.sub(lambda match: " " if len(_value(match)) >= _MIN_VALUE_LENGTH else match[0], text)


def _value(match: re.Match[str]) -> str:
    return match[match.lastindex or 0]
