"""Arguments of a tool call that arrive in pieces. The work grows linearly with their length."""

from __future__ import annotations

import json
import re
from itertools import pairwise

__all__ = ["StreamedArguments"]

_TOKEN = re.compile(r'\\(?:.|\Z)|"|[{\[]|[}\]]|[^"\\{}\[\]\s]+', re.DOTALL)


MAX_PLACEHOLDER = 20
_PLACEHOLDERS = ("{}", "null", '""')


def _is_placeholder(text: str) -> bool:
    return len(text) <= MAX_PLACEHOLDER and "".join(text.split()) in _PLACEHOLDERS


class StreamedArguments:
    """Arguments of a tool call that arrive in pieces.

    Example:
        >>> arguments = StreamedArguments()
        >>> arguments.add('{"city": "Gou')
        >>> arguments.is_complete
        False
        >>> arguments.add('da"}')
        >>> arguments.is_complete, arguments.text
        (True, '{"city": "Gouda"}')
    """

    __slots__ = ("_complete", "_depth", "_in_string", "_pieces", "_read", "_skip", "_value", "length")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._read = 0
        self._depth = 0
        self._in_string = False
        self._skip = False
        self._value: dict[str, object] | None = None  # of complete arguments, once it was needed
        self._complete: bool | None = None  # None as long as the first value has not ended

    def add(self, piece: str) -> None:
        """Append a piece, unless it repeats complete arguments. A placeholder gives way to the arguments after it."""
        if not piece:
            return
        if self.length <= MAX_PLACEHOLDER and self.is_placeholder and piece.lstrip().startswith("{"):
            self._clear()
        elif self.is_complete and (_is_placeholder(piece) or self.means(piece)):
            return
        self._pieces.append(piece)
        self.length += len(piece)

    @property
    def is_placeholder(self) -> bool:
        """True if the pieces so far stand for arguments that can still follow, such as ``{}`` or ``null``."""
        return 0 < self.length <= MAX_PLACEHOLDER and _is_placeholder(self.text)

    @property
    def text(self) -> str:
        """The pieces so far as one string."""
        return "".join(self._pieces)

    @property
    def final_text(self) -> str:
        """The arguments after the last piece. Some servers send with each piece all that came before it."""
        if len(self._pieces) > 1 and not self.is_complete and self._grows() and _is_object(self._pieces[-1]):
            return self._pieces[-1]
        return self.text

    def _grows(self) -> bool:
        return all(len(a) <= len(b) and b.startswith(a) for a, b in pairwise(self._pieces))

    def means(self, text: str) -> bool:
        """Return whether the pieces so far are `text`, apart from white space and the order of members."""
        if len(text) == self.length and self.text == text:
            return True
        if not self.is_complete or not text.lstrip().startswith("{"):
            return False
        if self._value is None:
            self._value = _object_in(self.text)
        return self._value is not None and _object_in(text) == self._value

    @property
    def is_complete(self) -> bool:
        """True if the arguments are a complete JSON object."""
        while self._read < len(self._pieces) and self._complete is not False:
            self._scan(self._pieces[self._read])
            self._read += 1
        return self._complete is True

    def _scan(self, piece: str) -> None:
        start, self._skip = int(self._skip), False
        for token in _TOKEN.finditer(piece, start):
            mark = token[0]
            self._skip = mark == "\\"  # the escaped character is in the next piece
            if self._complete is not None:  # something follows the object
                self._complete = False
                return
            if self._in_string:
                self._in_string = mark != '"'
            elif mark == '"':
                self._in_string = True
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self._complete = _is_object("".join([*self._pieces[: self._read], piece[: token.end()]]))


def _is_object(text: str) -> bool:
    return _object_in(text) is not None


def _object_in(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
