"""From scores to an answer: the one place where every index filters, orders and explains.

An index scores; `respond` does the rest: it finds the category, puts named tools first, orders,
cuts, counts, and says why an answer is empty or weak.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ...errors import ConfigurationError, DuplicateToolError
from ..checks import checked_search, shown
from ..protocols import ToolSearcher
from ..reference import ToolReference
from ..response import Match, ReasonCode, SearchMetadata, ToolHit, ToolSearchResponse
from ..text.identifiers import accented_key, identifier_key, identifiers_in, readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "Catalog", "Category", "Dense", "Note", "ScoredSearcher", "Scores", "respond"]

CANDIDATES = 200
"""How many tools an index scores at least, where it has a choice: enough to fuse and to fill any usual answer."""

_CATEGORIES_NAMED = 20
_LONGEST_NAME = 256
_SPELLED, _VARIANT, _UNACCENTED = 3.0, 2.0, 1.5
"""By how many times the best score a named tool is lifted: above all others, the very spelling above variants."""


@dataclass(frozen=True, slots=True)
class Note:
    """Why an answer is empty or weak, for a program and for a reader."""

    code: ReasonCode
    sentence: str


@dataclass(frozen=True, slots=True)
class Category:
    """A source or tag: its key (casing and separators ignored) and where in the catalog its tools stand."""

    key: str
    positions: frozenset[int]


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


class Catalog:
    """The tools of one searcher, in order of name, with their categories and names to look up. Immutable.

    Raises:
        ConfigurationError: something in `tools` is not a `ToolReference`.
        DuplicateToolError: two tools have one name.
    """

    __slots__ = ("_by_key", "_categories", "keys", "labels", "tools")

    tools: tuple[ToolReference, ...]
    """In order of name; a position counts in it."""
    labels: tuple[str, ...]
    """Every source and tag as written, in order."""
    keys: tuple[tuple[str, ...], ...]
    """Of each tool, the `Category.key` of its source and tags."""

    def __init__(self, tools: Sequence[ToolReference]) -> None:
        self.tools = tuple(sorted(_checked(tools), key=lambda tool: tool.name))
        for before, after in zip(self.tools, self.tools[1:], strict=False):
            if before.name == after.name:
                raise DuplicateToolError(f"two tools are named {after.name!r}; names must be distinct within one index")
        self._by_key: dict[str, list[int]] = {}
        members: dict[str, set[int]] = {}
        labels: dict[str, str] = {}
        self.keys = tuple(tuple(dict.fromkeys(map(identifier_key, tool.categories))) for tool in self.tools)
        for position, (tool, keys) in enumerate(zip(self.tools, self.keys, strict=True)):
            self._by_key.setdefault(identifier_key(tool.name), []).append(position)
            for key in keys:
                members.setdefault(key, set()).add(position)
            for label in filter(str.strip, tool.categories):
                labels.setdefault(identifier_key(label), readable(label))
        self._categories = {key: Category(key, frozenset(positions)) for key, positions in members.items()}
        self.labels = tuple(sorted(labels.values()))

    def __len__(self) -> int:
        return len(self.tools)

    def category(self, label: str) -> Category | None:
        """Return the source or tag `label`, ignoring casing and separators, or None if no tool has it."""
        return self._categories.get(identifier_key(label))

    def named_in(self, query: str) -> dict[int, float]:
        """Return the tools the query names: all of it, or a word shaped like an identifier.

        The value says how surely: the very spelling counts for more than another casing or separator, and that for
        more than other accents.
        """
        found: dict[int, float] = {}
        whole = query.strip()
        for text in (whole if len(whole) <= _LONGEST_NAME else "", *identifiers_in(query)):
            for position in self._by_key.get(identifier_key(text), ()) if text else ():
                surety = _surety(self.tools[position].name, text)
                found[position] = max(surety, found.get(position, 0.0))
        return found


def _surety(name: str, text: str) -> float:
    if name == text:
        return _SPELLED
    return _VARIANT if accented_key(name) == accented_key(text) else _UNACCENTED


def _checked(tools: object) -> Iterator[ToolReference]:
    for tool in tools if isinstance(tools, Iterable) else (tools,):
        if not isinstance(tool, ToolReference):
            hint = "; pass tool.reference" if isinstance(getattr(tool, "reference", None), ToolReference) else ""
            raise ConfigurationError(
                f"an index is built of a list of ToolReference objects, not of {type(tool).__name__}: "
                f"{shown(tool)}{hint}"
            )
        yield tool


def respond(
    catalog: Catalog,
    score: Callable[[str, int, Category | None], Scores],
    *,
    search_type: str,
    query: str,
    max_results: int,
    category: str | None,
    candidates: int = CANDIDATES,
) -> ToolSearchResponse:
    """Answer one search: filter, order, cut, count, explain.

    Args:
        catalog: what is searched.
        score: called with the query, how many of the best are wanted, and the category, if any.
        search_type: the index's class name.
        query: as the caller gave it.
        max_results: at most this many hits; less than 1 gives none.
        category: a source or tag, in any casing and with any separators; blank means none.
        candidates: how many of the best to ask `score` for at least.

    Raises:
        ConfigurationError: an argument of the search is of the wrong kind.
    """
    started = time.perf_counter()
    query, max_results, category = checked_search(query, max_results, category)
    wanted = max(0, min(max_results, len(catalog)))
    found: Category | None = None
    scores, note = Scores(), None
    if not len(catalog):
        note = Note("nothing_indexed", "There are no tools to search.")
    elif category is not None and category.strip() and (found := catalog.category(category)) is None:
        note = Note("unknown_category", _unknown_category(category, catalog.labels))
    elif not query.strip():
        note = Note("empty_query", "The query is empty; say in a few words what the tool should do.")
    else:
        scores = score(query, max(candidates, wanted), found)
    values, named = _admitted(catalog, query, scores, found) if note is None else ({}, False)
    order = _best(values, wanted)
    hits = tuple(
        ToolHit(catalog.tools[p].name, catalog.tools[p].description, values[p], scores.explain(p)) for p in order
    )
    if note is None:
        note = _judged(scores, order, values, named, category if found else None)
        if scores.warning:
            note = Note(note.code, f"{note.sentence} {scores.warning}") if note else Note("degraded", scores.warning)
    return ToolSearchResponse(
        hits=hits,
        total_matches=max(len(values), scores.total or 0),
        metadata=SearchMetadata(search_type, query, (time.perf_counter() - started) * 1000),
        reason=note.sentence if note else "",
        reason_code=note.code if note else None,
    )


def _best(values: Mapping[int, float], wanted: int) -> list[int]:
    """Return the `wanted` best positions, best first; of equal ones the first."""
    if not wanted:
        return []
    candidates: Iterable[int] = values
    if len(values) > wanted:
        least = sorted(values.values(), reverse=True)[wanted - 1]
        candidates = [position for position, value in values.items() if value >= least]
    return sorted(candidates, key=lambda position: (-values[position], position))[:wanted]


def _admitted(
    catalog: Catalog, query: str, scores: Scores, category: Category | None
) -> tuple[Mapping[int, float], bool]:
    """Return the scores of the tools in the category, named ones lifted above all, and whether there is a named one."""
    inside = None if category is None else category.positions
    values = scores.values if inside is None else {p: v for p, v in scores.values.items() if p in inside}
    named = {p: s for p, s in catalog.named_in(query).items() if inside is None or p in inside}
    if not named:
        return values, False
    best = max(values.values(), default=0.0)
    unit = best if best > 0 else 1.0
    return {**values, **{p: max(0.0, values.get(p, 0.0)) + unit * surety for p, surety in named.items()}}, True


def _judged(
    scores: Scores, order: Sequence[int], values: Mapping[int, float], named: bool, category: str | None
) -> Note | None:
    if not values:
        if scores.note is not None:
            return scores.note
        within = f" in the category {category!r}" if category else ""
        return Note("no_match", f"No tool{within} matches; try other words for what the tool should do.")
    if not order or named:
        return None
    doubt = scores.doubt(order)
    return Note("weak_match", doubt) if doubt else None


def _unknown_category(asked: str, labels: Sequence[str]) -> str:
    if not labels:
        return f"There is no category {asked!r}: these tools have none; search without a category."
    shown = ", ".join(labels[:_CATEGORIES_NAMED])
    more = f" and {len(labels) - _CATEGORIES_NAMED} more" if len(labels) > _CATEGORIES_NAMED else ""
    return f"There is no category {asked!r}. There are: {shown}{more}."
