"""HTML report of a savings run: complete, in one file, and with every name as text."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toolsearch.benchmarks.reports.plots import has_plot_extra
from toolsearch.benchmarks.savings.html_report import savings_html
from toolsearch.cli import app

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
EVIL = "<script>alert('&')</script>\ud800"
VOID = {"meta"}
SVG = "{http://www.w3.org/2000/svg}"

needs_plots = pytest.mark.skipif(not has_plot_extra(), reason="the extra plot is not installed")


class Page(HTMLParser):
    """Tags, attributes and words of a page, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every tag is closed"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def run(*arguments: Any) -> None:
    result = CliRunner().invoke(app, ["bench", *map(str, arguments), "--counter", "estimate"])
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return the JSON and the page of one run of the command."""
    folder = tmp_path_factory.mktemp("report")
    tasks = ["--catalog", DATA / "outfit_catalog.json", "--tasks", DATA / "outfit_tasks.jsonl", "--index", "bm25"]
    run(*tasks, "--json", folder / "out.json", "--html", folder / "out.html")
    return json.loads((folder / "out.json").read_text("utf-8")), (folder / "out.html").read_text("utf-8")


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return the suite and the page of a catalog without tasks: 40 tools of two sources."""
    return sizes_of(
        tmp_path_factory.mktemp("sizes"),
        *(definition(f"tool_{n}", n, server=f"server {n % 2}") for n in range(1, 41)),
    )


def sizes_of(folder: Path, *definitions: str) -> tuple[dict[str, Any], str]:
    """Return the suite and the page of a catalog without tasks."""
    (folder / "tools.jsonl").write_bytes("".join(definitions).encode("utf-8", "surrogatepass"))
    run("--catalog", folder / "tools.jsonl", "--json", folder / "out.json", "--html", folder / "out.html")
    (suite,) = json.loads((folder / "out.json").read_text("utf-8"))["suites"]
    return suite, (folder / "out.html").read_text("utf-8")


def definition(name: str, words: int = 1, **fields: Any) -> str:
    tool = {"name": name, "description": "word " * words, "inputSchema": {"type": "object"}, **fields}
    return json.dumps(tool) + "\n"


def plots(text: str) -> dict[str, list[str]]:
    """Return the texts of each plot of a page by its title."""
    elements = [ET.fromstring(f"<svg {part.split('</svg>')[0]}</svg>") for part in text.split("<svg ")[1:]]
    return {svg.findtext(f"{SVG}title", ""): [t.text or "" for t in svg.iter(f"{SVG}text")] for svg in elements}


def test_page_has_the_values_of_the_run(report: tuple[dict[str, Any], str]) -> None:
    (suite,) = report[0]["suites"]
    page = Page(report[1])
    for row in (suite["baseline"], *suite["strategies"]):
        assert f"{row['total'] / row['tasks']:,.0f}" in page.words
    assert f"{suite['strategies'][0]['saving']:.0%}" in page.words
    assert "bm25" in page.words


@needs_plots
def test_page_has_plots_with_the_values_of_the_run(report: tuple[dict[str, Any], str]) -> None:
    (suite,) = report[0]["suites"]
    found = plots(report[1])
    assert len(found) == 4
    bars = found[f"{suite['name']}: averages per task"]
    assert bars.count("bm25") == bars.count("all tools") == 6, "a bar in each of six panels"
    assert f"{suite['baseline']['total']:,.0f}" in bars


def test_page_needs_no_other_file(report: tuple[dict[str, Any], str]) -> None:
    page = Page(report[1])
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    links = {name: value or "" for name, value in page.attributes if name in ("src", "href", "xlink:href", "onload")}
    assert all(value.startswith("#") for value in links.values())
    assert "url(" not in report[1].replace("url(#", "")
    assert "@import" not in report[1]


