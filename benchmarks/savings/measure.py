"""Tokens per task, with all tools sent and with tool search, by replaying tasks against a catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...client.client import ChatClient
from ...disclosure.advisor import ToolSearchAdvisor
from ...indexes.protocols import ToolIndex
from ...loop.tool_calling import ToolCallingAdvisor
from ...tools.tool import Tool
from .cache_pricing import CachePrices, cached_cost
from .payload import PayloadCounter
from .replay import ReplayModel
from .tasks import Style, Task

__all__ = ["ALL_TOOLS", "Contender", "Loss", "Savings", "TaskRun", "Totals", "measure_savings", "play"]

ALL_TOOLS = "all tools"
"""The name of the contender that sends every definition on every request."""

SYSTEM = "You are a helpful assistant. Use the tools you have; say so when you cannot do something."


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """What one task cost one contender.

    Args:
        task: the task's id.
        style: the task's style.
        input: prompt tokens, all requests together.
        output: completion tokens.
        requests: how often the model was asked.
        searches: how often it searched.
        succeeded: whether every call of the task was made; where no tool fits, whether none was.
        cold: cost with a prompt cache that held nothing at the start, in tokens of plain input.
        warm: the same where tools and system message were in the cache from other conversations.
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
        """Input and output tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over some tasks of one contender."""

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
        """The sums of `runs`."""
        listed = list(runs)
        sums = {name: sum(getattr(run, name) for run in listed) for name in cls.__slots__ if name != "tasks"}
        return cls(tasks=len(listed), **sums)

    @property
    def total(self) -> int:
        """Input and output tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to offer the tools, with what every task cost it; `name` is an index's name or `ALL_TOOLS`."""

    name: str
    runs: tuple[TaskRun, ...]

    @property
    def totals(self) -> Totals:
        """The sums over all tasks."""
        return Totals.from_runs(self.runs)

    def by_style(self) -> dict[Style, Totals]:
        """The sums by style of task, in order of first appearance."""
        styles: dict[Style, None] = dict.fromkeys(run.style for run in self.runs)
        return {style: Totals.from_runs(run for run in self.runs if run.style == style) for style in styles}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A task that an index did worse than sending all tools: `reason` is ``"failed"`` or ``"tokens"``."""

    contender: str
    task: str
    style: Style
    reason: str
    tokens: int
    tokens_all_tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """The outcome for one catalogue.

    Args:
        name: the catalogue's name.
        tools: how many tools it has.
        definition_tokens: the tokens of all definitions, which plain tool calling sends on every request.
        baseline: all tools sent.
        contenders: tool search, by index.
        skipped: tasks that name a tool which the catalogue does not have.
    """

    name: str
    tools: int
    definition_tokens: int
    baseline: Contender
    contenders: tuple[Contender, ...]
    skipped: tuple[str, ...] = ()

    def losses(self) -> list[Loss]:
        """Tasks that cost more with tool search than without it, or that only failed with it."""
        found = []
        for contender in self.contenders:
            for run, plain in zip(contender.runs, self.baseline.runs, strict=True):
                failed = plain.succeeded and not run.succeeded
                if failed or run.total > plain.total:
                    found.append(
                        Loss(
                            contender=contender.name,
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
    """Answers calls with the results that the task at hand has for them."""

    task: Task | None = None
    _results: dict[tuple[str, str], str] = field(default_factory=dict)

    def load(self, task: Task) -> None:
        self.task = task
        self._results = {(step.tool, _canonical(step.arguments)): step.result for step in task.steps}

    def tool(self, tool: Tool) -> Tool:
        """The same definition, answered from here."""
        name = tool.name

        def answer(**arguments: Any) -> str:
            return self._results.get((name, _canonical(arguments)), "Done")

        return tool.replace(fn=answer, result_converter=None, return_direct=False, timeout=None)


def _canonical(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


def play(
    advisor: ToolCallingAdvisor,
    tools: Sequence[Tool],
    tasks: Iterable[Task],
    counter: PayloadCounter,
    prices: CachePrices,
    *,
    accept_errors: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> tuple[TaskRun, ...]:
    """Play the tasks, each in a session of its own, with an advisor that offers the tools its way."""
    results = _CannedResults()
    canned = [results.tool(tool) for tool in tools]
    runs = []
    for task in tasks:
        results.load(task)
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
        name: what the catalogue is called in reports.
        tools: the catalogue; no tool is run.
        tasks: those that name a tool the catalogue lacks are skipped and listed.
        indexes: what to search with, by the name to report.
        counter: counts tokens.
        prices: of a prompt cache.
        progress: called after each task of each contender.

    Raises:
        ConfigurationError: a task calls a tool with arguments that its schema refuses.
    """
    prices = prices or CachePrices()
    names = {tool.name for tool in tools}
    playable = [task for task in tasks if all(step.tool in names for step in task.steps)]
    advisors: dict[str, ToolCallingAdvisor] = {ALL_TOOLS: ToolCallingAdvisor()}
    advisors |= {label: ToolSearchAdvisor(index) for label, index in indexes.items()}
    baseline, *contenders = (
        Contender(name=label, runs=play(advisor, tools, playable, counter, prices, progress=progress))
        for label, advisor in advisors.items()
    )
    return Savings(
        name=name,
        tools=len(tools),
        definition_tokens=counter.definitions_of(tools),
        baseline=baseline,
        contenders=tuple(contenders),
        skipped=tuple(task.id for task in tasks if task not in playable),
    )
