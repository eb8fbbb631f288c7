"""Overlay of examples over a searcher, which stays unchanged and can be shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...errors import ConfigurationError
from ...text import short_repr
from ..hybrid.searcher import HybridToolSearcher, ScoredPart
from ..protocols import ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.fusion import standard_deviation
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Scores
from ..response import Match
from .example import ToolExample
from .trust import add_bonus, choose_weight
from .votes import Votes

__all__ = ["with_examples"]

_MIN_POPULATION = 100


def with_examples(searcher: ToolSearcher, examples: Iterable[ToolExample]) -> ToolSearcher:
    """Return a searcher that also ranks by earlier requests. Without usable examples it is the same searcher.

    The examples only add a bonus to tools that served similar requests. How large it may be is measured once, here, by
    up to 200 searches: the more the examples predict each other's tools, the larger. A hit that gained has a match in
    the field ``"examples"``. The ranking depends on definitions and examples only, not on their order or repetition.

    Args:
        searcher: A searcher of `Bm25ToolIndex`, `VectorToolIndex`, `RegexToolIndex` or `HybridToolIndex`.
        examples: The earlier requests.

    Raises:
        ConfigurationError: If the searcher does not provide scores.

    Example:
        >>> from toolsearch.indexes import Bm25ToolIndex, ToolReference
        >>> tools = [ToolReference(name="get_weather"), ToolReference(name="send_mail")]
        >>> base = Bm25ToolIndex().build(tools)
        >>> with_examples(base, []) is base
        True
    """
    if not isinstance(searcher, ScoredSearcher):
        raise ConfigurationError(
            f"searcher must be a searcher of a built-in index, got {short_repr(searcher)}; "
            "write with_examples(Bm25ToolIndex().build(tools), examples)"
        )
    votes = Votes(searcher.tools, examples)
    return _ExampleSearcher(searcher, votes) if len(votes) else searcher


class _ExampleSearcher(ScoredSearcher):
    def __init__(self, base: ScoredSearcher, votes: Votes) -> None:
        super().__init__(Catalog(base.tools), base._search_type)
        self._base = base
        self._votes = votes
        self._weight = choose_weight(votes, self._base_in_deviations, len(self.tools))

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        votes = self._votes.count(self._votes.likeness(query)) if self._weight else {}
        if category is not None:
            votes = {p: vote for p, vote in votes.items() if p in category.positions}
        if not votes:
            return self._base.standalone_scores(query, limit=limit, category=category)
        base = self._base.standalone_scores(query, limit=len(self.tools), category=category)
        unit = self._unit(base.values)
        scaled = {p: value / unit for p, value in base.values.items()}
        raised = add_bonus(
            scaled, votes, self._weight, len(self.tools) if category is None else len(category.positions)
        )
        gained = {p for p, value in raised.items() if value != scaled.get(p)}
        values = {p: raised[p] * unit if p in gained else base.values[p] for p in raised}

        def explain(position: int) -> tuple[Match, ...]:
            matches = base.explain(position) if position in base.values else ()
            return (*matches, Match(query, ("examples",))) if position in gained else matches

        return replace(base, values=values, explain=explain, dense=None)

    def _base_in_deviations(self, query: str) -> Mapping[int, float]:
        values = self._base.standalone_scores(query, limit=len(self.tools), category=None).values
        unit = self._unit(values)
        return {position: value / unit for position, value in values.items()}

    def _unit(self, values: Mapping[int, float]) -> float:
        """Return one deviation of the base's scores. A fusion of scores is in deviations already."""
        base = self._base
        if isinstance(base, HybridToolSearcher) and all(isinstance(p, ScoredPart) for p in base.parts if p):
            return 1.0
        return standard_deviation(values.values(), max(len(self.tools), _MIN_POPULATION))
