"""Removal of characters that people do not see and models read: tags, zero-width characters, bidi controls."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["remove_invisible", "remove_invisible_in"]

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
# Scripts in which a joiner inside a word changes how it is written: Arabic to Thaana, Indic to Khmer, Mongolian.
_JOINED_SCRIPTS = re.compile(
    "[\u0620-\u07ff\u0860-\u08ff\u0900-\u0eff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]"
)
_EMOJI = re.compile("[\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\ufe0f]")
_EMOJI_BASES = re.compile(
    "[#*0-9\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_IDEOGRAPHS = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def remove_invisible(text: str) -> str:
    r"""Return `text` without invisible characters, except where writing needs them.

    Joiners inside words of Arabic and Indic scripts and inside emoji stay, and so does one variation selector after an
    emoji or an ideograph. Tabs and line breaks stay.

    Example:
        >>> remove_invisible("Add\u200b numbers\U000e0041\U000e0042\u202e.")
        'Add numbers.'
        >>> persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
        >>> remove_invisible(persian) == persian
        True
    """
    return _INVISIBLE.sub(_kept, text)


def remove_invisible_in(value: Any) -> Any:
    """Return a JSON value with `remove_invisible` applied to every string and key."""
    if isinstance(value, str):
        return remove_invisible(value)
    if isinstance(value, dict):
        return {remove_invisible_in(key): remove_invisible_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [remove_invisible_in(item) for item in value]
    return value


def _kept(found: re.Match[str]) -> str:
    character, text, at = found[0], found.string, found.start()
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if character in _JOINERS:
        inside_word = _JOINED_SCRIPTS.match(before) and _JOINED_SCRIPTS.match(after)
        inside_emoji = character == "\u200d" and _EMOJI.match(before) and _EMOJI_BASES.match(after)
        return character if inside_word or inside_emoji else ""
    if character in _EMOJI_STYLES:
        return character if _EMOJI_BASES.match(before) else ""
    if "\U000e0100" <= character <= "\U000e01ef":
        return character if _IDEOGRAPHS.match(before) else ""
    return ""
