"""Scores of tools for one query, as an index computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..response import Match, ReasonCode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "Dense", "Note", "Scores"]


CANDIDATES = 200
"""The default number of best tools that an index scores: enough to fuse and to fill a response."""


@dataclass(frozen=True, slots=True)
class Note:
    """Explanation of an empty or weak response.

    Args:
        code: The reason as a code, for a program.
        sentence: The reason as a sentence, for a reader.
    """

    code: ReasonCode
    sentence: str


def _no_matches(_position: int) -> tuple[Match, ...]:
    return ()


def _no_doubt(_positions: Sequence[int]) -> str:
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Scores of all tools of the catalog. A fusion measures by them how far the best tools stand out.

    Args:
        values: The score of each tool, of shape (tools,).
        matched: Whether each tool matches, of shape (tools,).
    """

    values: NDArray[np.float32]
    matched: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Result of scoring one query.

    Args:
        values: Position of a tool in the catalog -> its score; higher is better. A tool that does not match is absent.
        total: The number of matching tools (in the category) if `values` contains only the best; None if it contains
            all.
        explain: A function that returns the terms that the tool at a position matches, best first. It is called for
            returned hits only.
        doubt: A function that returns a sentence if the tools at these positions match little of the query, else "".
        note: The reason why `values` is empty, if it is more specific than "no match".
        warning: A sentence for every response, used when a part of the index failed.
        dense: The scores of all tools, if the index has them.
        weight: The weight of these scores in a fusion.
    """

    values: Mapping[int, float] = field(default_factory=dict[int, float])
    total: int | None = None
    explain: Callable[[int], tuple[Match, ...]] = _no_matches
    doubt: Callable[[Sequence[int]], str] = _no_doubt
    note: Note | None = None
    warning: str = ""
    dense: Dense | None = None
    weight: float = 1.0
