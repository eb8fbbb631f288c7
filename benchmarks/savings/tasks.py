"""Tasks to replay: what a user asks, the calls it takes, and how a model would search for each tool.

A file holds one task a line (JSONL)::

    {"id": "t1", "prompt": "What time is it in Gouda?", "style": "named",
     "steps": [{"tool": "get_current_time", "arguments": {"timezone": "Europe/Amsterdam"}, "result": "15:04",
                "phrasings": ["current time in a city", "time now"], "with_previous": false}],
     "answer": "It is four past three."}

``style`` is ``named``, ``paraphrase`` (no word of the tool's name is used) or ``no_tool``, which has no steps but
``phrasings`` of its own. ``with_previous`` says that a call may be made in the same round as the one before it. Only
``prompt``, ``steps`` and their ``tool`` are required; a step without ``phrasings`` is searched for with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from ...errors import ConfigurationError
from ...tools.catalog_file import read_json_lines
from ...tools.names import closest_names
from ...tools.tool import Tool

__all__ = ["Step", "Style", "Task", "load_tasks"]

Style: TypeAlias = Literal["named", "paraphrase", "no_tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a task.

    Args:
        tool: the tool's name in the catalogue.
        arguments: what it is called with.
        result: what it answers; no tool is run.
        phrasings: searches a model would make for it, the most natural first.
        with_previous: it needs nothing of the step before and may be called in the same round.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = "Done"
    phrasings: tuple[str, ...]
    with_previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a user asks and what it takes.

    Args:
        id: names it in reports.
        prompt: the user's words.
        style: how its words relate to the tools' names.
        steps: the calls, in order; empty where no tool fits.
        phrasings: searches for a tool that does not exist, where no tool fits.
        answer: the model's last words.
    """

    id: str
    prompt: str
    style: Style = "named"
    steps: tuple[Step, ...] = ()
    phrasings: tuple[str, ...] = ()
    answer: str = "That is done. Is there anything else you would like me to do?"


def load_tasks(path: str | Path, tools: Iterable[Tool] | None = None) -> tuple[Task, ...]:
    """Read a file of tasks.

    Args:
        path: the file.
        tools: the catalogue the tasks are for. Steps may name its tools as they are sent or as they were before, and
            then have the name that is sent; any other name is an error. Without it any name will do.

    Raises:
        ConfigurationError: the file cannot be read, a task is not one, or names a tool that is not there; the message
            has the file and the line.
    """
    sent = None if tools is None else _sent_names(tools)
    tasks: dict[str, Task] = {}
    for number, value in read_json_lines(path):
        try:
            task = _task(value, number)
            if sent is not None:
                task = replace(task, steps=tuple(_over(sent, step) for step in task.steps))
            if task.id in tasks:
                raise ConfigurationError(f"a second task with the id {task.id!r}")
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}:{number}: {error}") from error
        tasks[task.id] = task
    if not tasks:
        raise ConfigurationError(f"{path}: holds no tasks; expected one JSON object a line")
    return tuple(tasks.values())


def _sent_names(tools: Iterable[Tool]) -> dict[str, str]:
    """The name that is sent, by each name a tool may be called in a file."""
    listed = tuple(tools)
    return {tool.original_name: tool.name for tool in listed} | {tool.name: tool.name for tool in listed}


def _over(sent: Mapping[str, str], step: Step) -> Step:
    if step.tool not in sent:
        closest = ", ".join(map(repr, closest_names(step.tool, sent)))
        hint = f"; the closest names are {closest}" if closest else ""
        raise ConfigurationError(f"the catalogue has no tool {step.tool!r}{hint}")
    return replace(step, tool=sent[step.tool])


def _task(value: Any, number: int) -> Task:
    if not isinstance(value, dict):
        raise ConfigurationError(f"a task is a JSON object, not {value!r:.40}")
    known = {"id", "prompt", "style", "steps", "phrasings", "answer"}
    _refuse_unknown(value, known, "a task")
    style = value.get("style", "named")
    if style not in get_args(Style):
        raise ConfigurationError(f"style is one of {', '.join(get_args(Style))}, not {style!r}")
    prompt = _text(value, "prompt")
    steps = value.get("steps", [])
    if not isinstance(steps, list) or bool(steps) == (style == "no_tool"):
        raise ConfigurationError("steps is a list of calls; only a task of style no_tool has none")
    phrasings = _phrasings(value, prompt)
    answer = {"answer": _text(value, "answer")} if "answer" in value else {}
    return Task(
        id=str(value.get("id", f"line-{number}")),
        prompt=prompt,
        style=style,
        steps=tuple(_step(step, prompt) for step in steps),
        phrasings=phrasings if style == "no_tool" else (),
        **answer,
    )


def _step(value: Any, prompt: str) -> Step:
    if not isinstance(value, dict):
        raise ConfigurationError(f"a step is a JSON object, not {value!r:.40}")
    _refuse_unknown(value, {"tool", "arguments", "result", "phrasings", "with_previous"}, "a step")
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ConfigurationError(f"arguments is an object, not {arguments!r:.40}")
    return Step(
        tool=_text(value, "tool"),
        arguments=arguments,
        result=str(value.get("result", "Done")),
        phrasings=_phrasings(value, prompt),
        with_previous=value.get("with_previous") is True,
    )


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"{key!r} is a text that is not empty, not {text!r:.40}")
    return text


def _phrasings(value: dict[str, Any], prompt: str) -> tuple[str, ...]:
    phrasings = value.get("phrasings", [prompt])
    if not isinstance(phrasings, list) or not phrasings or not all(isinstance(p, str) and p.strip() for p in phrasings):
        raise ConfigurationError(f"phrasings is a list of texts, not {phrasings!r:.40}")
    return tuple(phrasings)


def _refuse_unknown(value: dict[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(value.keys() - known):
        raise ConfigurationError(f"{what} has no {', '.join(map(repr, unknown))}; it has {', '.join(sorted(known))}")
