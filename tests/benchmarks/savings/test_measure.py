"""Savings are counted over whole tasks, and what searching loses is listed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolsearch import Tool, ToolCallingAdvisor
from toolsearch.benchmarks.reports.readme import render, rewrite
from toolsearch.benchmarks.savings.break_even import find_break_even, smallest
from toolsearch.benchmarks.savings.cache_pricing import CachePrices
from toolsearch.benchmarks.savings.measure import ALL_TOOLS, Savings, measure_savings, play
from toolsearch.benchmarks.savings.payload import PayloadCounter
from toolsearch.benchmarks.savings.results import report_json, suite_json
from toolsearch.benchmarks.savings.suites import Suite, run_suite
from toolsearch.benchmarks.savings.tasks import Step, Task
from toolsearch.chat.tokens import EstimateTokenCounter
from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, ToolReference, ToolSearchResponse

COUNTER = PayloadCounter(EstimateTokenCounter())
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("get_weather", "Current weather in a city.", CITY)
FILLER = [
    Tool(f"file_report_{n}", f"Files report number {n} with the archive of the municipality. " * 5, CITY)
    for n in range(30)
]
CATALOG = [*FILLER[:15], WEATHER, *FILLER[15:]]
TASK = Task(
    id="weather",
    prompt="What is the weather in Gouda?",
    steps=(Step(tool="get_weather", arguments={"city": "Gouda"}, result="rain", phrasings=("weather in a city",)),),
)
NOTHING = Task(id="nothing", prompt="Sing!", style="no_tool", phrasings=("sing a song", "music"))


class FindsNothing:
    """An index that never finds anything."""

    def build(self, tools: list[ToolReference]) -> FindsNothing:
        return self

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        return ToolSearchResponse(reason="Nothing, as always.")


def measure(*tasks: Task, tools: list[Tool] = CATALOG, **indexes: Any) -> Savings:
    return measure_savings("test", tools, tasks, indexes or {"bm25": "bm25"}, COUNTER)


def test_search_takes_fewer_tokens_and_one_more_request_in_a_large_catalogue() -> None:
    savings = measure(TASK)
    (plain,), (search,) = savings.baseline.runs, savings.contenders[0].runs
    assert plain.succeeded
    assert search.succeeded
    assert (plain.requests, plain.searches) == (2, 0)
    assert (search.requests, search.searches) == (3, 1)
    assert search.total < plain.total / 2
    assert savings.losses() == []


def test_the_baseline_sends_every_definition_on_every_request() -> None:
    savings = measure(TASK)
    plain = savings.baseline.runs[0]
    assert 2 * savings.definition_tokens < plain.input < 2 * savings.definition_tokens + 400
    assert savings.definition_tokens == COUNTER.definitions_of(CATALOG)


def test_a_small_catalogue_is_a_loss_and_is_listed_as_one() -> None:
    (loss,) = measure(TASK, tools=[WEATHER]).losses()
    assert (loss.contender, loss.task, loss.reason) == ("bm25", "weather", "tokens")
    assert loss.tokens > loss.tokens_all_tools


def test_a_tool_that_is_not_found_is_a_loss_however_few_tokens_that_took() -> None:
    savings = measure(TASK, useless=FindsNothing())
    (loss,) = savings.losses()
    assert loss.reason == "failed"
    assert loss.tokens < loss.tokens_all_tools
    assert savings.contenders[0].totals.succeeded == 0


def test_where_no_tool_fits_searching_is_counted_and_is_no_failure() -> None:
    savings = measure(NOTHING)
    search = savings.contenders[0].runs[0]
    assert search.succeeded
    assert (search.searches, search.requests) == (2, 3)
    assert savings.baseline.runs[0].requests == 1


def test_a_task_over_a_tool_that_is_not_there_is_skipped() -> None:
    savings = measure(TASK, tools=FILLER)
    assert savings.skipped == ("weather",)
    assert savings.baseline.runs == ()


def test_a_suite_of_which_no_task_can_be_played_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="test: no task can be played"):
        run_suite(Suite("test", FILLER, [TASK]), {"bm25": Bm25ToolIndex()}, EstimateTokenCounter(), CachePrices())
    partly = run_suite(
        Suite("test", FILLER, [TASK, NOTHING]), {"bm25": Bm25ToolIndex()}, EstimateTokenCounter(), CachePrices()
    )
    assert (partly["tasks"], partly["skipped"]) == (1, ["weather"])


def test_arguments_that_the_schema_refuses_are_an_error_of_the_task() -> None:
    wrong = Task(id="wrong", prompt="x", steps=(Step(tool="get_weather", phrasings=("weather",)),))
    with pytest.raises(ConfigurationError, match="task 'wrong'"):
        measure(wrong)


def test_progress_is_told_after_every_task_of_every_contender() -> None:
    ticks: list[None] = []
    measure_savings("test", CATALOG, [TASK, NOTHING], {"bm25": "bm25"}, COUNTER, progress=lambda: ticks.append(None))
    assert len(ticks) == 2 * 2


def test_two_runs_give_the_same_figures() -> None:
    assert measure(TASK, NOTHING) == measure(TASK, NOTHING)


def test_sums_by_style_add_up_to_the_totals() -> None:
    contender = measure(TASK, NOTHING).contenders[0]
    styles = contender.by_style()
    assert set(styles) == {"named", "no_tool"}
    assert sum(totals.total for totals in styles.values()) == contender.totals.total


def test_break_even_is_where_it_begins_to_pay() -> None:
    found = find_break_even(CATALOG, "bm25", COUNTER)
    assert found.tools is not None
    assert 1 < found.tools < len(CATALOG)
    assert found.with_search < found.with_all
    below = find_break_even(CATALOG[: found.tools - 2], "bm25", COUNTER)
    assert below.tools is None
    assert below.with_search >= below.with_all


def test_break_even_adds_up_what_playing_with_all_tools_takes() -> None:
    targets = [CATALOG[at * len(CATALOG) // 12] for at in range(12)]
    tasks = [
        Task(id=tool.name, prompt=f"Please use {tool.name}.", steps=(Step(tool=tool.name, phrasings=(tool.name,)),))
        for tool in targets
    ]
    runs = play(ToolCallingAdvisor(), CATALOG, tasks, COUNTER, CachePrices(), accept_errors=True)
    assert find_break_even(CATALOG, "bm25", COUNTER).with_all == sum(run.total for run in runs) / len(runs)


def test_break_even_indexes_a_large_catalogue_once() -> None:
    """Where search begins to pay is looked for among small parts."""
    built: list[int] = []

    class Counted(Bm25ToolIndex):
        def build(self, tools: Sequence[ToolReference]) -> Any:
            built.append(len(tools))
            return super().build(tools)

    tools = [FILLER[0].renamed(f"file_report_{n}") for n in range(1_000)]
    found = find_break_even(tools, Counted(), COUNTER)
    assert found.tools is not None
    assert found.tools < 20
    assert built.count(1_000) == 1
    assert sum(built) < 3_000


@pytest.mark.parametrize("most", [1, 2, 3, 28, 1_000])
def test_the_smallest_size_that_pays_is_found_in_a_few_looks(most: int) -> None:
    for wanted in {1, 2, most // 3 or 1, most - 1 or 1, most}:
        if wanted <= most:
            looks: list[int] = []

            def pays(size: int, wanted: int = wanted, looks: list[int] = looks) -> bool:
                looks.append(size)
                return size >= wanted

            assert smallest(pays, most) == wanted
            assert len(looks) <= 2 * most.bit_length()
            assert most not in looks


def test_the_json_holds_every_run_and_what_was_saved() -> None:
    savings = measure(TASK, NOTHING)
    suite = suite_json(savings, find_break_even(CATALOG, "bm25", COUNTER))
    report = json.loads(json.dumps(report_json([suite], COUNTER.name, CachePrices())))
    (found,) = report["suites"]
    plain, search = found["baseline"], found["contenders"][0]
    assert plain["name"] == ALL_TOOLS
    assert plain["saving"] == 0
    assert search["saving"] == pytest.approx(1 - search["total"] / plain["total"], abs=1e-4)
    assert [run["task"] for run in search["runs"]] == ["weather", "nothing"]
    assert report["counter"] == "estimate"
    assert report["machine"]["python"]
    assert report["versions"]["tantivy"]


@pytest.fixture
def report() -> dict[str, Any]:
    suite = suite_json(measure(TASK, NOTHING), find_break_even(CATALOG, "bm25", COUNTER))
    return report_json([suite], COUNTER.name, CachePrices())


def test_a_page_gets_its_tables_between_the_marks_and_keeps_the_rest(report: dict[str, Any]) -> None:
    page = "# Title\n<!-- results -->\nstale figures\n<!-- /results -->\nThe end.\n"
    once = rewrite(page, report)
    assert once.startswith("# Title\n<!-- results -->\n")
    assert once.endswith("\n<!-- /results -->\nThe end.\n")
    assert "stale figures" not in once
    assert render(report) in once
    assert rewrite(once, report) == once
    assert "| bm25 |" in once


@pytest.mark.parametrize("page", ["", "<!-- results -->", "<!-- /results --><!-- results -->", "<!-- results -->" * 2])
def test_a_page_without_its_marks_is_refused(page: str, report: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="<!-- results -->"):
        rewrite(page, report)
