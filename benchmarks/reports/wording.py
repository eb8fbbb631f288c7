"""Phrases that the terminal and the HTML report share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["break_even_sentence", "count_noun", "source_name"]


def count_noun(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Example:
        >>> count_noun(1, "tool"), count_noun(1200, "tool")
        ('1 tool', '1,200 tools')
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def source_name(name: str | None) -> str:
    """Return the name of a tool source as reports show it."""
    return "(no source)" if name is None else name


def break_even_sentence(suite: Mapping[str, Any]) -> str:
    """Return a sentence about the number of tools with which search begins to save tokens."""
    found = suite["break_even"]
    size = f"average definition: {found['average_definition']:,.0f} tokens"
    comparison = f"{found['with_search']:,.0f} tokens with search, {found['with_all']:,.0f} with all tools sent"
    tools = count_noun(suite["tools"], "tool")
    if found["tools"] is None:
        return f"For a task with one call, search does not save tokens with {tools} ({size}): {comparison}."
    return (
        f"For a task with one call, search saves tokens once there are {found['tools']:,} or more tools ({size}). "
        f"With {'the only tool' if suite['tools'] == 1 else f'all {tools}'}: {comparison}."
    )
