"""Removal of the reasoning of a model, which many servers leave in the answer, in tags of many kinds."""

from __future__ import annotations

import json
import re

__all__ = ["remove_reasoning"]

_NAMES = (
    r"(?:\w+:)?(?:ant|longcat_)?(?:think(?:ing)?|thoughts?|reasoning(?:_content)?|chain[-_]of[-_]thought|cot"
    r"|scratch[-_]?pad|(?:inner|internal)[-_](?:monologue|thoughts?)|(?:think(?:ing)?|thought|reasoning)[-_]process)"
)
_OTHER_NAMES = (
    r"|reason|reflect(?:ion)?|analysis|analyze|deliberat(?:e|ion)|rationale|plan(?:ning)?|drafts?|critique|steps"
    r"|details"
)
_OPENING = (
    r"(?:<|&lt;)\s*(?:{names})(?:\s[^<>&]*)?(?<!/)(?:>|&gt;)|\[(?:THINK(?:ING)?|REASONING)\]|◁think▷|<\|(?:{names})\|>"
    r"|<\|(?:begin_of|start)_th(?:ought|inking)\|>|<unused94>(?:thought)?|<\|inner_prefix\|>|<\|channel>\s*thought"
    r"|^Here(?:'s| is) my thought process:?"
)
_CLOSING = (
    r"(?:<|&lt;)\s*/\s*(?:{names})\s*(?:>|&gt;)|\[/(?:THINK(?:ING)?|REASONING)\]|◁/think▷|<\|/(?:{names})\|>"
    r"|<\|end_(?:of_)?th(?:ought|inking)\|>|<unused95>|<\|inner_suffix\|>|<channel\|>"
    r"|^Here(?:'s| is) my response:?"
)
_FENCE = re.compile(
    rf"^[ \t]*(?P<fence>`{{3,}}|~{{3,}})[ \t]*(?:{_NAMES}{_OTHER_NAMES})[ \t]*\n.*?(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.I | re.M | re.S,
)
# The channels of gpt-oss ("harmony"), as special tokens and after a server has removed the special tokens.
_CHANNEL = re.compile(
    r"(?:(?<![\"'`])<\|channel\|>|\A)[ \t]*(?P<name>analysis|commentary|final)\b[^\n{]*?<\|message\|>", re.I
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|channel|call)\|>")
_BARE_CHANNELS = re.compile(r"\A\s*(?:analysis|commentary)(?:.*assistant\s*final(?:json)?|(?=[A-Z\"{]).*\Z)", re.S)
_QUOTES = "`'\""
_BLANK = " \t\r\n\ufeff\u200b"
MAX_JSON_VALUES = 200

# Not strict: JSON forbids line breaks inside strings, but models write them.
_DECODER = json.JSONDecoder(strict=False)


def _tags(names: str) -> re.Pattern[str]:
    opening, closing = _OPENING.format(names=names), _CLOSING.format(names=names)
    return re.compile(rf"(?P<close>{closing})|(?P<open>{opening})|(?P<json>[{{\[])", re.I | re.M)


_TAGS = _tags(_NAMES)
_ALL_TAGS = _tags(_NAMES + _OTHER_NAMES)


def remove_reasoning(text: str, *, data: bool = False) -> str:
    """Return `text` without the reasoning of the model. Reasoning that never ends is removed to the end of the text.

    A closing tag without an opening one ends reasoning that began in the prompt. A tag inside a JSON value belongs to
    the value.

    Args:
        text: The answer.
        data: Whether the answer is JSON. Then tags that could be part of another format are reasoning, too.

    Example:
        >>> remove_reasoning("<thinking>Perhaps [1]. No.</thinking>[2]"), remove_reasoning("[1]? No.</think>[2]")
        ('[2]', '[2]')
    """
    text = _final_channel(text)
    if data:
        text = _FENCE.sub("", text)
    kept: list[str] = []
    at = searched = depth = values = 0
    for _ in range(len(text) + 1):
        found = (_ALL_TAGS if data else _TAGS).search(text, searched)
        if found is None:
            break
        searched = found.end()
        if found["json"]:
            if depth == 0 and values < MAX_JSON_VALUES:
                values += 1
                searched = _end_of_json(text, found.start())
        elif _is_quoted(text, found):
            continue
        elif found["open"]:
            if depth == 0:
                kept.append(text[at : found.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
            at = searched
        else:
            depth -= 1
            at = searched if depth == 0 else at
    if depth == 0:
        kept.append(text[at:])
    return "".join(kept).strip(_BLANK)


def _end_of_json(text: str, begin: int) -> int:
    """Return the position after the JSON value at `begin`, or after its first character if it is not JSON."""
    try:
        return _DECODER.raw_decode(text, begin)[1]
    except (ValueError, RecursionError):
        return begin + 1


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Return whether a tag is mentioned in quotes and not used."""
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    return before != "" and before in _QUOTES and before == after


def _final_channel(text: str) -> str:
    """Return the final channel of an answer with channels, or the text itself if it has none."""
    headers = list(_CHANNEL.finditer(text))
    if not headers:
        return _BARE_CHANNELS.sub("", text)
    final = [header for header in headers if header["name"].lower() == "final"]
    if not final:
        return text[: headers[0].start()]
    end = _CHANNEL_END.search(text, final[-1].end())
    return text[final[-1].end() : end.start() if end else len(text)]
