"""Tasks to replay: a user request, the tool calls that serve it, and the searches a model makes for each tool.

A file has one task per line (JSONL)::

    {"id": "t1", "prompt": "What time is it in Gouda?", "style": "named",
     "steps": [{"tool": "get_current_time", "arguments": {"timezone": "Europe/Amsterdam"}, "result": "15:04",
                "phrasings": ["current time in a city", "time now"], "with_previous": false}],
     "answer": "It is four past three."}

``style`` is ``named``, ``paraphrase`` (the request has no word of the tool's name) or ``no_tool`` (no tool fits: the
task has no steps, only ``phrasings``). With ``with_previous``, a call may be made in the same round as the one before.
Only ``prompt``, ``steps`` and their ``tool`` are required. A step without ``phrasings`` is searched for by the prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from ...errors import ConfigurationError
from ...text import short_repr
from ...tools.catalog_file import read_json_lines
from ...tools.names import closest_names
from ...tools.tool_type import Tool

__all__ = ["Step", "Style", "Task", "load_tasks"]

Style: TypeAlias = Literal["named", "paraphrase", "no_tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Tool call of a task.

    Args:
        tool: Name of the tool in the catalog.
        arguments: Arguments of the call.
        result: Result of the call. The tool does not run.
        phrasings: Queries that a model would search for the tool with, the most natural first.
        with_previous: The call does not need the result of the previous step and may be made in the same round.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = "Done"
    phrasings: tuple[str, ...]
    with_previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """User request with the tool calls that serve it.

    Args:
        id: Name of the task in reports.
        prompt: The user's message.
        style: Relation between the words of the prompt and the names of the tools.
        steps: The tool calls in order. Empty if no tool fits.
        phrasings: If no tool fits, the queries that a model searches with.
        answer: The final answer of the model.
    """

    id: str
    prompt: str
    style: Style = "named"
    steps: tuple[Step, ...] = ()
    phrasings: tuple[str, ...] = ()
    answer: str = "That is done. Is there anything else you would like me to do?"


def load_tasks(
    path: str | Path, tools: Iterable[Tool] | None = None, *, accept_unknown: bool = False
) -> tuple[Task, ...]:
    """Read a file of tasks.

    Args:
        path: The file.
        tools: The catalog. A step may name a tool by its original name or by the name that the model sees; the result
            has the latter. Without a catalog, names are not checked.
        accept_unknown: Whether a step may name a tool that the catalog does not have, e.g. of a server that did not
            start. By default this is an error.

    Raises:
        ConfigurationError: The file cannot be read, or a task is invalid or names an unknown tool. The message has the
            file and the line.
    """
    sent = None if tools is None else _sent_names(tools)
    tasks: dict[str, Task] = {}
    for number, value in read_json_lines(path):
        try:
            task = _task(value, number)
            if sent is not None:
                task = replace(task, steps=tuple(_with_sent_name(step, sent, accept_unknown) for step in task.steps))
            if task.id in tasks:
                raise ConfigurationError(f"id must be unique, got {task.id!r} twice")
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}:{number}: {error}") from error
        tasks[task.id] = task
    if not tasks:
        raise ConfigurationError(f"{path}: the file has no tasks; expected one JSON object per line")
    return tuple(tasks.values())


def _sent_names(tools: Iterable[Tool]) -> dict[str, str]:
    """Map the original and the sent name of each tool to the name that is sent.

    An original name that several servers use does not tell which tool is meant, so it is left out.
    """
    listed = tuple(tools)
    uses = Counter(tool.original_name for tool in listed)
    originals = {tool.original_name: tool.name for tool in listed if uses[tool.original_name] == 1}
    return originals | {tool.name: tool.name for tool in listed}


def _with_sent_name(step: Step, sent: Mapping[str, str], accept_unknown: bool) -> Step:
    if step.tool not in sent and accept_unknown:
        return step
    if step.tool not in sent:
        closest = ", ".join(map(repr, closest_names(step.tool, sent)))
        hint = f"; the closest names are {closest}" if closest else ""
        raise ConfigurationError(f"the catalog does not have a tool {step.tool!r}{hint}")
    return replace(step, tool=sent[step.tool])


def _task(value: Any, number: int) -> Task:
    if not isinstance(value, dict):
        raise ConfigurationError(f"a task must be a JSON object, got {short_repr(value, 40)}")
    known = {"id", "prompt", "style", "steps", "phrasings", "answer"}
    _validate_keys(value, known, "a task")
    style = value.get("style", "named")
    if style not in get_args(Style):
        raise ConfigurationError(f"style must be one of {', '.join(get_args(Style))}, got {style!r}")
    prompt = _string(value, "prompt")
    steps = value.get("steps", [])
    if not isinstance(steps, list) or bool(steps) == (style == "no_tool"):
        raise ConfigurationError("steps must be a list of at least one call, or left out in a task of style no_tool")
    phrasings = _phrasings(value, prompt)
    answer = {"answer": _string(value, "answer")} if "answer" in value else {}
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
        raise ConfigurationError(f"a step must be a JSON object, got {short_repr(value, 40)}")
    _validate_keys(value, {"tool", "arguments", "result", "phrasings", "with_previous"}, "a step")
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ConfigurationError(f"arguments must be a JSON object, got {short_repr(arguments, 40)}")
    return Step(
        tool=_string(value, "tool"),
        arguments=arguments,
        result=str(value.get("result", "Done")),
        phrasings=_phrasings(value, prompt),
        with_previous=value.get("with_previous") is True,
    )


def _string(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"{key} must be a non-empty string, got {short_repr(text, 40)}")
    return text


def _phrasings(value: dict[str, Any], prompt: str) -> tuple[str, ...]:
    phrasings = value.get("phrasings", [prompt])
    if not isinstance(phrasings, list) or not phrasings or not all(isinstance(p, str) and p.strip() for p in phrasings):
        raise ConfigurationError(f"phrasings must be a list of non-empty strings, got {short_repr(phrasings, 40)}")
    return tuple(phrasings)


def _validate_keys(value: dict[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(value.keys() - known):
        raise ConfigurationError(
            f"{what} does not have {', '.join(map(repr, unknown))}; its keys are {', '.join(sorted(known))}"
        )
