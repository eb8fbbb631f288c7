"""Words of scripts without spaces, rebuilt from the overlapping n-grams that they are indexed by."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["missing_spans"]


def missing_spans(ngrams: Sequence[str], missing: Collection[str]) -> dict[str, str]:
    """Return for each missing n-gram of a word the span of the word that is missing, or "" if there is none.

    A missing pair next to a known pair counts as missing for the character that the two do not share.

    Args:
        ngrams: The n-grams of one word in order: its characters, in scripts where they are words, then its pairs.
        missing: The n-grams that were not found.

    Example:
        >>> missing_spans(["天", "气", "预", "报", "天气", "气预", "预报"], {"预", "报", "气预", "预报"})
        {'预': '预报', '报': '预报', '气预': '预报', '预报': '预报'}
    """
    found: dict[str, str] = {}
    run: list[str] = []
    text = before = ""
    for ngram in (*ngrams, ""):
        shared = _overlap(before, ngram) if run or ngram in missing else 0
        if ngram in missing and run and shared:
            run.append(ngram)
            text += ngram[shared:]
        else:
            if run:
                # The next n-gram is known, and so is the character that the run shares with it.
                found.update(dict.fromkeys(run, text[: len(text) - shared]))
            run, text = ([ngram], ngram[shared:]) if ngram in missing else ([], "")
        before = ngram
    longest = sorted(found.values(), key=len, reverse=True)
    return {term: next((span for span in longest if text and text in span), text) for term, text in found.items()}


def _overlap(before: str, after: str) -> int:
    """Return the length of the longest proper suffix of `before` that is a proper prefix of `after`."""
    return next((n for n in range(min(len(before), len(after)) - 1, 0, -1) if before[-n:] == after[:n]), 0)
