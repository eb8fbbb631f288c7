"""The scaling benchmark on small catalogues: what it measures and how it judges, not how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolsearch.benchmarks.retrieval.baselines import RankBm25, plain_terms
from toolsearch.benchmarks.scaling import command as scaling_command
from toolsearch.benchmarks.scaling import measure as scaling
from toolsearch.benchmarks.scaling.catalogs import Material, grown, made_up_tools, material_from
from toolsearch.benchmarks.scaling.measure import Check
from toolsearch.cli import app
from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, ToolReference

MATERIAL = Material("made-up tools", made_up_tools(30), ("create invoice", "list meetings"), ("create a refund " * 12,))


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
def test_a_target_has_slack_and_then_is_missed(found: Check, verdict: str) -> None:
    assert found.verdict == verdict


def test_made_up_tools_are_many_distinct_and_always_the_same() -> None:
    tools = made_up_tools(400)
    assert len({tool.name for tool in tools}) == len({tool.description for tool in tools}) == 400
    assert [tool.digest for tool in tools] == [tool.digest for tool in made_up_tools(400)]
    with pytest.raises(ConfigurationError, match="not 9999"):
        made_up_tools(9_999)


def test_tools_are_repeated_to_size_under_new_names() -> None:
    tools = grown(MATERIAL.tools, 75)
    assert len({tool.name for tool in tools}) == 75
    assert tools[:30] == MATERIAL.tools
    assert tools[30].description == tools[0].description
    salted = grown(MATERIAL.tools, 75, salt="b")
    assert not {tool.digest for tool in tools} & {tool.digest for tool in salted}


def test_material_is_read_from_a_folder_of_catalogues(tmp_path: Path) -> None:
    for server in ("git", "web"):
        (tmp_path / f"{server}.json").write_text(json.dumps([{"name": "search", "inputSchema": {"type": "object"}}]))
    material = material_from(tmp_path)
    assert [(tool.name, tool.source) for tool in material.tools] == [("search", "git"), ("web_search", "web")]
    assert material.short
    assert max(len(query.split()) for query in material.short) <= 6
    assert min(len(query.split()) for query in material.long) >= 50
    assert material_from(tmp_path / "git.json").tools == material.tools[:1]
    assert material_from(tmp_path / "git.json").name == "tools of git.json"
    with pytest.raises(ConfigurationError, match="holds no catalogue"):
        material_from(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["catalog.json", "catalog.jsonl"])
def test_of_a_folder_with_labelled_queries_the_catalogue_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"name": "search", "inputSchema": {"type": "object"}}))
    (tmp_path / "queries.jsonl").write_text('{"query": "find it", "relevant": ["search"]}')
    assert [tool.name for tool in material_from(tmp_path).tools] == ["search"]


def test_times_of_ones_own_tools_have_no_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They were measured on the bundled tools; what depends on no tools is judged all the same."""
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
    assert "those hold for the bundled tools" in shown.stderr
    found.append(built)
    missed = CliRunner().invoke(app, [*arguments[:-1], str(path.rename(tmp_path / "[bold]tools.json"))])
    assert missed.exit_code == 1
    assert "1 tools of [bold]tools.json" in missed.stdout


def test_everything_is_measured_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rank_bm25")
    monkeypatch.setattr(scaling, "_LONG_TOOLS", 40)
    monkeypatch.setattr(scaling, "_SESSIONS", 50)
    monkeypatch.setattr(scaling, "_SHARED_TOOLS", 20)
    said: list[str] = []
    checks = list(scaling.run_scaling(MATERIAL, [10, 40], progress=said.append))
    assert [c.tools for c in checks if c.what.startswith("cold build")] == [10, 40]
    assert {c.target for c in checks if c.what.startswith("search p50 / rank")} == {4.0}
    assert all(c.value > 0 for c in checks)
    (built,) = [c for c in checks if c.unit == "built"]
    assert built.value == 1
    (held,) = [c for c in checks if c.unit == "bytes"]
    assert held.value < 1_024
    assert len(said) == 11


def test_the_command_prints_and_writes_the_checks_and_sets_the_exit_code(
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


def test_the_plain_baseline_finds_what_it_should() -> None:
    pytest.importorskip("rank_bm25")
    tools = [
        ToolReference(name="get_weather", description="Weather of a city"),
        ToolReference(name="read_file", description="Read a file"),
        ToolReference(name="write_file", description="Write a file"),
    ]
    assert plain_terms("Users' create_issue") == ["users", "create_issue"]
    assert RankBm25(tools).search("the weather", 5) == ["get_weather"]


def test_a_search_by_numpy_answers_like_ours() -> None:
    pytest.importorskip("faiss")
    from toolsearch.benchmarks.retrieval.baselines import NumpySearcher
    from toolsearch.benchmarks.scaling.fake_embedder import MadeUpEmbedder
    from toolsearch.indexes import VectorToolIndex
    from toolsearch.indexes.vector.encode import EmbeddingCache, embed_tools

    embedder = MadeUpEmbedder()
    tools = sorted(made_up_tools(60), key=lambda tool: tool.name)
    rows = embed_tools(embedder, tools, EmbeddingCache())
    ours = VectorToolIndex(embedder).build(tools).search("an invoice")
    theirs = NumpySearcher(tools, embedder, rows).search("an invoice")
    assert ours.names == theirs.names
    assert ours.total_matches == theirs.total_matches


def test_made_up_tools_are_found_by_what_they_do() -> None:
    assert "invoice" in Bm25ToolIndex().build(made_up_tools(480)).search("create an invoice").names[0].lower()
