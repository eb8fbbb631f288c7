"""Tests of the fusion of scores and ranks, compared with a naive implementation."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes.ranking.catalog import Category
from toolsearch.indexes.ranking.fusion import (
    fuse_ranks,
    fuse_scores,
    meaning_weight,
    rank_positions,
    select_best,
    standard_deviation,
)
from toolsearch.indexes.ranking.scores import Dense, Scores

np = pytest.importorskip("numpy")

SIZE = 12
sparse = st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 40).map(lambda n: n / 4), max_size=SIZE)
cosines = st.lists(st.integers(-20, 20).map(lambda n: n / 20), min_size=SIZE, max_size=SIZE)


def dense(values: list[float], weight: float = 1.0) -> Scores:
    array = np.array(values, dtype=np.float32)
    matched = array > 0
    found = {position: value for position, value in enumerate(values) if value > 0}
    return Scores(values=found, total=len(found), dense=Dense(array, matched), weight=weight)


def z_scores(values: list[float], *, lexical: bool) -> list[float]:
    """Return z-scores: over a hundred tools if lexical, else with a deviation that grows for few tools."""
    if lexical:
        spread = statistics.pstdev([*values, *[0.0] * (100 - len(values))])
    else:
        spread = statistics.pstdev(values) * math.sqrt(1 + 10 / len(values))
    return [(value - statistics.fmean(values)) / spread if spread > 1e-9 else 0.0 for value in values]


@given(sparse, cosines, st.integers(1, 8).map(lambda n: n / 4))
def test_order_is_the_weighted_sum_of_z_scores(lexical, similar, weight):
    fused = fuse_scores([Scores(values=lexical), dense(similar, weight)], SIZE, limit=SIZE)
    left, right = z_scores([lexical.get(p, 0.0) for p in range(SIZE)], lexical=True), z_scores(similar, lexical=False)
    expected = [a + weight * b for a, b in zip(left, right, strict=True)]
    assert set(fused.values) == {p for p in range(SIZE) if p in lexical or similar[p] > 0}
    assert fused.total == len(fused.values)
    for one in fused.values:
        for other in fused.values:
            difference = fused.values[one] - fused.values[other]
            assert difference == pytest.approx(expected[one] - expected[other], abs=1e-4)


@given(sparse, sparse)
def test_sparse_and_dense_fusion_agree(first, second):
    plain = fuse_scores([Scores(values=first), Scores(values=second)], SIZE, limit=SIZE)
    nothing = dense([0.0] * SIZE)
    with_dense = fuse_scores([Scores(values=first), nothing, Scores(values=second)], SIZE, limit=SIZE)
    assert with_dense.values == pytest.approx(dict(plain.values))
    assert with_dense.total == plain.total == len(first.keys() | second.keys())


@given(sparse, cosines, st.sets(st.integers(0, SIZE - 1), min_size=1))
def test_category_is_fused_without_other_tools(lexical, similar, inside):
    places = sorted(inside)
    whole = fuse_scores(
        [Scores(values=lexical), dense(similar)], SIZE, limit=SIZE, category=Category("c", frozenset(inside))
    )
    alone = fuse_scores(
        [
            Scores(values={places.index(p): v for p, v in lexical.items() if p in inside}),
            dense([similar[p] for p in places]),
        ],
        len(places),
        limit=SIZE,
    )
    assert whole.values == pytest.approx({places[p]: v for p, v in alone.values.items()}, abs=1e-4)


@given(sparse, cosines, st.integers(1, SIZE))
def test_limit_keeps_the_best(lexical, similar, limit):
    parts = [Scores(values=lexical), dense(similar)]
    whole, cut = fuse_scores(parts, SIZE, limit=SIZE), fuse_scores(parts, SIZE, limit=limit)
    assert rank_positions(cut.values)[:limit] == rank_positions(whole.values)[:limit]
    assert cut.total == whole.total


@given(sparse)
def test_standard_deviation_counts_missing_values_as_zero(found):
    expected = statistics.pstdev([found.get(p, 0.0) for p in range(SIZE)])
    assert standard_deviation(found.values(), SIZE) == pytest.approx(expected if expected else 1.0)


@pytest.mark.parametrize("values", [[], [2.0, 2.0, 2.0], [0.1 + 0.2, 0.3, 0.3]])
def test_standard_deviation_of_equal_values_is_one(values):
    assert standard_deviation(values, 3) == 1.0


def test_rounding_errors_do_not_change_the_order():
    noise = [0.5, 0.5 + 6e-8, 0.5]
    fused = fuse_scores([Scores(values={0: 3.0, 2: 1.0}), dense(noise, 2.0)], 3, limit=3)
    assert rank_positions(fused.values) == [0, 2, 1]


def test_fusion_of_nothing():
    assert fuse_scores([], 5, limit=5).values == {}
    assert fuse_scores([Scores(), Scores()], 5, limit=5).total == 0
    assert fuse_ranks([], []) == {}


def test_total_above_the_number_of_values_is_kept():
    assert fuse_scores([Scores(values={0: 1.0}, total=700)], 1000, limit=1).total == 700


def test_fuse_ranks():
    assert fuse_ranks([[3, 1], [1]], [1.0, 2.0]) == pytest.approx({3: 1 / 6, 1: 1 / 7 + 2 / 6})


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=4))
def test_first_in_all_rankings_is_first(orders):
    rankings = [[9, *order] for order in orders]
    assert rank_positions(fuse_ranks(rankings, [1.0] * len(rankings)))[0] == 9


@given(st.dictionaries(st.integers(0, 50), st.sampled_from([0.0, 1.0, 2.0])))
def test_equal_scores_are_in_order_of_position(values):
    order = rank_positions(values)
    assert order == sorted(order, key=lambda p: (-values[p], p))
    assert sorted(order) == sorted(values)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 30))
def test_select_best_includes_ties(values, limit):
    array = np.array(values, dtype=np.float32)
    found = select_best(array, array > 0, limit)
    positive = sorted((v for v in values if v > 0), reverse=True)
    least = positive[min(limit, len(positive)) - 1] if positive else 1
    assert sorted(found) == [p for p, v in enumerate(values) if v > 0 and v >= least]


def test_meaning_weight_falls_with_the_length_of_the_query():
    weights = [meaning_weight("word " * count) for count in (1, 8, 20, 60, 125, 10_000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] / weights[2] == pytest.approx(1.5)
    assert weights[4] / weights[2] == pytest.approx(0.4)
    assert weights[4] == weights[5]


def test_meaning_weight_of_other_scripts():
    assert meaning_weight("погода в москве") == pytest.approx(0.1 * meaning_weight("weather in moscow"))
    assert meaning_weight("погода в москве", multilingual=True) == meaning_weight("weather in moscow")
    half = meaning_weight("wetter погода") / meaning_weight("wetter wetter")
    assert half == pytest.approx(0.5)


def test_accents_and_full_width_letters_are_latin():
    assert meaning_weight("météo à Łódź ＡＢＣ") == meaning_weight("meteo in lodz abc")


def test_two_ideographs_count_as_a_word():
    spaced = meaning_weight("a " * 31, multilingual=True)
    assert meaning_weight("天" * 60, multilingual=True) == pytest.approx(spaced)


@given(st.text())
def test_meaning_weight_of_any_text(query):
    weight = meaning_weight(query)
    assert math.isfinite(weight)
    assert 0 < meaning_weight("погода") * 0.2 < weight <= meaning_weight("word")
