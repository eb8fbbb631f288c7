"""How counts, sources and the break-even size are said, alike in the terminal and in reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["count_of", "pays_sentence", "source_name"]


def count_of(number: int, thing: str, things: str | None = None) -> str:
    """Return the number with its noun.

    Example:
        >>> count_of(1, "tool"), count_of(1200, "tool")
        ('1 tool', '1,200 tools')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def source_name(name: str | None) -> str:
    """Return a source as it is shown."""
    return "(no source)" if name is None else name


def pays_sentence(suite: Mapping[str, Any]) -> str:
    """Say from how many tools on searching takes fewer tokens than sending all, or that it does not."""
    found = suite["break_even"]
    size = f"{found['average_definition']:,.0f} tokens a definition"
    tools = count_of(suite["tools"], "tool")
    if found["tools"] is None:
        few = "is too few" if suite["tools"] == 1 else "are too few"
        return (
            f"For a task of one call, {tools} ({size}) {few} for searching to pay: it takes "
            f"{found['with_search']:,.0f} tokens instead of {found['with_all']:,.0f}."
        )
    return (
        f"For a task of one call, searching takes fewer tokens from {count_of(found['tools'], 'tool')} on ({size}); "
        f"with all {suite['tools']:,} it is {found['with_search']:,.0f} instead of {found['with_all']:,.0f}."
    )
