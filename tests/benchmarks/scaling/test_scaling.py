"""Scaling benchmark on small catalogs: checks and verdicts, not speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolsearch.benchmarks.retrieval.baselines import RankBm25, plain_terms
from toolsearch.benchmarks.scaling import command as scaling_command
from toolsearch.benchmarks.scaling import measure as scaling
from toolsearch.benchmarks.scaling.catalogs import Material, generate_tools, load_material, repeat_tools
from toolsearch.benchmarks.scaling.checks import Check
from toolsearch.cli import app
from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, ToolReference

MATERIAL = Material(
    "generated tools", generate_tools(30), ("create invoice", "list meetings"), ("create a refund " * 12,)
)


def check(value: float, target: float | None = 1.0, slack: float = 1.5) -> Check:
    return Check(what="x", tools=1, value=value, target=target, slack=slack)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (check(1.0), "ok"),
        (check(1.2), "slack"),
        (check(1.6), "missed"),
        (check(9, None), ""),
        (check(2, 1, 1), "missed"),
    ],
)
def test_verdict_of_a_check(found: Check, verdict: str) -> None:
    assert found.verdict == verdict


def test_generated_tools_are_distinct_and_reproducible() -> None:
    tools = generate_tools(400)
    assert len({tool.name for tool in tools}) == len({tool.description for tool in tools}) == 400
    assert [tool.digest for tool in tools] == [tool.digest for tool in generate_tools(400)]
    with pytest.raises(ConfigurationError, match="got 9999"):
        generate_tools(9_999)


def test_tools_are_repeated_to_size_with_new_names() -> None:
    tools = repeat_tools(MATERIAL.tools, 75)
    assert len({tool.name for tool in tools}) == 75
    assert tools[:30] == MATERIAL.tools
    assert tools[30].description == tools[0].description
    salted = repeat_tools(MATERIAL.tools, 75, salt="b")
    assert not {tool.digest for tool in tools} & {tool.digest for tool in salted}


def test_material_is_read_from_a_folder_of_catalogs(tmp_path: Path) -> None:
    for server in ("git", "web"):
        (tmp_path / f"{server}.json").write_text(json.dumps([{"name": "search", "inputSchema": {"type": "object"}}]))
    material = load_material(tmp_path)
    assert [(tool.name, tool.source) for tool in material.tools] == [("search", "git"), ("web_search", "web")]
    assert material.short
    assert max(len(query.split()) for query in material.short) <= 6
    assert min(len(query.split()) for query in material.long) >= 50
    assert load_material(tmp_path / "git.json").tools == material.tools[:1]
    assert load_material(tmp_path / "git.json").name == "tools of git.json"
    with pytest.raises(ConfigurationError, match="must be a catalog"):
        load_material(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["catalog.json", "catalog.jsonl"])
def test_only_the_catalog_of_a_labeled_set_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"name": "search", "inputSchema": {"type": "object"}}))
    (tmp_path / "queries.jsonl").write_text('{"query": "find it", "relevant": ["search"]}')
    assert [tool.name for tool in load_material(tmp_path).tools] == ["search"]


def test_times_of_other_tools_have_no_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The time targets were measured on the bundled tools. Checks that do not depend on tools keep their targets."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "search", "inputSchema": {"type": "object"}}]))
    held = Check(what="held", tools=1, value=1, target=1_024, unit="bytes")
    built = Check(what="built", tools=1, value=2, target=1, unit="built", slack=1)
    found = [check(14, 8), Check(what="long", tools=1, value=9, target=3, unit="ms"), held]
    monkeypatch.setattr(scaling_command, "run_scaling", lambda *_, **__: iter(found))
    arguments = ["bench", "scaling", "--check", "--tools", str(path)]
    shown = CliRunner().invoke(app, [*arguments, "--json", "-"])
    assert shown.exit_code == 0
    assert [row["target"] for row in json.loads(shown.stdout)["checks"]] == [None, None, 1_024]
    assert "measured on the bundled tools" in shown.stderr
    found.append(built)
    missed = CliRunner().invoke(app, [*arguments[:-1], str(path.rename(tmp_path / "[bold]tools.json"))])
    assert missed.exit_code == 1
    assert "1 tools of [bold]tools.json" in missed.stdout


def test_everything_is_measured_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rank_bm25")
    monkeypatch.setattr(scaling, "_LONG_QUERY_TOOLS", 40)
    monkeypatch.setattr(scaling, "_SESSIONS", 50)
    monkeypatch.setattr(scaling, "_SESSION_TOOLS", 20)
    progress: list[str] = []
    checks = list(scaling.run_scaling(MATERIAL, [10, 40], progress=progress.append))
    assert [c.tools for c in checks if c.what.startswith("build")] == [10, 40]
    assert {c.target for c in checks if c.what.startswith("search / rank")} == {4.0}
    assert all(c.value > 0 for c in checks)
    (built,) = [c for c in checks if c.unit == "built"]
    assert built.value == 1
    (held,) = [c for c in checks if c.unit == "bytes"]
    assert held.value < 1_024
    assert len(progress) == 11


def test_command_prints_and_writes_checks_and_sets_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scaling_command, "run_scaling", lambda *_, **__: iter([check(1.0), check(2.0)]))
    target = tmp_path / "out.json"
    shown = CliRunner().invoke(app, ["bench", "scaling", "--json", str(target)])
    assert shown.exit_code == 0
    assert "missed" in shown.stdout
    report = json.loads(target.read_text("utf-8"))
    assert [row["verdict"] for row in report["checks"]] == ["ok", "missed"]
    monkeypatch.setattr(scaling_command, "run_scaling", lambda *_, **__: iter([check(1.0), check(2.0)]))
    plot = tmp_path / "out.svg"
    assert CliRunner().invoke(app, ["bench", "scaling", "--check", "--plot", str(plot)]).exit_code == 1
    assert "2.000, target 1.000" in plot.read_text("utf-8")
    lost = CliRunner().invoke(app, ["bench", "scaling", "--tools", str(tmp_path / "nowhere")])
    assert lost.exit_code == 2
    assert lost.stderr.count("\n") == 1


def test_rank_bm25_baseline_finds_a_tool() -> None:
    pytest.importorskip("rank_bm25")
    tools = [
        ToolReference(name="get_weather", description="Weather of a city"),
        ToolReference(name="read_file", description="Read a file"),
        ToolReference(name="write_file", description="Write a file"),
    ]
    assert plain_terms("Users' create_issue") == ["users", "create_issue"]
    assert RankBm25(tools).search("the weather", 5) == ["get_weather"]


def test_numpy_search_equals_vector_search() -> None:
    pytest.importorskip("faiss")
    from toolsearch.benchmarks.retrieval.baselines import NumpySearcher
    from toolsearch.benchmarks.scaling.random_embedder import RandomEmbedder
    from toolsearch.indexes import VectorToolIndex
    from toolsearch.indexes.vector.encode import EmbeddingCache, embed_tools

    embedder = RandomEmbedder()
    tools = sorted(generate_tools(60), key=lambda tool: tool.name)
    rows = embed_tools(embedder, tools, EmbeddingCache())
    found = VectorToolIndex(embedder).build(tools).search("an invoice")
    expected = NumpySearcher(tools, embedder, rows).search("an invoice")
    assert found.names == expected.names
    assert found.total_matches == expected.total_matches


def test_generated_tools_are_found_by_their_purpose() -> None:
    assert "invoice" in Bm25ToolIndex().build(generate_tools(480)).search("create an invoice").names[0].lower()