def test_ids_of_plots_are_not_repeated(report: tuple[dict[str, Any], str]) -> None:
    ids = [value for name, value in Page(report[1]).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_without_the_extra_the_page_has_tables_and_names_the_install(
    report: tuple[dict[str, Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(savings_html(report[0]))
    assert "svg" not in page.tags
    assert page.tags.count("table") == Page(report[1]).tags.count("table")
    assert "pip install 'toolsearch[plot]'" in " ".join(page.words)
    assert "toolsearch[plot]" not in report[1] or not has_plot_extra()


def test_names_are_escaped(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    (suite,) = changed["suites"]
    suite["name"] = suite["note"] = suite["strategies"][0]["name"] = EVIL
    suite["skipped"] = [EVIL]
    suite["losses"] = [
        {"strategy": EVIL, "task": EVIL, "style": "named", "reason": "failed", "tokens": 9, "tokens_all_tools": 1}
    ]
    changed["servers"] = [{"name": EVIL, "distribution": EVIL, "version": EVIL, "tools": 0, "error": EVIL}]
    changed["machine"]["processor"] = EVIL
    text = savings_html(changed)
    text.encode("utf-8")
    assert "script" not in Page(text).tags
    assert "&lt;script&gt;" in text
    assert "<script>" not in text


def test_catalog_without_tasks_has_tables_of_its_sizes(sizes: tuple[dict[str, Any], str]) -> None:
    suite, text = sizes
    assert [row["name"] for row in suite["strategies"]] == ["bm25"], "no model is loaded to count definitions"
    page = Page(text)
    largest = suite["definitions"]["largest"]
    assert [tool["name"] for tool in largest] == [f"tool_{n}" for n in range(40, 20, -1)]
    assert f"{suite['definition_tokens']:,}" in page.words
    assert f"{largest[0]['tokens']:,}" in page.words


@needs_plots
def test_catalog_without_tasks_has_plots_of_its_sizes(sizes: tuple[dict[str, Any], str]) -> None:
    found = plots(sizes[1])
    assert list(found) == ["Tokens of a task with one call", "Tokens of definitions", "Definitions in one request"]
    assert {"the 20 largest tools", "tool_40", "sources", "server 0", "server 1"} <= set(found["Tokens of definitions"])
    assert "tool_20" not in found["Tokens of definitions"]


def test_tokens_of_a_request_grow_with_the_revealed_tools(sizes: tuple[dict[str, Any], str]) -> None:
    """With all tools revealed, a request has the tokens of all definitions and of the search tool."""
    suite, _ = sizes
    found, total = suite["definitions"], suite["definition_tokens"]
    none, *_, every = found["revealed"]
    assert none == {"tools": 0, "average": found["search_tool"], "largest": found["search_tool"]}
    assert every["tools"] == suite["tools"]
    assert every["largest"] == pytest.approx(every["average"]) == pytest.approx(total + found["search_tool"], rel=0.01)
    by_count = {point["tools"]: point["largest"] for point in found["revealed"]}
    assert all((tokens < total) == (count <= found["cheaper_up_to"]) for count, tokens in by_count.items())
    assert all(point["average"] <= point["largest"] for point in found["revealed"][1:-1])


def test_plotted_costs_cross_at_the_break_even(tmp_path: Path) -> None:
    suite, _ = sizes_of(tmp_path, *(definition(f"tool_{n}", 60) for n in range(40)))
    found = suite["break_even"]
    assert 1 < found["tools"] < 40
    for size in found["sizes"]:
        assert (size["with_search"] < size["with_all"]) == (size["tools"] >= found["tools"])
    assert found["sizes"][-1] == {"tools": 40, "with_all": found["with_all"], "with_search": found["with_search"]}


def test_catalog_of_one_tool_has_a_report(tmp_path: Path) -> None:
    _, text = sizes_of(tmp_path, definition("ping"))
    assert "with 1 tool (" in text
    assert "1 tools" not in text
    assert "Tokens of a task with one call" not in plots(text), "a line needs two points"


def test_names_and_sources_of_a_catalog_are_text(tmp_path: Path) -> None:
    tools = [
        definition("größe <b>&\"'", server=EVIL),
        definition("ツール検索" * 9, server="検索" * 40),
        definition("plain"),
    ]
    page = Page(sizes_of(tmp_path, *tools)[1])
    assert not {"b", "script"} & set(page.tags)
    assert "<script>alert('&')</script>\ufffd" in " ".join(page.words)
    assert "(no source)" in " ".join(page.words)
    assert "検索" * 40 in " ".join(page.words), "the table has the whole name, which the plot cuts"


def test_report_without_sizes_has_a_page(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    suite = changed["suites"][0]
    suite |= {"tasks": 0, "break_even": None}
    del suite["definitions"]
    page = Page(savings_html(changed))
    assert "28" in page.words
    assert "svg" not in page.tags


def test_styles_have_separate_tables(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    (suite,) = changed["suites"]
    for row in (suite["baseline"], *suite["strategies"]):
        row["styles"]["paraphrase"] = row["styles"]["named"]
    assert "without any word of the tool name" in " ".join(Page(savings_html(changed)).words)


def test_unwritable_report_is_an_error_of_one_line(tmp_path: Path) -> None:
    arguments = ["bench", "--catalog", DATA / "outfit_catalog.json", "--index", "bm25", "--counter", "estimate"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--html", str(tmp_path / "none" / "out.html")])
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
