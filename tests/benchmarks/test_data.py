"""The bundled tasks and catalogues keep the promises that the benchmark's page makes for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from toolsearch.benchmarks.reports.readme import rewrite

DATA = files("toolsearch.benchmarks") / "data"
FUNCTION_WORDS = {"a", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to"}
SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "er", "ies", "es", "ed", "s", "e", "y")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]


def stems(text: str) -> set[str]:
    """Word stems, cut harder than any index does, so that a kinship is found rather than missed."""

    def stem(word: str) -> str:
        cut = next((word[: -len(s)] for s in SUFFIXES if word.endswith(s) and len(word) - len(s) >= 3), word)
        return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] else cut

    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return {stem(word) for word in re.findall(r"[a-z]+", split.lower()) if word not in FUNCTION_WORDS}


@pytest.fixture(scope="module")
def tasks() -> list[dict[str, Any]]:
    return lines("tasks.jsonl")


@pytest.fixture(scope="module")
def listing() -> dict[str, list[str]]:
    return json.loads((DATA / "server_tools.json").read_text("utf-8"))


def steps(tasks: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for task in tasks:
        for step in task["steps"]:
            yield task, step


def test_there_are_enough_tasks_of_every_style(tasks: list[dict[str, Any]]) -> None:
    styles = Counter(task["style"] for task in tasks)
    assert len(tasks) >= 45
    assert styles["paraphrase"] >= 10
    assert styles["no_tool"] == 5
    assert set(styles) == {"named", "paraphrase", "no_tool"}


def test_every_task_has_an_id_a_prompt_and_one_to_three_calls(tasks: list[dict[str, Any]]) -> None:
    assert len({task["id"] for task in tasks}) == len(tasks)
    for task in tasks:
        assert task["prompt"].strip()
        assert len(task["steps"]) in ({0} if task["style"] == "no_tool" else {1, 2, 3}), task["id"]


def test_every_search_has_several_phrasings(tasks: list[dict[str, Any]]) -> None:
    for task, step in steps(tasks):
        assert len(set(step["phrasings"])) >= 2, task["id"]
    for task in tasks:
        if task["style"] == "no_tool":
            assert len(set(task["phrasings"])) >= 2, task["id"]


def test_every_tool_of_a_task_was_listed_by_a_server(
    tasks: list[dict[str, Any]], listing: dict[str, list[str]]
) -> None:
    known = {name for names in listing.values() for name in names}
    assert {step["tool"] for _, step in steps(tasks)} <= known


def test_tasks_use_every_server_but_lean_on_none(tasks: list[dict[str, Any]], listing: dict[str, list[str]]) -> None:
    home = {name: server for server, names in listing.items() for name in names}
    used = Counter(home[step["tool"]] for _, step in steps(tasks))
    assert len(used) >= len(listing) - 1
    assert max(used.values()) < sum(used.values()) / 2


def test_losing_any_one_server_leaves_over_a_hundred_tools(listing: dict[str, list[str]]) -> None:
    total = sum(map(len, listing.values()))
    assert total - max(map(len, listing.values())) > 100


def test_paraphrased_tasks_hold_no_word_of_their_tool(tasks: list[dict[str, Any]]) -> None:
    for task, step in steps([task for task in tasks if task["style"] == "paraphrase"]):
        shared = stems(step["tool"]) & stems(" ".join([task["prompt"], *step["phrasings"]]))
        assert not shared, (task["id"], step["tool"], shared)


def test_the_servers_file_describes_what_the_requirements_pin(listing: dict[str, list[str]]) -> None:
    servers = json.loads((DATA / "servers.json").read_text("utf-8"))["servers"]
    pinned = {line.split("==")[0] for line in (DATA / "servers.txt").read_text().splitlines() if "==" in line}
    assert {server["name"] for server in servers} == set(listing)
    assert {server["distribution"] for server in servers} <= pinned


def test_the_published_task_has_its_three_tools_among_twenty_eight() -> None:
    tools = {
        t["function"]["name"]: t["function"] for t in json.loads((DATA / "outfit_catalog.json").read_text("utf-8"))
    }
    (task,) = lines("outfit_tasks.jsonl")
    assert len(tools) == 28
    assert {step["tool"] for step in task["steps"]} == {"weather", "clothing", "currentTime"} <= set(tools)
    assert all(40 <= len(tool["description"].split()) <= 60 for tool in tools.values())


def test_the_calls_of_the_published_task_are_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    tools = {
        t["function"]["name"]: t["function"] for t in json.loads((DATA / "outfit_catalog.json").read_text("utf-8"))
    }
    for _, step in steps(lines("outfit_tasks.jsonl")):
        jsonschema.validate(step["arguments"], tools[step["tool"]]["parameters"])


def test_the_readme_shows_the_committed_results() -> None:
    root = Path(__file__).parents[2]
    results = root / "benchmarks" / "results" / "savings.json"
    page = (root / "README.md").read_text("utf-8")
    assert rewrite(page, json.loads(results.read_text("utf-8"))) == page


def test_the_committed_results_are_of_over_a_hundred_tools_and_list_every_task(tasks: list[dict[str, Any]]) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "savings.json"
    report = json.loads(path.read_text("utf-8"))
    servers, outfit = report["suites"]
    assert servers["tools"] == sum(server["tools"] for server in report["servers"]) > 100
    assert [run["task"] for run in servers["baseline"]["runs"]] == [task["id"] for task in tasks]
    assert outfit["tools"] == 28
