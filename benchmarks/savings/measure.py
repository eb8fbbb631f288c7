"""Tokens per task with all tools sent and with tool search, measured by replaying tasks on a catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...client.client import ChatClient
from ...disclosure.advisor import ToolSearchAdvisor
from ...indexes.protocols import ToolIndex
from ...loop.tool_calling import ToolCallingAdvisor
from ...tools.tool_type import Tool
from .cache_pricing import CachePrices, cached_cost
from .payload import PayloadCounter
from .replay import ReplayModel
from .tasks import Style, Task

__all__ = ["ALL_TOOLS", "Loss", "Savings", "Strategy", "TaskRun", "Totals", "measure_savings", "play_tasks"]

ALL_TOOLS = "all tools"
"""Name of the strategy that sends every definition with every request."""

SYSTEM = "You are a helpful assistant. Use the tools you have; say so when you cannot do something."


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """Cost of one task with one strategy.

    Args:
        task: Id of the task.
        style: Style of the task.
        input: Input tokens of all requests.
        output: Output tokens of all requests.
        requests: Number of requests to the model.
        searches: Number of searches.
        succeeded: Whether every call of the task was made, or none if no tool fits.
        cold: Cost with an empty prompt cache at the start, in tokens of plain input.
        warm: Cost with tools and system message already in the prompt cache.
    """

    task: str
    style: Style
    input: int
    output: int
    requests: int
    searches: int
    succeeded: bool
    cold: float
    warm: float

    @property
    def total(self) -> int:
        """Return the input and output tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over several tasks of one strategy."""

    tasks: int
    succeeded: int
    input: int
    output: int
    requests: int
    searches: int
    cold: float
    warm: float

    @classmethod
    def from_runs(cls, runs: Iterable[TaskRun]) -> Totals:
        """Return the sums of `runs`."""
        listed = list(runs)
        sums = {name: sum(getattr(run, name) for run in listed) for name in cls.__slots__ if name != "tasks"}
        return cls(tasks=len(listed), **sums)

    @property
    def total(self) -> int:
        """Return the input and output tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way to offer the tools, with its runs. The name is that of an index, or `ALL_TOOLS`."""

    name: str
    runs: tuple[TaskRun, ...]

    @property
    def totals(self) -> Totals:
        """Return the sums over all tasks."""
        return Totals.from_runs(self.runs)

    def by_style(self) -> dict[Style, Totals]:
        """Return the sums for each style of task, in order of first appearance."""
        styles: dict[Style, None] = dict.fromkeys(run.style for run in self.runs)
        return {style: Totals.from_runs(run for run in self.runs if run.style == style) for style in styles}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Task that an index did worse than sending all tools. The reason is ``"failed"`` or ``"tokens"``."""

    strategy: str
    task: str
    style: Style
    reason: str
    tokens: int
    tokens_all_tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """Results of one catalog.

    Args:
        name: Name of the catalog.
        tools: Number of tools of the catalog.
        definition_tokens: Tokens of all definitions, which plain tool calling sends with every request.
        baseline: The strategy that sends all tools.
        strategies: Tool search, one strategy per index.
        skipped: Ids of the tasks with a tool that is not in the catalog.
    """

    name: str
    tools: int
    definition_tokens: int
    baseline: Strategy
    strategies: tuple[Strategy, ...]
    skipped: tuple[str, ...] = ()

    def losses(self) -> list[Loss]:
        """Return the tasks that took more tokens with search than without, or that failed only with search."""
        found = []
        for strategy in self.strategies:
            for run, plain in zip(strategy.runs, self.baseline.runs, strict=True):
                failed = plain.succeeded and not run.succeeded
                if failed or run.total > plain.total:
                    found.append(
                        Loss(
                            strategy=strategy.name,
                            task=run.task,
                            style=run.style,
                            reason="failed" if failed else "tokens",
                            tokens=run.total,
                            tokens_all_tools=plain.total,
                        )
                    )
        return found


@dataclass(slots=True)
class _CannedResults:
    """Tools that answer calls with the results of the current task."""

    task: Task | None = None
    _results: dict[tuple[str, str], str] = field(default_factory=dict)

    def use_task(self, task: Task) -> None:
        self.task = task
        self._results = {(step.tool, _canonical_json(step.arguments)): step.result for step in task.steps}

    def replace_tool(self, tool: Tool) -> Tool:
        """Return a tool with the same definition that answers with the results of the current task."""
        name = tool.name

        def answer(**arguments: Any) -> str:
            return self._results.get((name, _canonical_json(arguments)), "Done")

        return tool.replace(fn=answer, result_converter=None, return_direct=False, timeout=None)


def _canonical_json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


def play_tasks(
    advisor: ToolCallingAdvisor,
    tools: Sequence[Tool],
    tasks: Iterable[Task],
    counter: PayloadCounter,
    prices: CachePrices,
    *,
    accept_errors: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> tuple[TaskRun, ...]:
    """Play tasks with an advisor, each in a separate session.

    Args:
        advisor: Sends all tools, or searches.
        tools: The catalog. The tools themselves do not run.
        tasks: The tasks to play.
        counter: Counts tokens.
        prices: Prices of tokens with a prompt cache.
        accept_errors: Continue after a call that failed.
        progress: Called after each task.
    """
    results = _CannedResults()
    canned = [results.replace_tool(tool) for tool in tools]
    runs = []
    for task in tasks:
        results.use_task(task)
        model = ReplayModel(task, counter, accept_errors=accept_errors)
        client = ChatClient(model, tools=canned, advisors=[advisor], system=SYSTEM)
        usage = client.call(task.prompt, session_id=f"benchmark {task.id}").usage
        runs.append(
            TaskRun(
                task=task.id,
                style=task.style,
                input=usage.input_tokens,
                output=usage.output_tokens,
                requests=len(model.exchanges),
                searches=model.searches,
                succeeded=model.succeeded,
                cold=cached_cost(model.exchanges, counter, prices),
                warm=cached_cost(model.exchanges, counter, prices, warm=True),
            )
        )
        progress()
    return tuple(runs)


def measure_savings(
    name: str,
    tools: Sequence[Tool],
    tasks: Sequence[Task],
    indexes: Mapping[str, ToolIndex | str],
    counter: PayloadCounter,
    prices: CachePrices | None = None,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Savings:
    """Play every task with all tools sent and with each index.

    Args:
        name: Name of the catalog in reports.
        tools: The catalog. The tools themselves do not run.
        tasks: The tasks. A task with a tool that is not in the catalog is skipped and listed.
        indexes: The indexes to search with, by the name in reports.
        counter: Counts tokens.
        prices: Prices of tokens with a prompt cache.
        progress: Called after each task of each strategy.

    Raises:
        ConfigurationError: A task calls a tool with arguments that its schema does not allow.
    """
    prices = prices or CachePrices()
    names = {tool.name for tool in tools}
    playable = [task for task in tasks if all(step.tool in names for step in task.steps)]
    advisors: dict[str, ToolCallingAdvisor] = {ALL_TOOLS: ToolCallingAdvisor()}
    advisors |= {label: ToolSearchAdvisor(index) for label, index in indexes.items()}
    baseline, *strategies = (
        Strategy(name=label, runs=play_tasks(advisor, tools, playable, counter, prices, progress=progress))
        for label, advisor in advisors.items()
    )
    return Savings(
        name=name,
        tools=len(tools),
        definition_tokens=counter.definitions_of(tools),
        baseline=baseline,
        strategies=tuple(strategies),
        skipped=tuple(task.id for task in tasks if task not in playable),
    )
