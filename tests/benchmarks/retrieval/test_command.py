"""`toolsearch bench retrieval` on a tiny set: tables, JSON, plots, and one line when something is wrong."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolsearch.benchmarks.retrieval.peers import PEERS, Peer, installed_peers
from toolsearch.benchmarks.retrieval.queries import load_labelled_set
from toolsearch.cli import app
from toolsearch.errors import ConfigurationError

QUICK = ("--no-peers", "--no-memory", "--index", "bm25", "--index", "regex")
TOOLS = [
    {"name": "get_weather", "description": "Weather of a city.", "inputSchema": {"type": "object"}},
    {"name": "send_mail", "description": "Send a message <to> somebody & all.", "input_schema": {"type": "object"}},
    {"type": "function", "function": {"name": "read_file", "description": "Read a file.", "parameters": {}}},
]
QUERIES = [
    {"query": "weather of a city", "relevant": ["get_weather"]},
    {"query": "read a file", "relevant": ["read_file", "send_mail"], "any": True},
    {"query": "zzyzx", "relevant": ["send_mail"], "lang": "xx"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny <set>"
    folder.mkdir()
    (folder / "catalog.jsonl").write_text("\n".join(map(json.dumps, TOOLS)), "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)) + "\n\n", "utf-8")
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["bench", "retrieval", *map(str, arguments)])


def report_of(*arguments: str | Path) -> Any:
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def assert_refused(result: Result, *expected: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    for text in expected:
        assert text in result.stderr


def test_a_folder_gives_quality_and_speed_of_each_index(folder: Path) -> None:
    report = report_of(folder, *QUICK)
    (one,) = report["sets"]
    assert (one["name"], one["tools"], one["queries"]) == ("tiny <set>", 3, 3)
    bm25, regex = one["indexes"]
    assert (bm25["name"], regex["name"]) == ("bm25", "regex")
    assert bm25["recall_1"] == bm25["mrr"] == pytest.approx(2 / 3, abs=1e-5)
    assert bm25["empty"] == 1
    assert 0 < bm25["p50_ms"] <= bm25["p99_ms"]
    assert bm25["build_ms"] > 0
    assert bm25["memory_mb"] is None
    assert report["machine"]["python"]


def test_the_table_has_all_figures_under_their_names(folder: Path) -> None:
    result = run(folder, *QUICK)
    assert result.exit_code == 0
    words = result.stdout.split()
    for heading in (
        "recall@1",
        "recall@5",
        "nDCG@5",
        "hit@1",
        "MRR",
        "p50",
        "p99",
        "build",
        "MB",
        "bm25",
        "regex",
        "66.7",
    ):
        assert heading in words
    assert "3 tools, 3 queries" in result.stdout


def test_several_sets_are_averaged_alike(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "catalog.json").write_text(json.dumps({"tools": TOOLS[:1]}))
    (other / "queries.jsonl").write_text('{"query": "weather", "relevant": ["get_weather"]}')
    report = report_of(folder, other, *QUICK)
    assert report["mean"][0]["recall_5"] == pytest.approx((2 / 3 + 1) / 2, abs=1e-4)
    assert "Average of 2 sets" in run(folder, other, *QUICK).stdout


def test_a_catalogue_and_queries_of_ones_own(folder: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "mine.json"
    catalog.write_text(json.dumps([{"server": "web", "tools": TOOLS}]))
    report = report_of("--catalog", catalog, "--queries", folder / "queries.jsonl", *QUICK)
    assert report["sets"][0]["tools"] == 3
    assert report["sets"][0]["name"] == "mine.json"


def test_memory_is_measured_in_a_process_of_its_own(folder: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the resident set is read from /proc")
    report = report_of(folder, "--no-peers", "--index", "regex")
    assert 0 <= report["sets"][0]["indexes"][0]["memory_mb"] < 100


def test_a_limit_takes_the_same_queries_whatever_their_order(folder: Path) -> None:
    whole = load_labelled_set(folder)
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, reversed(QUERIES))), "utf-8")
    again = load_labelled_set(folder)
    assert whole.sample(2).queries == again.sample(2).queries
    assert whole.queries != again.queries
    assert len(whole.sample(2).queries) == 2
    assert whole.sample(9) is whole
    assert report_of(folder, "--limit", "1", *QUICK)["sets"][0]["queries"] == 1


def test_plots_as_svg_and_as_a_page(folder: Path, tmp_path: Path) -> None:
    svg, page = tmp_path / "plot.svg", tmp_path / "plot.html"
    assert run(folder, *QUICK, "--plot", svg).exit_code == 0
    texts = {element.text for element in ET.parse(svg).iter()}
    assert {"bm25", "regex", "66.7 %", "recall@5"} <= texts
    assert run(folder, *QUICK, "--html", page).exit_code == 0
    assert run(folder, *QUICK, "--plot", tmp_path / "same.html").exit_code == 0
    text = page.read_text("utf-8")
    assert "tiny &lt;set&gt;" in text
    assert "<set>" not in text
    assert text.count("<svg ") == 1
    assert "src=" not in text
    assert "<script" not in text


def test_failed_queries_can_be_listed(folder: Path) -> None:
    result = run(folder, *QUICK, "--failures", "5")
    assert "bm25: 1 query found none of the tools wanted" in result.stdout
    assert "'zzyzx'" in result.stdout
    assert "wanted send_mail" in result.stdout


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "a query is an object"),
        ('{"query": " ", "relevant": ["read_file"]}', '"query"'),
        ('{"query": "x"}', '"relevant"'),
        ('{"query": "x", "relevant": []}', '"relevant"'),
        ('{"query": "x", "relevant": "read_file"}', '"relevant"'),
        ('{"query": "x", "relevant": [1]}', '"relevant"'),
        ('{"query": "x", "relevant": ["read_file"], "any": 1}', '"any"'),
        ('{"query": "x", "relevant": ["nothing"]}', "no tool 'nothing'"),
        ('{"query": "x", "relevant": ["readfile"]}', "the closest names are 'read_file'"),
    ],
)
def test_a_bad_query_is_one_line_with_its_place(folder: Path, line: str, complaint: str) -> None:
    (folder / "queries.jsonl").write_text(f"{json.dumps(QUERIES[0])}\n{line}\n")
    assert_refused(run(folder, *QUICK), "queries.jsonl:2:", complaint)


def test_missing_files_and_flags_are_one_line(folder: Path, tmp_path: Path) -> None:
    assert_refused(run(*QUICK), "--catalog and --queries")
    assert_refused(run("--catalog", folder / "catalog.jsonl", *QUICK), "go together")
    assert_refused(run(tmp_path / "nowhere", *QUICK), "is not a folder")
    assert_refused(run(tmp_path, *QUICK), "holds no catalog.json or catalog.jsonl")
    (folder / "queries.jsonl").write_text("\n")
    assert_refused(run(folder, *QUICK), "holds no queries")
    (folder / "queries.jsonl").unlink()
    assert_refused(run(folder, *QUICK), "queries.jsonl: cannot be read")
    (folder / "catalog.jsonl").write_text("nonsense")
    assert_refused(run(folder, *QUICK), "catalog.jsonl:1:")


def test_unknown_names_and_endings_are_one_line(folder: Path, tmp_path: Path) -> None:
    assert_refused(run(folder, "--index", "magic"), "'magic'")
    assert_refused(run(folder, "--index", "bm25", "--peer", "magic"), "no peer 'magic'", "ratel")
    assert_refused(run(folder, *QUICK, "--plot", tmp_path / "x.gif"), ".svg or .png", ".html")


def test_options_that_would_do_nothing_are_one_line(folder: Path) -> None:
    assert_refused(run(folder, "--no-peers", "--peer", "nope"), "--peer", "--no-peers")
    assert_refused(run(folder, *QUICK, "--embedder", "./nope"), "--embedder", "not of bm25 or regex")


def test_what_is_given_twice_counts_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = report_of(folder, folder.name, f"./{folder.name}/", *QUICK, "--index", "bm25")
    (one,) = report["sets"]
    assert [row["name"] for row in one["indexes"]] == [row["name"] for row in report["mean"]] == ["bm25", "regex"]


def test_a_png_without_the_extra_is_refused_before_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    for command in (["retrieval", str(folder), *QUICK], ["scaling"]):
        result = CliRunner().invoke(app, ["bench", *command, "--plot", str(folder / "x.png")])
        assert_refused(result, "toolsearch[plot]")


def test_without_the_extra_the_indexes_that_need_it_are_left_out_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    result = run(folder, "--no-peers", "--no-memory")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    for name in ("vector", "hybrid"):
        assert f"Left out {name}: Searching by meaning needs the extra 'vector'" in said
    assert_refused(run(folder, "--no-peers", "--index", "hybrid"), "toolsearch[vector]")


@pytest.mark.parametrize("option", ["--json", "--html", "--plot"])
def test_a_report_that_could_not_be_written_is_refused_before_the_run(folder: Path, option: str) -> None:
    missing, taken = folder / "none" / "x.svg", folder / "x.svg"
    taken.mkdir()
    assert_refused(run(folder, *QUICK, option, missing), "cannot be written: there is no folder")
    assert_refused(run(folder, *QUICK, option, taken), "cannot be written: it is a folder")


def test_two_reports_are_not_written_to_one_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the file is called; before the run, so that what is there stays."""
    monkeypatch.chdir(folder)
    said = "cannot be written: another report goes to this file"
    for other in ("x", "./x", folder / "x", "../tiny <set>/x"):
        assert_refused(run(folder, *QUICK, "--json", "x", "--html", other), said)
    assert_refused(run(folder, *QUICK, "--html", "./x.svg", "--plot", "x.svg"), said)
    (folder / "x").write_text("kept")
    (folder / "link").symlink_to("x")
    (folder / "twin").hardlink_to("x")
    for other in ("link", "twin"):
        assert_refused(run(folder, *QUICK, "--json", "x", "--html", other), said)
    assert (folder / "x").read_text() == "kept"


