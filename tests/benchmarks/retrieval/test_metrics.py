"""Quality metrics, compared with values calculated by hand."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.benchmarks.retrieval.metrics import Quality, average, percentile, score_ranking


def test_best_order_is_perfect() -> None:
    found = score_ranking(["a", "b", "x"], ["b", "a"])
    assert (found.recall_5, found.recall_10, found.hit_1, found.hit_5, found.full_5, found.mrr) == (1, 1, 1, 1, 1, 1)
    assert found.ndcg_5 == pytest.approx(1)
    assert found.recall_1 == 0.5, "two tools cannot both be first"


def test_two_of_three_tools_at_ranks_two_and_five() -> None:
    found = score_ranking(["x", "a", "y", "z", "b", "c"], ["a", "b", "c"])
    assert found.recall_1 == 0
    assert found.recall_5 == pytest.approx(2 / 3)
    assert found.recall_10 == 1
    assert (found.hit_1, found.hit_5, found.full_5) == (0, 1, 0)
    assert found.mrr == 0.5
    gain = 1 / log2(3) + 1 / log2(6)
    best = 1 + 1 / log2(3) + 1 / log2(4)
    assert found.ndcg_5 == pytest.approx(gain / best)


def test_one_alternative_is_enough_and_a_second_gains_nothing() -> None:
    found = score_ranking(["x", "a", "b"], ["a", "b", "c"], alternatives=True)
    assert (found.recall_1, found.recall_5, found.full_5, found.mrr) == (0, 1, 1, 0.5)
    assert found.ndcg_5 == pytest.approx(1 / log2(3))
    assert score_ranking(["a", "b"], ["a", "b"], alternatives=True).recall_1 == 1


def test_no_alternative_found_is_zero() -> None:
    assert score_ranking(["x", "y"], ["a", "b"], alternatives=True) == score_ranking([], ["a"])


def test_no_results_are_zero_in_every_metric() -> None:
    assert score_ranking([], ["a"]) == Quality(
        recall_1=0, recall_5=0, recall_10=0, hit_1=0, hit_5=0, full_5=0, ndcg_5=0, mrr=0
    )


def test_ranks_after_ten_do_not_count() -> None:
    found = score_ranking([*"bcdefghijk", "a"], ["a"])
    assert (found.mrr, found.recall_10) == (0, 0)
    assert score_ranking([*"bcdefghij", "a"], ["a"]).mrr == pytest.approx(1 / 10)


def test_repeated_name_counts_once() -> None:
    assert score_ranking(["x", "x", "a", "a"], ["a"]).mrr == 0.5
    assert score_ranking(["a", "a"], ["a", "b"]).recall_5 == 0.5


def test_six_relevant_tools_have_perfect_ndcg_but_not_full_recall() -> None:
    found = score_ranking([*"abcde"], [*"abcdef"])
    assert found.ndcg_5 == pytest.approx(1)
    assert found.recall_5 == pytest.approx(5 / 6)
    assert found.full_5 == 0


def test_average_weighs_every_query_equally() -> None:
    mean = average([score_ranking(["a"], ["a"]), score_ranking(["x"], ["a"]), score_ranking(["x", "a"], ["a"])])
    assert mean.hit_1 == pytest.approx(1 / 3)
    assert mean.mrr == pytest.approx((1 + 0 + 0.5) / 3)


@pytest.mark.parametrize(("percent", "expected"), [(50, 5), (99, 10), (100, 10), (10, 1), (0, 1)])
def test_percentiles_are_measured_values(percent: float, expected: int) -> None:
    assert percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent) == expected


names = st.lists(st.sampled_from("abcdefghijklmno"), max_size=15)


@given(found=names, relevant=st.sets(st.sampled_from("abcdefghijklmno"), min_size=1, max_size=6), any_=st.booleans())
def test_metrics_are_shares_and_recall_grows_with_depth(found: list[str], relevant: set[str], any_: bool) -> None:
    quality = score_ranking(found, relevant, alternatives=any_)
    assert 0 <= quality.recall_1 <= quality.recall_5 <= quality.recall_10 <= 1
    assert 0 <= quality.ndcg_5 <= 1 + 1e-12
    assert quality.hit_1 <= quality.hit_5
    assert quality.full_5 == (quality.recall_5 == 1)
    assert quality.hit_1 <= quality.mrr <= 1
