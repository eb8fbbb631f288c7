"""Finding the answer in what a model wrote around it: fences, prefaces, afterthoughts, reasoning. No types here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Found", "JsonSearch", "fenced_blocks", "unfenced"]

# A tag that closes reasoning ends a line; one inside a JSON text does not.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>|\A.*</think>[ \t]*$", re.M | re.S)
# A fence ends on a line of its own, so that one inside a JSON text, which has no line breaks in it, does not end it.
_FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<text>.*?)^[ \t]*(?P=fence)[ \t]*$", re.M | re.S)
_BRACKET = re.compile(r'[\]\[{}"]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_START = re.compile(r"[\[{]")
# How an object or an array begins, also a broken one, and how a bracket in prose does not.
_MEANT = re.compile(r"""\{\s*(?:["'}\d]|\w+\s*:|$)|\[\s*(?:[]"'\[{\d-]|true|false|null|$)""")
_BLANK = " \t\r\n\ufeff\u200b"
_MOST_TRIED = 50

# Line breaks inside strings are no JSON, but models write them, and what they mean is plain.
_DECODER = json.JSONDecoder(strict=False)


def fenced_blocks(text: str) -> list[str]:
    """Return what stands in code fences, in order.

    Example:
        >>> fenced_blocks("Here:\\n```json\\n[1]\\n```\\nor\\n~~~\\n[2]\\n~~~")
        ['[1]', '[2]']
    """
    return [match["text"].strip(_BLANK) for match in _FENCE.finditer(text.replace("\r\n", "\n"))]


def unfenced(text: str) -> str:
    """Return the first fenced block of an answer, or all of it where there is none; for converters of other formats.

    Example:
        >>> unfenced("Here you are:\\n```yaml\\ncity: Gouda\\n```\\nAnything else?")
        'city: Gouda'
        >>> unfenced("city: Gouda")
        'city: Gouda'
    """
    answer = without_thoughts(text)
    return next(iter(fenced_blocks(answer)), answer)


def without_thoughts(text: str) -> str:
    """The text after a model's reasoning, which some servers leave in the answer."""
    return _THOUGHTS.sub("", text, count=1).strip(_BLANK)


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value in an answer.

    Args:
        text: the JSON as it was written.
        value: what it says.
    """

    text: str
    value: Any


class JsonSearch:
    """Looks for JSON values in an answer, the likeliest first: all of it, then its fenced blocks, then within the text.

    What stands inside of something broken is never taken for the answer.

    Attributes:
        problem: what is wrong with the first thing that was meant to be JSON and is not; empty if nothing was.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.problem = ""

    def __iter__(self) -> Iterator[Found]:
        """Yield each value once."""
        seen: set[str] = set()
        for found in self._candidates():
            if found.text not in seen:
                seen.add(found.text)
                yield found

    def _candidates(self) -> Iterator[Found]:
        whole = self._text.strip(_BLANK)
        if (found := _whole(whole)) is not None:
            yield found
            return
        answer = without_thoughts(whole)
        for block in (answer, *fenced_blocks(answer)):
            if (found := _whole(block)) is not None:
                yield found
        yield from self._within(answer)

    def _within(self, text: str) -> Iterator[Found]:
        """The objects and arrays that stand in a text one after the other."""
        at = tried = 0
        while tried < _MOST_TRIED and (start := _START.search(text, at)) is not None:
            begin = start.start()
            if not _MEANT.match(text, begin):
                at = begin + 1
                continue
            tried += 1
            try:
                value, at = _DECODER.raw_decode(text, begin)
            except RecursionError:
                self.problem = self.problem or "it is nested too deeply"
                return
            except json.JSONDecodeError as error:
                self.problem = self.problem or f"the JSON is broken: {error}"
                end = _end(text, begin)
                if end is None:
                    return
                at = end
            except ValueError as error:  # a number of more digits than Python reads
                self.problem = self.problem or f"the JSON cannot be read: {error}"
                return
            else:
                yield Found(text[begin:at], value)


def _whole(text: str) -> Found | None:
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return Found(text, value) if end == len(text) else None


def _end(text: str, begin: int) -> int | None:
    """Where the bracket at `begin` closes, strings skipped; None if it does not."""
    depth, at = 0, begin
    while (found := _BRACKET.search(text, at)) is not None:
        at = found.end()
        if found[0] == '"':
            string = _STRING.match(text, found.start())
            if string is None:
                return None
            at = string.end()
            continue
        depth += 1 if found[0] in "[{" else -1
        if depth == 0:
            return at
    return None
