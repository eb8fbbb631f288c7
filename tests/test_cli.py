"""Command line: tables or JSON, and one line on standard error after an error."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolsearch import Tool, __version__
from toolsearch.cli import app
from toolsearch.tools.collect import name_tools

ROOT = Path(__file__).parent.parent
OUTFIT = ROOT / "benchmarks" / "data" / "outfit_catalog.json"
OUTFIT_TASKS = ROOT / "benchmarks" / "data" / "outfit_tasks.jsonl"
SERVERS = Path(os.environ.get("TOOLSEARCH_SERVERS_ENV", ROOT / ".venv-servers"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(*arguments: str | Path) -> Any:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def assert_refused(result: Result, *expected: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("toolsearch: ")
    for text in expected:
        assert text in result.stderr


def test_version() -> None:
    assert run("--version").stdout == f"toolsearch {__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("search", "--help"), ("bench", "--help")])
def test_help(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 0


def test_search_prints_hits_with_their_matches() -> None:
    result = run("search", "--catalog", OUTFIT, "current weather")
    assert result.exit_code == 0
    assert "weather in name" in result.stdout
    assert "Bm25ToolIndex" in result.stdout


def test_search_as_json_is_the_whole_response() -> None:
    found = answer("search", "--catalog", OUTFIT, "product weather", "-k", "2", "--json", "--index", "regex")
    assert found["total_matches"] > 2
    assert len(found["hits"]) == 2
    assert found["metadata"]["search_type"] == "RegexToolIndex"


def test_search_within_a_category(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    schema = {"type": "object"}
    servers = [{"server": s, "tools": [{"name": f"{s}_read", "inputSchema": schema}]} for s in ("git", "web")]
    path.write_text(json.dumps(servers))
    found = answer("search", "--catalog", path, "read", "--category", "web", "--json")
    assert [hit["name"] for hit in found["hits"]] == ["web_read"]


def test_search_prints_the_reason_for_no_match() -> None:
    result = run("search", "--catalog", OUTFIT, "zzzyx")
    assert result.exit_code == 0
    assert "0 of 0 matches" in result.stdout
    assert "No tool" in result.stdout


def test_markup_in_descriptions_is_text(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "paint", "description": "Paints it [bold]red[/bold] [/]", "inputSchema": {}}]))
    assert "[bold]red[/bold] [/]" in run("search", "--catalog", path, "paint").stdout


def test_invalid_catalog_is_one_line_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text('{"name": "a", "inputSchema": {"type": "object"}}\n{"name": \n')
    assert_refused(run("search", "--catalog", path, "x"), f"{path}:2:", "JSON")
    assert_refused(run("bench", "--catalog", path), f"{path}:2:", "JSON")


def test_invalid_tasks_are_one_line_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"prompt": "x"}\n')
    assert_refused(run("bench", "--catalog", OUTFIT, "--tasks", path), f"{path}:1:")


def test_unknown_index_or_counter_is_one_line() -> None:
    assert_refused(run("search", "--catalog", OUTFIT, "x", "--index", "magic"), "'magic'", "bm25")
    assert_refused(run("bench", "--catalog", OUTFIT, "--counter", "magic"), "'magic'", "o200k_base")


def test_embedder_for_an_index_without_one_is_an_error() -> None:
    message = "--embedder needs the index vector or hybrid, got bm25"
    assert_refused(run("search", "--catalog", OUTFIT, "x", "--embedder", "./nope"), message)
    assert_refused(run("bench", "--catalog", OUTFIT, "--embedder", "./nope"), message)


def test_hybrid_without_the_extra_searches_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as `HybridToolIndex()`. With a model, the missing extra is an error."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    result = run("search", "--catalog", OUTFIT, "current weather", "--index", "hybrid", "--json")
    assert result.exit_code == 0
    assert "weather" in json.loads(result.stdout)["hits"][0]["name"]
    assert result.stderr.count("\n") == 1
    assert "by words only" in result.stderr
    assert "toolsearch[vector]" in result.stderr
    model = ("--embedder", "some-model")
    assert_refused(run("search", "--catalog", OUTFIT, "x", "--index", "hybrid", *model), "toolsearch[vector]")


def test_missing_servers_name_the_install(tmp_path: Path) -> None:
    assert_refused(run("bench", "--servers-env", tmp_path), "make servers", "--catalog")


def test_tasks_without_a_catalog_are_an_error() -> None:
    assert_refused(run("bench", "--tasks", OUTFIT_TASKS), "--catalog")


def test_catalog_without_tasks_prints_size_and_break_even() -> None:
    result = run("bench", "--catalog", OUTFIT, "--index", "bm25", "--counter", "estimate")
    assert result.exit_code == 0
    assert "28 tools" in result.stdout
    assert "search saves tokens once there are" in " ".join(result.stdout.split())


def test_catalog_with_tasks_prints_savings_and_writes_json(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    result = run("bench", "--catalog", OUTFIT, "--tasks", OUTFIT_TASKS, "--index", "bm25", "--json", target)
    assert result.exit_code == 0
    assert "all tools" in result.stdout
    (suite,) = json.loads(target.read_text("utf-8"))["suites"]
    assert suite["tasks"] == 1
    assert suite["strategies"][0]["saving"] > 0.3


def test_json_on_standard_output_is_only_json() -> None:
    report = answer("bench", "--catalog", OUTFIT, "--tasks", OUTFIT_TASKS, "--index", "regex", "--json", "-")
    assert report["suites"][0]["strategies"][0]["name"] == "regex"


def test_unwritable_file_is_one_line(tmp_path: Path) -> None:
    target = tmp_path / "none" / "out.json"
    result = run("bench", "--catalog", OUTFIT, "--index", "bm25", "--counter", "estimate", "--json", target)
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_losses_set_the_exit_code_on_request(tmp_path: Path) -> None:
    catalog, tasks = tmp_path / "tools.json", tmp_path / "tasks.jsonl"
    catalog.write_text(json.dumps([{"name": "ring", "description": "Ring.", "inputSchema": {"type": "object"}}]))
    tasks.write_text('{"prompt": "Ring!", "steps": [{"tool": "ring"}]}\n')
    arguments = ("bench", "--catalog", catalog, "--tasks", tasks, "--index", "bm25")
    assert run(*arguments).exit_code == 0
    lost = run(*arguments, "--fail-on-loss")
    assert lost.exit_code == 1
    assert "more tokens" in lost.stdout
    won = run("bench", "--catalog", OUTFIT, "--tasks", OUTFIT_TASKS, "--index", "bm25", "--fail-on-loss")
    assert won.exit_code == 0


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


DOTTED = {"name": "admin.tools.list", "description": "List the tools.", "inputSchema": {"type": "object"}}


def test_tools_have_the_names_that_a_model_sees(tmp_path: Path) -> None:
    catalog = written(tmp_path / "tools.jsonl", DOTTED, {**DOTTED, "name": "admin/tools/drop"})
    assert answer("bench", "--catalog", catalog, "--index", "bm25", "--json", "-")["suites"][0]["tools"] == 2


@pytest.mark.parametrize("name", ["admin.tools.list", name_tools([Tool.from_definition(DOTTED)])[0].name])
def test_task_names_a_tool_by_its_original_or_sent_name(tmp_path: Path, name: str) -> None:
    catalog = written(tmp_path / "tools.jsonl", DOTTED)
    step = {"tool": name, "phrasings": ["list the tools"]}
    tasks = written(tmp_path / "tasks.jsonl", {"prompt": "Which tools are there?", "steps": [step]})
    report = answer("bench", "--catalog", catalog, "--tasks", tasks, "--index", "bm25", "--json", "-")
    assert report["suites"][0]["strategies"][0]["succeeded"] == 1


def test_reserved_name_is_one_line(tmp_path: Path) -> None:
    catalog = written(tmp_path / "tools.jsonl", {**DOTTED, "name": "tool_search"})
    assert_refused(run("bench", "--catalog", catalog), "'tool_search' is reserved")


def test_unknown_tool_of_a_task_is_one_line_with_the_closest_names(tmp_path: Path) -> None:
    """A typo must not let `--fail-on-loss` succeed without playing a task."""
    known = {"prompt": "What is it like outside?", "steps": [{"tool": "currentTime"}]}
    mistyped = {"prompt": "What is it like outside?", "steps": [{"tool": "curentTime"}]}
    tasks = written(tmp_path / "tasks.jsonl", known, mistyped)
    result = run("bench", "--catalog", OUTFIT, "--tasks", tasks, "--index", "bm25", "--fail-on-loss")
    assert_refused(result, f"{tasks}:2:", "does not have a tool 'curentTime'", "'currentTime'")


def test_fail_on_loss_needs_tasks() -> None:
    assert_refused(run("bench", "--catalog", OUTFIT, "--index", "bm25", "--fail-on-loss"), "--tasks")


@pytest.mark.servers
@pytest.mark.slow
def test_bundled_run_measures_over_a_hundred_tools_of_running_servers(tmp_path: Path) -> None:
    if not SERVERS.is_dir():
        pytest.skip(f"no MCP servers in {SERVERS.name}; `make servers` installs them")
    target = tmp_path / "out.json"
    result = run("bench", "--servers-env", SERVERS, "--index", "bm25", "--json", target)
    assert result.exit_code == 0, result.output
    report = json.loads(target.read_text("utf-8"))
    servers, outfit = report["suites"]
    assert sum(server["tools"] for server in report["servers"]) == servers["tools"] > 100
    assert servers["tasks"] >= 40
    assert servers["strategies"][0]["saving"] > 0.5
    assert outfit["tools"] == 28


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    catalog = tmp_path / "tools.json"
    catalog.write_text(
        json.dumps(
            [
                {
                    "name": "paint",
                    "description": "Paint \x1b[31mred\x07\u202e walls, caf\u00e9\u00a0\U0001f469\u200d\U0001f3a8.",
                }
            ]
        ),
        "utf-8",
    )
    result = CliRunner().invoke(app, ["search", "--catalog", str(catalog), "paint"])
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert "caf\u00e9" in result.output
    assert "\U0001f469\u200d\U0001f3a8" in result.output
