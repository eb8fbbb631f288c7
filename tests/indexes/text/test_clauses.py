"""Splitting requests into clauses."""

import pytest

from toolsearch.indexes.text.clauses import split_clauses


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three. four five six", ["one two three.", "four five six"]),
        ("one two three and then four five six", ["one two three", "four five six"]),
        ("one two three, and four five six", ["one two three", "four five six"]),
        ("salt and pepper", ["salt pepper"]),
        ("one two three\nfour five six", ["one two three", "four five six"]),
        ("查询今天的天气，然后发送邮件给他", ["查询今天的天气", "然后发送邮件给他"]),
        ("", []),
    ],
)
def test_requests_are_split_into_clauses(text: str, expected: list[str]) -> None:
    """Sentence ends and connectors separate clauses; a short part is joined to its neighbor."""
    assert [part for part in split_clauses(text) if part] == expected


def test_a_long_request_has_at_most_twelve_clauses() -> None:
    """No word of the request is lost."""
    parts = split_clauses("This is sentence number one. " * 500)
    assert len(parts) == 12
    assert sum(part.count("number") for part in parts) == 500
