"""A text as it is written: its words unstemmed, and the pairs of words that stand next to each other.

Terms are stems in no order, so "posting" is found by "post" and "issue a pull" by "pull issues". What is found as it
is written as well ("pull request", "posting") counts more, and tells apart tools that share the stems.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .scripts import FIRST_UNSPACED, is_unspaced
from .stopwords import FUNCTION_WORDS

__all__ = ["adjacent_words", "pair_term"]


def adjacent_words(forms: Iterable[str]) -> list[tuple[str, str]]:
    """Return the words next to each other, function words left out.

    Scripts without spaces are left out too: their terms are pairs already.

    Example:
        >>> adjacent_words(["list", "the", "pull", "requests"])
        [('list', 'pull'), ('pull', 'requests')]
    """
    telling = [form for form in forms if form not in FUNCTION_WORDS]
    if any(form >= FIRST_UNSPACED for form in telling):
        telling = ["" if is_unspaced(form) else form for form in telling]
    return [(a, b) for a, b in pairwise(telling) if a != b and a and b]


def pair_term(neighbours: tuple[str, str]) -> str:
    """Return two words as one to be indexed; no word has an underscore in it."""
    return "_".join(neighbours)
