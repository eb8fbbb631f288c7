"""Escapes in JSON that stand for half a character."""

from __future__ import annotations

import json

import pytest

from toolsearch.text import EscapeRepair

TEXTS = [
    (r'"\ud83d\ude00"', "😀"),
    (r'"\uD83D\uDE00"', "😀"),
    (r'"\ud83d"', "\ufffd"),
    (r'"\ude00"', "\ufffd"),
    (r'"\ud83d\ud83d\ude00"', "\ufffd😀"),
    (r'"\ud83dx\ude00"', "\ufffdx\ufffd"),
    (r'"\ude00\ud83d"', "\ufffd\ufffd"),
    (r'"\ud83d\n"', "\ufffd\n"),
    (r'"\ud83d\\ude00"', "\ufffd\\ude00"),
    (r'"\\ud83d"', r"\ud83d"),
    (r'"\\\ud83d"', "\\\ufffd"),
    (r'"\\\\ud83d"', r"\\ud83d"),
    (r'"\u00e9\"\\"', 'é"\\'),
    ('"é😀"', "é😀"),
    (r'"a long text without an emoji \\\\ud83d\n"', "a long text without an emoji \\\\ud83d\n"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_halves_of_characters_are_replaced_in_chunks_of_every_size(text: str, expected: str) -> None:
    data = text.encode()
    for size in range(1, len(data) + 1):
        repair = EscapeRepair()
        got = b"".join(repair.feed(data[at : at + size]) for at in range(0, len(data), size)) + repair.end()
        assert json.loads(got) == expected


@pytest.mark.parametrize(
    "data", [b"", b"\\", b"\\u", b"\\ud8", b"\\ud83d", b"\\ud83d\\", b"\\ud83d\\ude", b"\xff\\\xff"]
)
def test_end_of_a_cut_text_is_kept(data: bytes) -> None:
    repair = EscapeRepair()
    got = repair.feed(data) + repair.end()
    assert got[:6] in (data[:6], b"\\ufffd")
