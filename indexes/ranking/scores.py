"""TODO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..protocols import ToolSearcher
from ..reference import ToolReference
from ..response import Match, ReasonCode
from .catalog import Category

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "Dense", "Note", "ScoredSearcher", "Scores"]


CANDIDATES = 200
"""The number of tools that an index scores at least, if it has a choice: enough to fuse and to fill any answer."""


@dataclass(frozen=True, slots=True)
class Note:
    """Why an answer is empty or weak, for a program and for a reader."""

    code: ReasonCode
    sentence: str


def _no_matches(_position: int) -> tuple[Match, ...]:
    return ()


def _no_doubt(_positions: Sequence[int]) -> str:
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """What every tool of the catalog scored, matched or not: a fusion measures by it how far the best stand out."""

    values: NDArray[np.float32]
    matched: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What one query found.

    Args:
        values: position of a tool in the catalog -> its score, higher is better; a tool not in it did not match (0.0).
        total: how many tools (of the category) matched, where `values` holds only the best; None if it holds all.
        explain: the terms matched by the tool at a position, best first; asked for returned hits only.
        doubt: a sentence if the tools at these positions, taken together, hardly have to do with the query, else "".
        note: why `values` is empty, where there is more to say than "no match".
        warning: a sentence to be said whatever was found, as part of the index could not be asked.
        dense: the scores of all tools, where the index has them.
        weight: how much these scores count in a fusion.
    """

    values: Mapping[int, float] = field(default_factory=dict[int, float])
    total: int | None = None
    explain: Callable[[int], tuple[Match, ...]] = _no_matches
    doubt: Callable[[Sequence[int]], str] = _no_doubt
    note: Note | None = None
    warning: str = ""
    dense: Dense | None = None
    weight: float = 1.0


class ScoredSearcher(ToolSearcher, Protocol):
    """A searcher whose scores can be fused with another's. Internal: what users implement is `ToolSearcher`."""

    @property
    def tools(self) -> tuple[ToolReference, ...]:
        """The tools in order of name (`Catalog.tools`); positions in `Scores` count in it."""
        ...

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Score the tools for a non-blank query.

        Args:
            query: the text as given; may hold anything, lone surrogates too.
            limit: at least this many of the best matches must be in the result.
            category: only its tools are of interest; an index may use it to look no further, or ignore it.
        """
        ...
