"""Extraction of JSON from an answer with code fences, reasoning, or text before and after."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .reasoning import remove_reasoning

__all__ = ["JsonCandidate", "JsonSearch", "fenced_blocks", "unfenced", "without_outer_fence"]

_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_BRACKET = re.compile(r'[\]\[{}"]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_START = re.compile(r"[\[{]")
# The start of an object or an array, also of an invalid one, as opposed to a bracket in prose.
_JSON_START = re.compile(r"""\{\s*(?:["'}\d]|\w+\s*:|$)|\[\s*(?:[]"'\[{\d-]|true|false|null|$)""")
_FENCES = ("```", "~~~")
_BLANK = " \t\r\n\ufeff\u200b"
MAX_CANDIDATES = 50

# Not strict: JSON forbids line breaks inside strings, but models write them.
_DECODER = json.JSONDecoder(strict=False)


def fenced_blocks(text: str) -> list[str]:
    """Return the contents of all code fences, in order.

    Example:
        >>> fenced_blocks("Here:\\n```json\\n[1]\\n```\\nor\\n~~~\\n[2]\\n~~~")
        ['[1]', '[2]']
    """
    return list(_blocks(text.replace("\r\n", "\n").split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    """Yield the contents of code fences. The work grows linearly with the number of lines, also without closing fences.

    A closing fence stands on a line of its own, so a fence inside a JSON string does not close the block.
    """
    at = 0
    never_closed = {"`": math.inf, "~": math.inf}  # no fence of this length is closed from here on
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        at += 1
        if opening is None or len(opening["fence"]) >= never_closed[opening["fence"][0]]:
            continue
        end = next((end for end in range(at, len(lines)) if _closes(lines[end], opening["fence"])), None)
        if end is None:
            never_closed[opening["fence"][0]] = len(opening["fence"])
            continue
        yield "\n".join(lines[at:end]).strip(_BLANK)
        at = end + 1


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t")
    return bare.startswith(fence) and not bare.strip(fence[0])


def unfenced(text: str) -> str:
    """Return the content of the first code fence in an answer, or the whole answer if it has none.

    Reasoning is removed. Use it in a converter for a format other than JSON.

    Example:
        >>> unfenced("Here you are:\\n```yaml\\ncity: Gouda\\n```\\nAnything else?")
        'city: Gouda'
        >>> unfenced("city: Gouda")
        'city: Gouda'
    """
    answer = remove_reasoning(text)
    return next(iter(fenced_blocks(answer)), answer)


def without_outer_fence(text: str) -> str:
    """Return the content of a code fence that holds the whole text, or else the text.

    Example:
        >>> without_outer_fence("```json\\nGouda\\n```")
        'Gouda'
        >>> without_outer_fence("See:\\n```\\nGouda\\n```")
        'See:\\n```\\nGouda\\n```'
    """
    whole = text.strip(_BLANK)
    blocks = fenced_blocks(whole)
    return blocks[0] if len(blocks) == 1 and whole.startswith(_FENCES) and whole.endswith(_FENCES) else whole


@dataclass(frozen=True, slots=True)
class JsonCandidate:
    """A JSON value in an answer.

    Args:
        text: The JSON as the model wrote it.
        value: The decoded value.
    """

    text: str
    value: Any


class JsonSearch:
    """Iterable of the JSON values in an answer: the whole answer, then its code fences, then values within the text.

    A value inside invalid JSON is never returned.

    Args:
        text: The answer of the model.

    Attributes:
        problem: The error in the first invalid JSON, or an empty string. It is set while iterating.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.problem = ""

    def __iter__(self) -> Iterator[JsonCandidate]:
        """Yield each distinct value once."""
        seen: set[str] = set()
        for found in self._candidates():
            if found.text not in seen:
                seen.add(found.text)
                yield found

    def _candidates(self) -> Iterator[JsonCandidate]:
        whole = self._text.strip(_BLANK)
        if (found := _decode_whole(whole)) is not None:
            yield found
            return
        answer = remove_reasoning(whole, data=True)
        for block in (answer, *fenced_blocks(answer)):
            if (found := _decode_whole(block)) is not None:
                yield found
        yield from self._within(answer)

    def _within(self, text: str) -> Iterator[JsonCandidate]:
        """Yield the objects and arrays in `text` that are not inside another one."""
        at = candidates = 0
        while candidates < MAX_CANDIDATES and (start := _START.search(text, at)) is not None:
            begin = start.start()
            if not _JSON_START.match(text, begin):
                at = begin + 1
                continue
            candidates += 1
            try:
                value, at = _DECODER.raw_decode(text, begin)
            except RecursionError:
                self.problem = self.problem or "it is nested too deeply"
                return
            except json.JSONDecodeError as error:
                self.problem = self.problem or f"the JSON is invalid: {error}"
                end = _find_end(text, begin)
                if end is None:
                    return
                at = end
            except ValueError as error:  # a number with more digits than Python accepts
                self.problem = self.problem or f"the JSON cannot be parsed: {error}"
                return
            else:
                yield JsonCandidate(text[begin:at], value)


def _decode_whole(text: str) -> JsonCandidate | None:
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return JsonCandidate(text, value) if end == len(text) else None


def _find_end(text: str, begin: int) -> int | None:
    """Return the position after the bracket that closes the one at `begin`, ignoring strings; None if there is none."""
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
