"""Command `toolsearch bench retrieval` on a small set: tables, JSON, plots, and errors of one line."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolsearch.benchmarks.reports.plots import has_plot_extra
from toolsearch.benchmarks.retrieval.peers import PEERS, Peer, installed_peers
from toolsearch.benchmarks.retrieval.queries import load_labeled_set
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


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a set that no test changes."""
    folder = tmp_path_factory.mktemp("sets") / "tiny <set>"
    folder.mkdir()
    (folder / "catalog.jsonl").write_text("\n".join(map(json.dumps, TOOLS)), "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)) + "\n\n", "utf-8")
    return folder


@pytest.fixture
def folder(shared_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the set to change."""
    return copytree(shared_folder, tmp_path / shared_folder.name)


@pytest.fixture(scope="module")
def table_run(shared_folder: Path) -> str:
    """Return the output of a run that prints tables and failed queries."""
    result = run(shared_folder, *QUICK, "--failures", "5")
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def report_run(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """Return the JSON on standard output and the folder of the other reports of one run."""
    out = tmp_path_factory.mktemp("reports")
    plot = ("--plot", out / "x.svg") if has_plot_extra() else ()
    return report_of(shared_folder, *QUICK, "--html", out / "x.html", *plot), out


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


def test_report_has_quality_and_speed_of_each_index(report_run: tuple[Any, Path]) -> None:
    report, _ = report_run
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


def test_table_has_all_metrics(table_run: str) -> None:
    headings = ["recall@1", "recall@5", "nDCG@5", "hit@1", "MRR", "p50", "p99", "build", "MB"]
    assert {*headings, "bm25", "regex", "66.7"} <= set(table_run.split())
    assert "tiny <set>: 3 tools, 3 queries" in table_run


def test_sets_are_averaged_equally(shared_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "catalog.json").write_text(json.dumps({"tools": TOOLS[:1]}))
    (other / "queries.jsonl").write_text('{"query": "weather", "relevant": ["get_weather"]}')
    result = run(shared_folder, other, *QUICK, "--json", tmp_path / "out.json")
    report = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert report["mean"][0]["recall_5"] == pytest.approx((2 / 3 + 1) / 2, abs=1e-4)
    assert "Average of 2 sets" in result.stdout


def test_catalog_and_queries_as_options(shared_folder: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "mine.json"
    catalog.write_text(json.dumps([{"server": "web", "tools": TOOLS}]))
    report = report_of("--catalog", catalog, "--queries", shared_folder / "queries.jsonl", *QUICK)
    assert report["sets"][0]["tools"] == 3
    assert report["sets"][0]["name"] == "mine.json"


def test_memory_is_measured_in_a_separate_process(shared_folder: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the resident set is read from /proc")
    report = report_of(shared_folder, "--no-peers", "--index", "regex")
    assert 0 <= report["sets"][0]["indexes"][0]["memory_mb"] < 100


def test_limit_takes_the_same_queries_in_any_order(folder: Path) -> None:
    whole = load_labeled_set(folder)
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, reversed(QUERIES))), "utf-8")
    reordered = load_labeled_set(folder)
    assert whole.sample(2).queries == reordered.sample(2).queries
    assert whole.queries != reordered.queries
    assert len(whole.sample(2).queries) == 2
    assert whole.sample(9) is whole
    assert report_of(folder, "--limit", "1", *QUICK)["sets"][0]["queries"] == 1


def test_page_is_written(report_run: tuple[Any, Path]) -> None:
    text = (report_run[1] / "x.html").read_text("utf-8")
    assert "tiny &lt;set&gt;" in text
    assert "<set>" not in text
    assert text.count("<svg ") == int(has_plot_extra())
    assert "src=" not in text
    assert "<script" not in text


@pytest.mark.skipif(not has_plot_extra(), reason="the extra plot is not installed")
def test_plot_is_written(report_run: tuple[Any, Path]) -> None:
    texts = {element.text for element in ET.parse(report_run[1] / "x.svg").iter()}
    assert {"bm25", "regex", "66.7%", "recall@5"} <= texts


def test_several_reports_of_one_run(report_run: tuple[Any, Path]) -> None:
    report, out = report_run
    assert report["sets"]
    assert {path.name for path in out.iterdir()} == ({"x.html", "x.svg"} if has_plot_extra() else {"x.html"})


def test_failed_queries_are_listed_on_request(table_run: str) -> None:
    assert "bm25: 1 query found no relevant tool" in table_run
    assert "'zzyzx'" in table_run
    assert "relevant  send_mail" in table_run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "JSON"),
        ("[]", "a query must be an object"),
        ('{"query": " ", "relevant": ["read_file"]}', '"query"'),
        ('{"query": "x"}', '"relevant"'),
        ('{"query": "x", "relevant": []}', '"relevant"'),
        ('{"query": "x", "relevant": "read_file"}', '"relevant"'),
        ('{"query": "x", "relevant": [1]}', '"relevant"'),
        ('{"query": "x", "relevant": ["read_file"], "any": 1}', '"any"'),
        ('{"query": "x", "relevant": ["nothing"]}', "does not have a tool 'nothing'"),
        ('{"query": "x", "relevant": ["readfile"]}', "the closest names are 'read_file'"),
    ],
)
def test_invalid_query_is_one_line_with_its_place(folder: Path, line: str, message: str) -> None:
    (folder / "queries.jsonl").write_text(f"{json.dumps(QUERIES[0])}\n{line}\n")
    assert_refused(run(folder, *QUICK), "queries.jsonl:2:", message)


def test_missing_file_or_option_is_one_line(folder: Path, tmp_path: Path) -> None:
    assert_refused(run(*QUICK), "--catalog and --queries")
    assert_refused(run("--catalog", folder / "catalog.jsonl", *QUICK), "must be given together")
    assert_refused(run(tmp_path / "nowhere", *QUICK), "must be a folder")
    assert_refused(run(tmp_path, *QUICK), "does not have catalog.json or catalog.jsonl")
    (folder / "queries.jsonl").write_text("\n")
    assert_refused(run(folder, *QUICK), "has no queries")
    (folder / "queries.jsonl").unlink()
    assert_refused(run(folder, *QUICK), "queries.jsonl: cannot be read")
    (folder / "catalog.jsonl").write_text("nonsense")
    assert_refused(run(folder, *QUICK), "catalog.jsonl:1:")


def test_unknown_name_or_suffix_is_one_line(shared_folder: Path, tmp_path: Path) -> None:
    assert_refused(run(shared_folder, "--index", "magic"), "'magic'")
    assert_refused(run(shared_folder, "--index", "bm25", "--peer", "magic"), "'magic'", "ratel")
    assert_refused(run(shared_folder, *QUICK, "--plot", tmp_path / "x.gif"), ".svg or .png", "--html")


def test_option_without_effect_is_one_line(shared_folder: Path) -> None:
    assert_refused(run(shared_folder, "--no-peers", "--peer", "nope"), "--peer", "--no-peers")
    assert_refused(run(shared_folder, *QUICK, "--embedder", "./nope"), "--embedder", "got bm25 and regex")


def test_repeated_sets_and_indexes_count_once(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared_folder.parent)
    name = shared_folder.name
    report = report_of(shared_folder, name, f"./{name}/", *QUICK, "--index", "bm25")
    (one,) = report["sets"]
    assert [row["name"] for row in one["indexes"]] == [row["name"] for row in report["mean"]] == ["bm25", "regex"]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plot_without_the_extra_is_refused_before_the_run(
    shared_folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["retrieval", str(shared_folder), *QUICK], ["scaling"]):
        result = CliRunner().invoke(app, ["bench", *command, "--plot", str(shared_folder / f"x.{suffix}")])
        assert_refused(result, "toolsearch[plot]")


def test_indexes_without_their_extra_are_left_out_with_the_reason(
    shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    result = run(shared_folder, "--no-peers", "--no-memory")
    assert result.exit_code == 0
    output = " ".join(result.stdout.split())
    for name in ("vector", "hybrid"):
        assert f"Left out {name}: Searching by meaning needs the extra 'vector'" in output
    assert_refused(run(shared_folder, "--no-peers", "--index", "hybrid"), "toolsearch[vector]")


@pytest.mark.parametrize("option", ["--json", "--html", "--plot"])
def test_unwritable_report_is_refused_before_the_run(folder: Path, option: str) -> None:
    if option == "--plot" and not has_plot_extra():
        pytest.skip("the extra plot is not installed")
    missing, taken = folder / "none" / "x.svg", folder / "x.svg"
    taken.mkdir()
    assert_refused(run(folder, *QUICK, option, missing), "cannot be written: the folder", "does not exist")
    assert_refused(run(folder, *QUICK, option, taken), "cannot be written: it is a folder")


def test_two_reports_with_one_file_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may be spelled in any way. The check is before the run, so an existing file stays as it is."""
    monkeypatch.chdir(folder)
    message = "cannot be written: another report has the same file"
    for other in ("x", "./x", folder / "x", "../tiny <set>/x"):
        assert_refused(run(folder, *QUICK, "--json", "x", "--html", other), message)
    if has_plot_extra():
        assert_refused(run(folder, *QUICK, "--html", "./x.svg", "--plot", "x.svg"), message)
    (folder / "x").write_text("kept")
    (folder / "link").symlink_to("x")
    (folder / "twin").hardlink_to("x")
    for other in ("link", "twin"):
        assert_refused(run(folder, *QUICK, "--json", "x", "--html", other), message)
    assert (folder / "x").read_text() == "kept"


def test_missing_peers_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Peer("absent", "no-such-distribution-anywhere", PEERS["ratel"].prepare)
    broken = Peer("broken", "pytest", PEERS["ratel"].prepare)
    monkeypatch.setattr("toolsearch.benchmarks.retrieval.peers.PEERS", {"absent": absent, "broken": broken})
    monkeypatch.setitem(sys.modules, "ratel_ai", None)
    usable, skipped = installed_peers()
    assert usable == []
    assert "pip install no-such-distribution-anywhere" in skipped["absent"]
    assert "installed, but failed" in skipped["broken"]
    with pytest.raises(ConfigurationError, match="magic"):
        installed_peers(["magic"])


def test_every_installed_peer_finds_a_named_tool(shared_folder: Path) -> None:
    usable, skipped = installed_peers()
    assert {peer.name for peer in usable} | skipped.keys() == PEERS.keys()
    tools = load_labeled_set(shared_folder).tools
    for peer in usable:
        assert peer.prepare(tools)()("weather", 2)[0] == "get_weather"
