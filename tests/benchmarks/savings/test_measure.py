"""Savings are measured over whole tasks, and lost tasks are listed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolsearch import Tool, ToolCallingAdvisor
from toolsearch.benchmarks.reports.markdown_tables import render_savings
from toolsearch.benchmarks.reports.readme import rewrite_page
from toolsearch.benchmarks.savings.break_even import BreakEven, find_break_even, smallest
from toolsearch.benchmarks.savings.cache_pricing import CachePrices
from toolsearch.benchmarks.savings.measure import ALL_TOOLS, Savings, measure_savings, play_tasks
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
    """Index that never finds a tool."""

    def build(self, tools: list[ToolReference]) -> FindsNothing:
        return self

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        return ToolSearchResponse(reason="No tool matches.")


def measure(*tasks: Task, tools: list[Tool] = CATALOG, **indexes: Any) -> Savings:
    return measure_savings("test", tools, tasks, indexes or {"bm25": "bm25"}, COUNTER)


@pytest.fixture(scope="module")
def break_even() -> BreakEven:
    """Return the break-even of the catalog."""
    return find_break_even(CATALOG, "bm25", COUNTER)


@pytest.fixture(scope="module")
def savings() -> Savings:
    """Return the savings of both tasks."""
    return measure(TASK, NOTHING)


def test_search_saves_tokens_and_needs_one_more_request() -> None:
    savings = measure(TASK)
    (plain,), (search,) = savings.baseline.runs, savings.strategies[0].runs
    assert plain.succeeded
    assert search.succeeded
    assert (plain.requests, plain.searches) == (2, 0)
    assert (search.requests, search.searches) == (3, 1)
    assert search.total < plain.total / 2
    assert savings.losses() == []


def test_baseline_sends_every_definition_with_every_request() -> None:
    savings = measure(TASK)
    plain = savings.baseline.runs[0]
    assert 2 * savings.definition_tokens < plain.input < 2 * savings.definition_tokens + 400
    assert savings.definition_tokens == COUNTER.definitions_of(CATALOG)


def test_small_catalog_is_listed_as_a_loss() -> None:
    (loss,) = measure(TASK, tools=[WEATHER]).losses()
    assert (loss.strategy, loss.task, loss.reason) == ("bm25", "weather", "tokens")
    assert loss.tokens > loss.tokens_all_tools


def test_tool_not_found_is_a_loss_even_with_fewer_tokens() -> None:
    savings = measure(TASK, useless=FindsNothing())
    (loss,) = savings.losses()
    assert loss.reason == "failed"
    assert loss.tokens < loss.tokens_all_tools
    assert savings.strategies[0].totals.succeeded == 0


def test_task_without_a_fitting_tool_succeeds_without_calls() -> None:
    savings = measure(NOTHING)
    search = savings.strategies[0].runs[0]
    assert search.succeeded
    assert (search.searches, search.requests) == (2, 3)
    assert savings.baseline.runs[0].requests == 1


def test_task_with_an_unknown_tool_is_skipped() -> None:
    savings = measure(TASK, tools=FILLER)
    assert savings.skipped == ("weather",)
    assert savings.baseline.runs == ()


def test_suite_without_a_playable_task_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="test: no task can be played"):
        run_suite(Suite("test", FILLER, [TASK]), {"bm25": Bm25ToolIndex()}, EstimateTokenCounter(), CachePrices())
    partly = run_suite(
        Suite("test", FILLER, [TASK, NOTHING]), {"bm25": Bm25ToolIndex()}, EstimateTokenCounter(), CachePrices()
    )
    assert (partly["tasks"], partly["skipped"]) == (1, ["weather"])


def test_invalid_arguments_of_a_task_are_an_error() -> None:
    wrong = Task(id="wrong", prompt="x", steps=(Step(tool="get_weather", phrasings=("weather",)),))
    with pytest.raises(ConfigurationError, match="task 'wrong'"):
        measure(wrong)


def test_progress_after_every_task_of_every_strategy() -> None:
    ticks: list[None] = []
    measure_savings("test", CATALOG, [TASK, NOTHING], {"bm25": "bm25"}, COUNTER, progress=lambda: ticks.append(None))
    assert len(ticks) == 2 * 2


def test_runs_are_reproducible(savings: Savings) -> None:
    assert measure(TASK, NOTHING) == savings


def test_sums_by_style_add_up_to_the_totals(savings: Savings) -> None:
    strategy = savings.strategies[0]
    styles = strategy.by_style()
    assert set(styles) == {"named", "no_tool"}
    assert sum(totals.total for totals in styles.values()) == strategy.totals.total


def test_break_even_is_the_first_size_that_saves_tokens(break_even: BreakEven) -> None:
    assert break_even.tools is not None
    assert 1 < break_even.tools < len(CATALOG)
    assert break_even.with_search < break_even.with_all
    below = find_break_even(CATALOG[: break_even.tools - 2], "bm25", COUNTER)
    assert below.tools is None
    assert below.with_search >= below.with_all


def test_break_even_equals_played_tasks_with_all_tools(break_even: BreakEven) -> None:
    targets = [CATALOG[at * len(CATALOG) // 12] for at in range(12)]
    tasks = [
        Task(id=tool.name, prompt=f"Please use {tool.name}.", steps=(Step(tool=tool.name, phrasings=(tool.name,)),))
        for tool in targets
    ]
    runs = play_tasks(ToolCallingAdvisor(), CATALOG, tasks, COUNTER, CachePrices(), accept_errors=True)
    assert break_even.with_all == sum(run.total for run in runs) / len(runs)


def test_break_even_indexes_a_large_catalog_once() -> None:
    """The binary search starts with small samples."""
    built: list[int] = []

    class Counted(Bm25ToolIndex):
        def build(self, tools: Sequence[ToolReference]) -> Any:
            built.append(len(tools))
            return super().build(tools)

    tools = [FILLER[0].renamed(f"file_report_{n}") for n in range(300)]
    found = find_break_even(tools, Counted(), COUNTER)
    assert found.tools is not None
    assert found.tools < 20
    assert built.count(300) == 1
    assert sum(built) < 1_500


@pytest.mark.parametrize("maximum", [1, 2, 3, 28, 1_000])
def test_smallest_needs_few_evaluations(maximum: int) -> None:
    for wanted in {1, 2, maximum // 3 or 1, maximum - 1 or 1, maximum}:
        if wanted <= maximum:
            evaluated: list[int] = []

            def pays(size: int, wanted: int = wanted, evaluated: list[int] = evaluated) -> bool:
                evaluated.append(size)
                return size >= wanted

            assert smallest(pays, maximum) == wanted
            assert len(evaluated) <= 2 * maximum.bit_length()
            assert maximum not in evaluated


def test_json_has_every_run_and_the_savings(report: dict[str, Any]) -> None:
    (found,) = json.loads(json.dumps(report))["suites"]
    plain, search = found["baseline"], found["strategies"][0]
    assert plain["name"] == ALL_TOOLS
    assert plain["saving"] == 0
    assert search["saving"] == pytest.approx(1 - search["total"] / plain["total"], abs=1e-4)
    assert [run["task"] for run in search["runs"]] == ["weather", "nothing"]
    assert report["counter"] == "estimate"
    assert report["machine"]["python"]
    assert report["versions"]["tantivy"]


@pytest.fixture(scope="module")
def report(savings: Savings, break_even: BreakEven) -> dict[str, Any]:
    """Return the report of both tasks."""
    suite = suite_json(savings, break_even)
    return report_json([suite], COUNTER.name, CachePrices())


def test_page_is_rewritten_between_the_markers(report: dict[str, Any]) -> None:
    page = "# Title\n<!-- results -->\nstale figures\n<!-- /results -->\nThe end.\n"
    once = rewrite_page(page, report)
    assert once.startswith("# Title\n<!-- results -->\n")
    assert once.endswith("\n<!-- /results -->\nThe end.\n")
    assert "stale figures" not in once
    assert render_savings(report) in once
    assert rewrite_page(once, report) == once
    assert "| bm25 |" in once


@pytest.mark.parametrize("page", ["", "<!-- results -->", "<!-- /results --><!-- results -->", "<!-- results -->" * 2])
def test_page_without_markers_is_an_error(page: str, report: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="<!-- results -->"):
        rewrite_page(page, report)
