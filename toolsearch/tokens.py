"""Counting tokens: exactly with a tokenizer where one is installed, else by a stated estimate."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["EstimateTokenCounter", "TokenCounter"]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text. Safe from several threads.

    Attributes:
        name: what counts, named beside every number it gives, e.g. ``"o200k_base"``.
    """

    @property
    def name(self) -> str:
        """What counts."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        ...


class EstimateTokenCounter:
    """Estimates a token for every four bytes of UTF-8, rounded up; needs nothing and takes next to no time.

    English prose has about 4 to 4.5 bytes a token and JSON about 3 to 4, so definitions are rather under-counted.

    Example:
        >>> EstimateTokenCounter().count("get_weather")
        3
    """

    name = "estimate (4 bytes a token)"

    def count(self, text: str) -> int:
        """Return the estimate for `text`."""
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        return -(-size // 4)
