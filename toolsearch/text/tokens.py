"""An estimate of tokens, without a tokenizer."""

from __future__ import annotations

import math

__all__ = ["CHARACTERS_PER_TOKEN", "estimate_tokens"]

CHARACTERS_PER_TOKEN = 4.5
"""The largest number of characters that the estimate counts as one token."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a string from its length.

    Counts one token per 4.5 ASCII characters, 0.3 tokens per character of two bytes in UTF-8 and 0.7 tokens per
    character of three bytes (such as Chinese and Japanese), and rounds up.

    Example:
        >>> estimate_tokens("get_weather")
        3
    """
    if text.isascii():
        return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
    ascii_count = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_count
    beyond_two_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_count - 2 * others
    return math.ceil(ascii_count / CHARACTERS_PER_TOKEN + 0.3 * others + 0.4 * beyond_two_bytes)