def test_reports_go_to_files_and_standard_output_at_once(folder: Path) -> None:
    report = report_of(folder, *QUICK, "--html", folder / "x.html", "--plot", folder / "x.svg")
    assert report["sets"]
    assert {path.name for path in folder.glob("x.*")} == {"x.html", "x.svg"}


def test_peers_that_are_not_installed_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Peer("absent", "no-such-distribution-anywhere", PEERS["ratel"].prepare)
    broken = Peer("broken", "pytest", PEERS["ratel"].prepare)
    monkeypatch.setattr("toolsearch.benchmarks.retrieval.peers.PEERS", {"absent": absent, "broken": broken})
    monkeypatch.setitem(__import__("sys").modules, "ratel_ai", None)
    usable, skipped = installed_peers()
    assert usable == []
    assert "pip install no-such-distribution-anywhere" in skipped["absent"]
    assert "installed, but failed" in skipped["broken"]
    with pytest.raises(ConfigurationError, match="magic"):
        installed_peers(["magic"])


def test_every_installed_peer_finds_the_tool_that_is_named(folder: Path) -> None:
    usable, skipped = installed_peers()
    assert {peer.name for peer in usable} | skipped.keys() == PEERS.keys()
    tools = load_labelled_set(folder).tools
    for peer in usable:
        assert peer.prepare(tools)()("weather", 2)[0] == "get_weather"
