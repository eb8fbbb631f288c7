"""Words of scripts without spaces, put together again from the overlapping pairs of characters they are searched by."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["missing_spans"]


def missing_spans(fragments: Sequence[str], missing: Collection[str]) -> dict[str, str]:
    """Return for each missing fragment of a word the stretch of the word that is missing there, "" for none.

    A pair that is missing beside one that is not, is missing for its other character.

    Args:
        fragments: those of one word in order: its characters, where they mean something, then its pairs.
        missing: the fragments that were not found.

    Example:
        >>> missing_spans(["天", "气", "预", "报", "天气", "气预", "预报"], {"预", "报", "气预", "预报"})
        {'预': '预报', '报': '预报', '气预': '预报', '预报': '预报'}
    """
    found: dict[str, str] = {}
    together: list[str] = []
    text = before = ""
    for fragment in (*fragments, ""):
        shared = _overlap(before, fragment) if together or fragment in missing else 0
        if fragment in missing and together and shared:
            together.append(fragment)
            text += fragment[shared:]
        else:
            if together:
                # What follows is found, and so is the character it begins with.
                found.update(dict.fromkeys(together, text[: len(text) - shared]))
            together, text = ([fragment], fragment[shared:]) if fragment in missing else ([], "")
        before = fragment
    longest = sorted(found.values(), key=len, reverse=True)
    return {term: next((part for part in longest if text and text in part), text) for term, text in found.items()}


def _overlap(before: str, after: str) -> int:
    """Return with how many letters of its end `before` begins `after`, both being longer than that."""
    return next((n for n in range(min(len(before), len(after)) - 1, 0, -1) if before[-n:] == after[:n]), 0)
