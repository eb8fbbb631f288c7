"""Earlier requests as a part of the ranking."""

import pytest

from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, HybridToolIndex, ToolReference, ToolSearcher
from toolsearch.indexes.learning import ToolExample, with_examples

TOOLS = [ToolReference(name=f"tool_{n}", description=f"Process item {n} of the shop") for n in range(30)]
RAIN = ToolReference(name="forecast", description="Get the weather of a city")
MAIL = ToolReference(name="send_mail", description="Send a mail to a person in a city")
CATALOG = [*TOOLS, RAIN, MAIL]
WORDS = ("umbrella", "raincoat", "boots", "parasol", "jacket", "gloves", "scarf", "sandals", "cap", "hat")
PAIRS = [(a, b) for a in WORDS for b in WORDS[:4] if a != b]
HISTORY = [ToolExample(f"should a person in the city take {a} or {b}", RAIN.digest) for a, b in PAIRS]
QUERIES = [
    "weather of a city",
    "mail a person",
    "need an umbrella and a hat in the city",
    "process item 3",
    "send",
    "zz",
]


def base(kind: str) -> ToolSearcher:
    index = Bm25ToolIndex()
    return (index if kind == "bm25" else HybridToolIndex([index])).build(CATALOG)


def ranking(searcher: ToolSearcher, query: str) -> list[tuple[str, float]]:
    return [(hit.name, hit.score) for hit in searcher.search(query, max_results=40).hits]


@pytest.mark.parametrize("kind", ["bm25", "hybrid"])
def test_a_tool_gains_from_similar_requests_and_the_hit_says_so(kind: str) -> None:
    query = "should a person in the city take gloves or a hat"
    plain, learned = base(kind), with_examples(base(kind), HISTORY)
    assert plain.search(query).names[0] == "send_mail"
    hits = learned.search(query).hits
    assert hits[0].name == "forecast"
    assert any(match.fields == ("examples",) for match in hits[0].matched)
    assert not any("examples" in match.fields for hit in hits[1:] for match in hit.matched)


def test_without_usable_examples_the_searcher_is_the_same() -> None:
    searcher = base("bm25")
    changed = ToolReference(name="forecast", description="Another definition")
    assert with_examples(searcher, []) is searcher
    assert with_examples(searcher, [ToolExample("umbrella", changed.digest), ToolExample(" ", RAIN.digest)]) is searcher


@pytest.mark.parametrize("kind", ["bm25", "hybrid"])
def test_requests_unlike_all_examples_rank_as_before(kind: str) -> None:
    learned = with_examples(base(kind), HISTORY)
    for query in ("process item 3", "mail", "zz"):
        assert ranking(learned, query) == ranking(base(kind), query)


def test_order_and_repetition_of_examples_do_not_matter() -> None:
    once = with_examples(base("bm25"), HISTORY)
    again = with_examples(base("bm25"), [*reversed(HISTORY), *HISTORY[:1] * 1000])
    for query in QUERIES:
        assert ranking(once, query) == ranking(again, query)


def test_repeating_a_request_does_not_beat_a_clear_win() -> None:
    query = "send a mail to a person"
    attack = [ToolExample(query, TOOLS[0].digest)] * 1000
    assert with_examples(base("bm25"), [*HISTORY, *attack]).search(query).names[0] == "send_mail"


def test_a_searcher_without_scores_is_rejected() -> None:
    class Custom:
        pass

    with pytest.raises(ConfigurationError, match="searcher must be"):
        with_examples(Custom(), HISTORY)  # type: ignore[arg-type]
