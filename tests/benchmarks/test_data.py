"""The bundled tasks and catalogs have the properties that the documentation of the benchmark states."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from toolsearch.benchmarks.reports.readme import rewrite_page

DATA = files("toolsearch.benchmarks") / "data"
FUNCTION_WORDS = {"a", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to"}
SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "er", "ies", "es", "ed", "s", "e", "y")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]


def stems(text: str) -> set[str]:
    """Return word stems, cut shorter than by any index, so that related words are found."""

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


def test_every_style_has_enough_tasks(tasks: list[dict[str, Any]]) -> None:
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


def test_every_tool_of_a_task_is_listed_by_a_server(tasks: list[dict[str, Any]], listing: dict[str, list[str]]) -> None:
    known = {name for names in listing.values() for name in names}
    assert {step["tool"] for _, step in steps(tasks)} <= known


def test_tasks_use_all_servers_evenly(tasks: list[dict[str, Any]], listing: dict[str, list[str]]) -> None:
    home = {name: server for server, names in listing.items() for name in names}
    used = Counter(home[step["tool"]] for _, step in steps(tasks))
    assert len(used) >= len(listing) - 1
    assert max(used.values()) < sum(used.values()) / 2


def test_without_any_one_server_over_a_hundred_tools_remain(listing: dict[str, list[str]]) -> None:
    total = sum(map(len, listing.values()))
    assert total - max(map(len, listing.values())) > 100


def test_paraphrased_tasks_have_no_word_of_their_tool(tasks: list[dict[str, Any]]) -> None:
    for task, step in steps([task for task in tasks if task["style"] == "paraphrase"]):
        shared = stems(step["tool"]) & stems(" ".join([task["prompt"], *step["phrasings"]]))
        assert not shared, (task["id"], step["tool"], shared)


def test_described_servers_are_pinned(listing: dict[str, list[str]]) -> None:
    servers = json.loads((DATA / "servers.json").read_text("utf-8"))["servers"]
    pinned = {line.split("==")[0] for line in (DATA / "servers.txt").read_text().splitlines() if "==" in line}
    assert {server["name"] for server in servers} == set(listing)
    assert {server["distribution"] for server in servers} <= pinned


def test_published_task_has_three_tools_among_twenty_eight() -> None:
    tools = {
        t["function"]["name"]: t["function"] for t in json.loads((DATA / "outfit_catalog.json").read_text("utf-8"))
    }
    (task,) = lines("outfit_tasks.jsonl")
    assert len(tools) == 28
    assert {step["tool"] for step in task["steps"]} == {"weather", "clothing", "currentTime"} <= set(tools)
    assert all(40 <= len(tool["description"].split()) <= 60 for tool in tools.values())


def test_calls_of_the_published_task_are_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    tools = {
        t["function"]["name"]: t["function"] for t in json.loads((DATA / "outfit_catalog.json").read_text("utf-8"))
    }
    for _, step in steps(lines("outfit_tasks.jsonl")):
        jsonschema.validate(step["arguments"], tools[step["tool"]]["parameters"])


def test_readme_shows_the_committed_results() -> None:
    root = Path(__file__).parents[2]
    results = root / "benchmarks" / "results" / "savings.json"
    page = (root / "README.md").read_text("utf-8")
    assert rewrite_page(page, json.loads(results.read_text("utf-8"))) == page


def test_committed_results_have_every_task_and_over_a_hundred_tools(tasks: list[dict[str, Any]]) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "savings.json"
    report = json.loads(path.read_text("utf-8"))
    servers, outfit = report["suites"]
    assert servers["tools"] == sum(server["tools"] for server in report["servers"]) > 100
    assert [run["task"] for run in servers["baseline"]["runs"]] == [task["id"] for task in tasks]
    assert outfit["tools"] == 28
