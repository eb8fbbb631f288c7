"""Tests of the vector index: the embedded texts, the number of calls, ranking, and errors of embedders."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolsearch.errors import (
    AsyncCallableError,
    ConfigurationError,
    DuplicateToolError,
    IndexingError,
    MissingExtraError,
)
from toolsearch.indexes.bm25.index import Bm25ToolIndex
from toolsearch.indexes.hybrid.index import HybridToolIndex
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.vector.cache import EmbeddingCache
from toolsearch.indexes.vector.calibration import CALIBRATION_TEXTS
from toolsearch.indexes.vector.embedders import CallableEmbedder
from toolsearch.indexes.vector.encode import tool_text
from toolsearch.indexes.vector.index import VectorToolIndex
from toolsearch.indexes.vector.sentence_transformer import SentenceTransformerEmbedder

np = pytest.importorskip("numpy")
pytest.importorskip("faiss")

TOOLS = (
    ToolReference(name="get_weather", description="Forecast of rain and sun", source="meteo", tags=("outdoors",)),
    ToolReference(name="refund_payment", description="Return money to a customer", source="shop"),
    ToolReference(name="send_mail", description="Send a message to a person", source="office"),
    ToolReference(name="find_trail", description="Walks in the sun", tags=("outdoors",)),
)


def test_nearest_tool_ranks_first(word_embedder):
    response = VectorToolIndex(word_embedder()).build(TOOLS).search("message for a person")
    assert response.names[0] == "send_mail"
    assert response.hits[0].description == "Send a message to a person"
    assert response.hits[0].matched[0].fields == ("meaning",)
    assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)
    assert response.metadata is not None
    assert response.metadata.search_type == "VectorToolIndex"


def test_scores_are_cosines(word_embedder):
    tools = [ToolReference(name="a", description="b c")]
    (hit,) = VectorToolIndex(word_embedder()).build(tools).search("c d").hits
    assert hit.score == pytest.approx(1 / (3 * 2) ** 0.5, abs=1e-6)


def test_unrelated_query_is_no_match(word_embedder):
    response = VectorToolIndex(word_embedder()).build(TOOLS).search("zebra")
    assert response.hits == ()
    assert response.reason_code == "no_match"


def test_min_similarity(word_embedder):
    searcher = VectorToolIndex(word_embedder(), min_similarity=0.9).build(TOOLS)
    response = searcher.search("a message please")
    assert response.hits == ()
    assert response.reason_code == "below_minimum"
    assert "0.90" in response.reason
    assert searcher.search("mail send: Send a message to a person").total_matches == 1


def test_category_search_loses_no_hit(word_embedder):
    crowd = [ToolReference(name=f"sun_{n}", description="rain and sun") for n in range(400)]
    response = (
        VectorToolIndex(word_embedder())
        .build([*TOOLS, *crowd])
        .search("rain and sun", max_results=2, category="outdoors")
    )
    assert response.names == ("get_weather", "find_trail")
    assert response.total_matches == 2


def test_total_matches_counts_all_matches(word_embedder):
    crowd = [ToolReference(name=f"sun_{n}", description="rain and sun") for n in range(400)]
    response = VectorToolIndex(word_embedder()).build([*TOOLS, *crowd]).search("sun", max_results=3)
    assert len(response.hits) == 3
    assert response.total_matches == 402


def test_equal_tools_are_in_order_of_name(word_embedder):
    tools = [ToolReference(name=name, description="rain") for name in ("get-x", "getX", "get.x", "get_x")]
    for given in (tools, tools[::-1]):
        assert VectorToolIndex(word_embedder()).build(given).search("rain").names == ("get-x", "get.x", "getX", "get_x")


def test_named_tool_ranks_first(word_embedder):
    assert VectorToolIndex(word_embedder()).build(TOOLS).search("sun and rain, find_trail").names[0] == "find_trail"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (ToolReference(name="create_issue", description="Open it."), "create issue: Open it."),
        (ToolReference(name="getHTTPServer.by-id/v2:x", source="hub"), "hub. get HTTP Server by id v2 x: "),
        (ToolReference(name="pay", search_text="wire money", tags=("bank", "eu")), "pay (wire money):  (bank, eu)"),
        (ToolReference(name="___", description="odd"), "___: odd"),
        (ToolReference(name="天气", description="bad \ud800"), "天气: bad \ufffd"),
    ],
)
def test_tool_text(tool: ToolReference, text: str):
    assert tool_text(tool) == text


def test_tool_text_omits_parameters_and_cuts_long_descriptions():
    tool = ToolReference(name="a", description="x" * 1_000_000, parameters={"properties": {"secret": {}}})
    assert len(tool_text(tool)) == 8_000
    assert "secret" not in tool_text(tool)


def test_tool_is_embedded_once_across_sets(word_embedder):
    embedder = word_embedder()
    index = VectorToolIndex(embedder)
    index.build(TOOLS[:3])
    index.build(TOOLS)
    assert sorted(embedder.texts) == sorted(map(tool_text, TOOLS))


def test_query_is_embedded_once_and_not_cached(word_embedder, tmp_path):
    embedder = word_embedder()
    searcher = VectorToolIndex(embedder, cache_dir=tmp_path).build(TOOLS)
    before = len(embedder.batches)
    searcher.search("weather")
    assert embedder.batches[before:] == [["weather"]]
    assert len(list(tmp_path.rglob("*.vec"))) == len(TOOLS) + 1  # the background


def test_large_sets_are_embedded_in_batches_by_length(word_embedder):
    embedder = word_embedder()
    VectorToolIndex(embedder).build([ToolReference(name=f"t{n}", description="w " * (n % 50)) for n in range(600)])
    assert [len(batch) for batch in embedder.batches] == [256, 256, 88]
    lengths = [len(text) for text in embedder.texts]
    assert lengths == sorted(lengths)


def test_failure_keeps_finished_batches():
    calls: list[int] = []

    def flaky(texts):
        calls.append(len(texts))
        if len(calls) == 2:
            raise ConnectionError("embedding service is down")
        return np.ones((len(texts), 4))

    index = VectorToolIndex(flaky)
    tools = [ToolReference(name=f"t{n}") for n in range(300)]
    with pytest.raises(IndexingError, match="embedding service is down") as caught:
        index.build(tools)
    assert isinstance(caught.value.__cause__, ConnectionError)
    index.build(tools)
    assert calls == [256, 44, 44, len(CALIBRATION_TEXTS)]


def test_prefixes_of_tools_and_queries():
    seen: list[str] = []

    def embed(texts):
        seen.extend(texts)
        return np.ones((len(texts), 2))

    embedder = CallableEmbedder(embed, query_prefix="query: ", passage_prefix="passage: ")
    VectorToolIndex(embedder).build([ToolReference(name="a")]).search(" hi ")
    assert seen == ["passage: a: ", *(f"passage: {text}" for text in CALIBRATION_TEXTS), "query: hi"]


def test_shared_cache_separates_embedders(word_embedder):
    cache = EmbeddingCache()
    first, same, other = word_embedder("v1"), word_embedder("v1"), word_embedder("v2")
    for embedder in (first, same, other):
        VectorToolIndex(embedder, cache=cache).build(TOOLS)
    assert (len(first.texts), len(same.texts), len(other.texts)) == (4, 0, 4)


def test_cache_dir_is_reused_by_another_index(word_embedder, tmp_path):
    VectorToolIndex(word_embedder(), cache_dir=tmp_path).build(TOOLS)
    again = word_embedder()
    searcher = VectorToolIndex(again, cache_dir=tmp_path).build(TOOLS)
    assert again.texts == []
    assert searcher.search("message").names == ("send_mail",)


def test_cache_dir_of_the_embedder(tmp_path):
    def ones(texts):
        return np.ones((len(texts), 2))

    VectorToolIndex(CallableEmbedder(ones, id="ones-1", cache_dir=tmp_path)).build(TOOLS)
    assert len(list(tmp_path.rglob("*.vec"))) == len(TOOLS) + 1  # the background


def test_function_without_id_is_not_cached_on_disk(tmp_path):
    with pytest.raises(ConfigurationError, match="id"):
        VectorToolIndex(lambda texts: texts, cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="id"):
        CallableEmbedder(lambda texts: texts, cache_dir=tmp_path)


def test_functions_with_the_same_name_do_not_share_embeddings():
    def make(width):
        return lambda texts: np.ones((len(texts), width))

    cache = EmbeddingCache()
    for width in (2, 3):
        assert VectorToolIndex(make(width), cache=cache).build(TOOLS).search("x").total_matches == 4


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda texts: np.ones((len(texts) + 1, 2)), r"shape \(4, d\) for 4 texts, got shape \(5, 2\)"),
        (lambda texts: np.ones(len(texts)), r"shape \(4,\)"),
        (lambda texts: np.ones((len(texts), 0)), r"shape \(4, 0\)"),
        (lambda texts: np.ones((len(texts), 2, 2)), r"shape \(4, 2, 2\)"),
        (lambda texts: [[1.0]] * 3 + [[1.0, 2.0]], "must return an array of numbers"),
        (lambda texts: "text", "must return an array of numbers"),
        (lambda texts: None, "shape|must return an array of numbers"),
        (lambda texts: [["a", "b"]] * 4, "must return an array of numbers"),
        (lambda texts: [[float("nan"), 1.0]] * 4, "NaN or infinity for 'find trail"),
        (lambda texts: [[float("inf"), 1.0]] * 4, "NaN or infinity"),
        (lambda texts: [[1.0, 1.0]] * 3 + [[0.0, 0.0]], "only zeros for '"),
    ],
)
def test_unusable_embeddings_are_rejected(answer, complaint):
    with pytest.raises(IndexingError, match=complaint):
        VectorToolIndex(answer).build(TOOLS)


def test_unusable_query_embedding_is_an_indexing_error():
    rows = {1: [[float("nan"), 1.0]], 4: [[1.0, 1.0]] * 4}
    searcher = VectorToolIndex(lambda texts: rows[len(texts)]).build(TOOLS)
    with pytest.raises(IndexingError, match="NaN or infinity for 'weather'"):
        searcher.search("weather")


def test_query_of_another_width_is_an_indexing_error():
    searcher = VectorToolIndex(lambda texts: np.ones((len(texts), len(texts)))).build(TOOLS)
    with pytest.raises(IndexingError, match="1 numbers for a query and 4"):
        searcher.search("weather")


def test_rows_of_two_widths_under_one_id_are_rejected(word_embedder):
    cache = EmbeddingCache()
    VectorToolIndex(word_embedder(width=8), cache=cache).build(TOOLS[:2])
    with pytest.raises(IndexingError, match=r"rows of 8 and of 16 numbers.*new id"):
        VectorToolIndex(word_embedder(width=16), cache=cache).build(TOOLS)


def test_query_with_zero_embedding_is_no_match(word_embedder):
    response = VectorToolIndex(word_embedder()).build(TOOLS).search("!?!")
    assert response.hits == ()
    assert response.reason_code == "no_match"


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_rows_are_normalized(scale, word_embedder):
    words = word_embedder()
    searcher = VectorToolIndex(lambda texts: np.array(words.embed(texts)) * scale).build(TOOLS)
    assert searcher.search("send mail: Send a message to a person").hits[0].score == pytest.approx(0.97, abs=0.05)


@pytest.mark.parametrize("query", ["", "  ", "\ud800", "x" * 1_000_000, "天气", "a\x00b", "' OR 1=1 --", "[("])
def test_no_query_raises(query, word_embedder):
    response = VectorToolIndex(word_embedder()).build(TOOLS).search(query)
    assert response.hits or response.reason


def test_empty_catalog_does_not_use_the_embedder():
    response = VectorToolIndex("/no/such/folder").build([]).search("weather")
    assert response.reason_code == "nothing_indexed"


@pytest.mark.parametrize("max_results", [0, -3])
def test_max_results_below_one_returns_no_hits(max_results, word_embedder):
    response = VectorToolIndex(word_embedder()).build(TOOLS).search("sun", max_results=max_results)
    assert response.hits == ()
    assert response.total_matches == 2


def test_duplicate_names_are_rejected(word_embedder):
    with pytest.raises(DuplicateToolError):
        VectorToolIndex(word_embedder()).build([TOOLS[0], TOOLS[0]])


@pytest.mark.parametrize("embedder", [3, None, object(), "", "  ", VectorToolIndex])
def test_invalid_embedders_are_rejected(embedder):
    with pytest.raises(ConfigurationError):
        VectorToolIndex(embedder)


def test_embedder_without_id_is_rejected():
    class Nameless:
        def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(ConfigurationError, match="id"):
        VectorToolIndex(Nameless())


@pytest.mark.parametrize("name", [3, "", " ", b"model-1", ["model-1"]])
def test_invalid_embedder_ids_are_rejected(name):
    class Misnamed:
        id = name

        def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(ConfigurationError, match=r"must be a string naming model and version, got"):
        VectorToolIndex(Misnamed())


def test_async_function_is_rejected():
    async def embed(texts):
        return texts

    with pytest.raises(AsyncCallableError, match=r"the embedder '\w+\.<locals>\.embed' must be synchronous"):
        VectorToolIndex(embed)


def test_async_embedder_is_rejected():
    class Later:
        id = "later-1"

        async def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(AsyncCallableError, match="must be synchronous, got an async function"):
        VectorToolIndex(Later())


def test_coroutine_result_is_rejected_in_a_hybrid():
    async def later(texts):
        return np.ones((len(texts), 2))

    hybrid = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(lambda texts: later(texts))])
    with pytest.raises(AsyncCallableError, match="returned a coroutine"):
        hybrid.build(TOOLS)


@pytest.mark.parametrize("minimum", [-1.1, 1.5, float("nan")])
def test_invalid_min_similarity_is_rejected(minimum, word_embedder):
    with pytest.raises(ConfigurationError, match="min_similarity"):
        VectorToolIndex(word_embedder(), min_similarity=minimum)


def test_cache_and_cache_dir_together_are_rejected(word_embedder, tmp_path):
    with pytest.raises(ConfigurationError, match="not both"):
        VectorToolIndex(word_embedder(), cache=EmbeddingCache(), cache_dir=tmp_path)


def test_concurrent_searches_agree(word_embedder):
    searcher = VectorToolIndex(word_embedder()).build(TOOLS)
    start = threading.Barrier(4)

    def search(_: int):
        start.wait(10)
        return [searcher.search(query).names for query in ("sun", "message", "money customer") * 20]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(search, range(4)))
    assert results == [results[0]] * 4
    assert results[0][1] == ("send_mail",)


@pytest.mark.parametrize("missing", ["numpy", "faiss"])
def test_missing_package_is_reported_at_use(missing):
    code = (
        "import sys\n"
        f"sys.modules[{missing!r}] = None\n"
        "from toolsearch.errors import MissingExtraError\n"
        "from toolsearch.indexes.reference import ToolReference\n"
        "from toolsearch.indexes.vector.index import VectorToolIndex\n"
        "index = VectorToolIndex(lambda texts: [[1.0]] * len(texts))\n"
        "try: index.build([ToolReference(name='a')])\n"
        "except MissingExtraError as error: print(error.extra, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("vector ")
    assert "pip install 'toolsearch[vector]'" in done.stdout


def test_import_loads_no_heavy_library():
    code = (
        "import sys, toolsearch.indexes.vector.index, toolsearch.indexes.hybrid.index\n"
        "toolsearch.indexes.vector.index.VectorToolIndex()\n"
        "print([name for name in ('numpy', 'faiss', 'torch', 'sentence_transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_missing_sentence_transformers_is_reported(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[vector\]"):
        SentenceTransformerEmbedder(tmp_path).embed(["a"])


def test_path_without_a_model_is_rejected():
    for path in ("/no/such/folder", Path("no/such/folder"), "./no"):
        with pytest.raises(ConfigurationError, match="no such folder"):
            VectorToolIndex(path).build(TOOLS)


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"batch_size": 0}])
def test_sizes_below_one_are_rejected(options):
    with pytest.raises(ConfigurationError, match="at least 1"):
        SentenceTransformerEmbedder("model", **options)


def test_id_of_a_folder_depends_on_its_content(tmp_path):
    for name, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name / "model").mkdir(parents=True)
        (tmp_path / name / "model" / "weights.bin").write_bytes(weights)
    one, copy, other = (SentenceTransformerEmbedder(tmp_path / name / "model").id for name in "abc")
    assert one == copy != other
    assert one.startswith("model@")
    assert SentenceTransformerEmbedder(tmp_path / "a" / "model", max_tokens=64).id != one


def test_id_of_a_hub_model_contains_its_revision():
    assert SentenceTransformerEmbedder("org/model", revision="v2").id == "org/model@v2/128"
    assert SentenceTransformerEmbedder("org/multilingual-e5").multilingual
    assert not SentenceTransformerEmbedder().multilingual


@pytest.mark.vector
def test_minilm_finds_a_tool_by_meaning(minilm):
    response = VectorToolIndex(minilm).build(TOOLS).search("give back cash")
    assert response.names[0] == "refund_payment"


@pytest.mark.vector
def test_model_is_loaded_once_by_many_threads(minilm_folder, monkeypatch):
    import sentence_transformers

    loads: list[str] = []
    original = sentence_transformers.SentenceTransformer.__init__

    def counted(self, name, **options):
        loads.append(name)
        original(self, name, **options)

    monkeypatch.setattr(sentence_transformers.SentenceTransformer, "__init__", counted)
    embedder = SentenceTransformerEmbedder(minilm_folder)
    start = threading.Barrier(4)

    def embed(number: int):
        start.wait(10)
        return embedder.embed([f"text {number}"])[0]

    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(embed, range(4)))
    assert loads == [str(minilm_folder)]
    for number, found in enumerate(rows):
        assert np.allclose(found, embedder.embed([f"text {number}"])[0], atol=1e-5)


@pytest.mark.vector
def test_local_model_uses_no_network(minilm_folder):
    code = (
        "import socket, sys\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from toolsearch.indexes.vector.sentence_transformer import SentenceTransformerEmbedder\n"
        "print(SentenceTransformerEmbedder(sys.argv[1]).embed(['hello']).shape)\n"
    )
    environment = {"PATH": "", "HOME": "/nonexistent", "OMP_NUM_THREADS": "1"}  # no HF_HUB_OFFLINE
    done = subprocess.run(
        [sys.executable, "-c", code, str(minilm_folder)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.stdout.strip() == "(1, 384)", done.stderr[-2000:]


@pytest.mark.vector
def test_lone_surrogates_are_replaced_for_the_tokenizer(minilm):
    tools = [ToolReference(name="odd_\ud800", description="\udfff\x00 rain"), *TOOLS]
    searcher = VectorToolIndex(minilm).build(tools)
    assert searcher.search("send \ud800 a letter").names


@pytest.mark.vector
def test_unreachable_hub_is_not_retried(monkeypatch, minilm_folder, caplog):
    import huggingface_hub

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.delenv("TRANSFORMERS_OFFLINE")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(IndexingError, match="no-such-org/no-such-model"):
        VectorToolIndex("no-such-org/no-such-model").build(TOOLS)
    assert "Retry" not in caplog.text


@pytest.mark.vector
def test_missing_model_offline_is_an_indexing_error(monkeypatch, tmp_path, minilm_folder):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(IndexingError, match="no-such-org/no-such-model"):
        VectorToolIndex("no-such-org/no-such-model").build(TOOLS)


WEATHER = "Tell me about rain and sun in the forecast for the weather there, with wind and clouds and the sun again."
LONG = " ".join([WEATHER] * 3) + " Then return the money."


def test_long_request_finds_a_tool_for_each_intent(word_embedder, monkeypatch):
    """The single row of the whole request is nearest to tools that have a little of everything."""
    intents = [" ".join(f"{letter}{n}" for n in range(12)) for letter in "abcd"]
    request = ". ".join((*intents, "Then return the money"))
    tools = [ToolReference(name=f"all_{n}", description="a1 b1 c1 d1 a2 b2 c2 d2") for n in range(9)]
    tools.append(ToolReference(name="refund", description="Return the money"))
    searcher = VectorToolIndex(word_embedder()).build(tools)
    assert searcher.search(request).names[0] == "refund"
    monkeypatch.setattr("toolsearch.indexes.vector.index.MIN_WORDS_FOR_CLAUSES", 1_000)
    assert "refund" not in searcher.search(request).names


def test_number_of_words_from_which_clauses_are_embedded():
    """The limit is higher for fused scores, since the search by words handles clauses itself."""
    asked = []

    def embed(texts):
        asked.append(len(texts))
        return [[1.0, float(len(text))] for text in texts]

    searcher = VectorToolIndex(CallableEmbedder(embed, id="lengths")).build(TOOLS)
    by_words = {}
    for words in (29, 30, 49, 50):
        request = "One two three four. " + "five " * (words - 4)
        searcher.search(request)
        searcher.scores(request)
        by_words[words] = asked[-2:]
    assert by_words == {29: [1, 1], 30: [3, 1], 49: [3, 1], 50: [3, 3]}


def test_quoted_parts_are_not_embedded_if_enough_words_remain():
    """Quoted titles and messages are data; a query that is only a quotation is embedded."""
    asked = []

    def embed(texts):
        asked.append(texts[0])
        return [[1.0, float(len(text))] for text in texts]

    searcher = VectorToolIndex(CallableEmbedder(embed, id="lengths")).build(TOOLS)
    for query in ("Create an issue titled 'Weather in Paris' now", '"pull request"', "Post 'Weather in Paris'"):
        searcher.search(query)
    assert asked[-3:] == ["Create an issue titled   now", '"pull request"', "Post 'Weather in Paris'"]


def test_clauses_are_embedded_in_one_call():
    asked = []

    def embed(texts):
        asked.append(list(texts))
        return [[1.0, float(len(text))] for text in texts]

    searcher = VectorToolIndex(CallableEmbedder(embed, id="lengths", query_prefix="query: ")).build(TOOLS)
    asked.clear()
    searcher.search(LONG)
    searcher.search("Return the money. Then tell me about the weather.")
    long, short = asked
    assert len(long) > 2
    assert all(text.startswith("query: ") for text in long)
    assert long[0] == f"query: {LONG}"
    assert len(short) == 1


def test_clause_with_zero_embedding_is_ignored(word_embedder):
    """The other clauses are still searched."""
    searcher = VectorToolIndex(word_embedder()).build(TOOLS)
    greeted = f"Zebra quagga okapi gnu. {LONG}"
    assert set(searcher.search(greeted, max_results=2).names) == set(searcher.search(LONG, max_results=2).names)
    assert searcher.search("zebra quagga okapi. " * 20).reason_code == "no_match"


def test_embedder_with_only_one_prefix_is_rejected():
    class OnePrefix:
        id = "one-prefix"
        query_prefix = "query: "

        def embed(self, texts):
            return np.ones((len(texts), 2))

    with pytest.raises(ConfigurationError, match="both query_prefix and passage_prefix"):
        VectorToolIndex(OnePrefix())
