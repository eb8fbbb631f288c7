"""Escapes in JSON that stand for half a character, which strict parsers reject together with the whole text."""

from __future__ import annotations

import re

__all__ = ["EscapeRepair"]

_HEX = rb"[0-9a-fA-F]"
_HIGH = rb"u[dD][89abAB]" + _HEX + rb"{2}"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:(?P<pair>%(high)s\\u[dD][c-fC-F]%(hex)s{2})"
    rb"|(?P<open>(?:%(high)s(?:\\(?:u%(hex)s{0,3})?)?|u%(hex)s{0,3})?\Z)"
    rb"|(?P<half>u[dD][89a-fA-F]%(hex)s{2})"
    rb"|[^u](?:\\[^u])*|u)" % {b"high": _HIGH, b"hex": _HEX},
    re.DOTALL,
)
_LONGEST = 11  # bytes of a pair that is not complete
_REPLACEMENT = rb"\ufffd"


class EscapeRepair:
    r"""Replace halves of surrogate pairs in JSON that arrives in chunks: JavaScript writes them when it cuts an emoji.

    Example:
        >>> repair = EscapeRepair()
        >>> repair.feed(rb'"a \ud83d\ude00 b \ud8') + repair.feed(rb'3d"') + repair.end()
        b'"a \\ud83d\\ude00 b \\ufffd"'
    """

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return the next bytes; an escape that is not complete is kept for the next call."""
        chunk, self._open = self._open + chunk, b""
        if _SURROGATE.search(chunk) is not None:
            return _ESCAPE.sub(self._repaired, chunk)
        if b"\\" not in chunk[-_LONGEST:]:
            return chunk
        start = len(chunk[:-_LONGEST].rstrip(b"\\"))  # a run of backslashes is read from its start
        return chunk[:start] + _ESCAPE.sub(self._repaired, chunk[start:])

    def end(self) -> bytes:
        """Return the rest of the text."""
        rest, self._open = self._open, b""
        return _REPLACEMENT if _SURROGATE.match(rest) and len(rest) >= len(_REPLACEMENT) else rest

    def _repaired(self, found: re.Match[bytes]) -> bytes:
        if found["open"] is not None:
            self._open = found[0]
            return b""
        return _REPLACEMENT if found["half"] is not None else found[0]
