"""Texts that say which tools they revealed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from ..messages import ToolVersion

__all__ = ["RevealingText"]


class RevealingText(str):
    """Text for the model with the names of the tools that it revealed.

    A tool function can return one. The loop copies `revealed` to `ToolMessage.revealed`, so that no code has to parse
    the text to learn which tools a session knows.

    Args:
        text: The text as the model reads it.
        revealed: Names of the tools that are in the model's tool list from now on, in order. None for the answer to a
            search that did not run.
        tools: The tools that the names mean.

    Attributes:
        revealed: The names as a tuple, or None.
        tools: The tools as a tuple.

    Example:
        >>> result = RevealingText("Found get_weather.", ["get_weather"])
        >>> str(result), result.revealed
        ('Found get_weather.', ('get_weather',))
    """

    revealed: tuple[str, ...] | None
    tools: tuple[ToolVersion, ...]

    def __new__(cls, text: str, revealed: Iterable[str] | None = (), *, tools: Iterable[ToolVersion] = ()) -> Self:
        """Make the text with its names."""
        self = super().__new__(cls, text)
        self.revealed = None if revealed is None else tuple(revealed)
        self.tools = tuple(tools)
        return self
