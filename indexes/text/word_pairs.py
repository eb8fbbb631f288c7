"""Pairs of adjacent words.

Terms are unordered stems, so "post" finds "posting", and "pull issues" finds "issue a pull". Surface forms (unstemmed
words) and pairs of adjacent words add to the score, to rank tools that share the same stems.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .scripts import FIRST_UNSPACED, is_unspaced
from .stopwords import FUNCTION_WORDS

__all__ = ["adjacent_words", "pair_term"]


def adjacent_words(forms: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of adjacent words, ignoring function words.

    Scripts without spaces give no pairs: their terms are pairs already.

    Example:
        >>> adjacent_words(["list", "the", "pull", "requests"])
        [('list', 'pull'), ('pull', 'requests')]
    """
    content_words = [form for form in forms if form not in FUNCTION_WORDS]
    if any(form >= FIRST_UNSPACED for form in content_words):
        content_words = ["" if is_unspaced(form) else form for form in content_words]
    return [(a, b) for a, b in pairwise(content_words) if a != b and a and b]


def pair_term(words: tuple[str, str]) -> str:
    """Return two words as one term for the index. Words contain no underscore, so the result is unique.

    Example:
        >>> pair_term(("pull", "requests"))
        'pull_requests'
    """
    return "_".join(words)
