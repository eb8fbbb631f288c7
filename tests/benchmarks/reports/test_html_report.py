"""The HTML report of a savings run: whole, self-contained, and nothing in it is taken for markup."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toolsearch.benchmarks.savings.html import savings_html
from toolsearch.cli import app

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
EVIL = "<script>alert('&')</script>\ud800"
VOID = {"meta"}
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """What a browser would see: the tags that were opened, their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.split()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The JSON and the page of one run of the command."""
    folder = tmp_path_factory.mktemp("report")
    catalog, tasks = DATA / "outfit_catalog.json", DATA / "outfit_tasks.jsonl"
    arguments = ["bench", "--catalog", catalog, "--tasks", tasks, "--index", "bm25", "--counter", "estimate"]
    arguments += ["--json", folder / "out.json", "--html", folder / "out.html"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return json.loads((folder / "out.json").read_text("utf-8")), (folder / "out.html").read_text("utf-8")


def test_the_page_has_the_figures_and_plots_of_the_run(report: tuple[dict[str, Any], str]) -> None:
    (suite,) = report[0]["suites"]
    page = Page(report[1])
    for row in (suite["baseline"], *suite["contenders"]):
        assert f"{row['total'] / row['tasks']:,.0f}" in page.words
    assert f"{suite['contenders'][0]['saving']:.0%}" in page.words
    assert page.tags.count("svg") == 4
    assert "bm25" in page.words


def test_the_page_needs_nothing_from_elsewhere(report: tuple[dict[str, Any], str]) -> None:
    page = Page(report[1])
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "onload"} & {name for name, _ in page.attributes}
    assert "url(" not in report[1]


def test_plots_in_the_page_are_well_formed(report: tuple[dict[str, Any], str]) -> None:
    text = report[1]
    svg = ET.fromstring(text[text.index("<svg ") : text.index("</svg>") + len("</svg>")])
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + 6 * 2, "the paper, and six panels of two bars"


def test_names_of_catalogues_tasks_and_servers_are_shown_as_they_are(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    (suite,) = changed["suites"]
    suite["name"] = suite["note"] = suite["contenders"][0]["name"] = EVIL
    suite["skipped"] = [EVIL]
    suite["losses"] = [
        {"contender": EVIL, "task": EVIL, "style": "named", "reason": "failed", "tokens": 9, "tokens_all_tools": 1}
    ]
    changed["servers"] = [{"name": EVIL, "distribution": EVIL, "version": EVIL, "tools": 0, "error": EVIL}]
    changed["machine"]["processor"] = EVIL
    text = savings_html(changed)
    text.encode("utf-8")
    assert "script" not in Page(text).tags
    assert "&lt;script&gt;" in text
    assert "alert('&')" not in text


def sizes_of(tmp_path: Path, catalog: str) -> tuple[dict[str, Any], str]:
    """The one suite of a run over a catalogue without tasks, and its page."""
    (tmp_path / "tools.jsonl").write_bytes(catalog.encode("utf-8", "surrogatepass"))
    arguments = ["bench", "--catalog", tmp_path / "tools.jsonl", "--counter", "estimate"]
    arguments += ["--json", tmp_path / "out.json", "--html", tmp_path / "out.html"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    (suite,) = json.loads((tmp_path / "out.json").read_text("utf-8"))["suites"]
    return suite, (tmp_path / "out.html").read_text("utf-8")


def definition(name: str, words: int = 1, **more: Any) -> str:
    return json.dumps({"name": name, "description": "word " * words, "inputSchema": {"type": "object"}, **more}) + "\n"


def plots(text: str) -> dict[str, ET.Element]:
    """The plots of a page by title."""
    found = [ET.fromstring(f"<svg {part.split('</svg>')[0]}</svg>") for part in text.split("<svg ")[1:]]
    return {svg.findtext(f"{SVG}title", ""): svg for svg in found}


def test_a_catalogue_without_tasks_gives_tables_and_plots_of_its_sizes(tmp_path: Path) -> None:
    tools = [definition(f"tool_{n}", n, server=f"server {n % 2}") for n in range(1, 41)]
    suite, text = sizes_of(tmp_path, "".join(tools))
    assert [row["name"] for row in suite["contenders"]] == ["bm25"], "no model is loaded to count definitions"
    found = plots(text)
    assert list(found) == ["Tokens of a task of one call", "Tokens of definitions", "Definitions in one request"]
    bars = [text.text for text in found["Tokens of definitions"].iter(f"{SVG}text")]
    assert bars[1:3] == ["the 20 largest tools", "tool_40"]
    assert bars[-4:] == ["server 0", bars[-3], "server 1", bars[-1]]
    assert len(list(found["Tokens of a task of one call"].iter(f"{SVG}polyline"))) == 2
    page = Page(text)
    largest = suite["definitions"]["largest"]
    assert [tool["name"] for tool in largest] == [f"tool_{n}" for n in range(40, 20, -1)]
    assert f"{suite['definition_tokens']:,}" in page.words
    assert f"{largest[0]['tokens']:,}" in page.words
    assert not {"script", "link", "img"} & set(page.tags)


def test_what_a_request_carries_grows_to_more_than_all_tools_by_the_search_tool(tmp_path: Path) -> None:
    suite, _ = sizes_of(tmp_path, "".join(definition(f"tool_{n}", n) for n in range(1, 201)))
    found, whole = suite["definitions"], suite["definition_tokens"]
    none, *_, every = found["disclosed"]
    assert none == {"tools": 0, "average": found["search_tool"], "largest": found["search_tool"]}
    assert every["tools"] == suite["tools"]
    assert every["largest"] == pytest.approx(every["average"]) == pytest.approx(whole + found["search_tool"], rel=0.01)
    by_count = {point["tools"]: point["largest"] for point in found["disclosed"]}
    assert all((tokens < whole) == (count <= found["cheaper_up_to"]) for count, tokens in by_count.items())
    assert all(point["average"] <= point["largest"] for point in found["disclosed"][1:-1])


def test_the_costs_that_are_drawn_cross_where_search_begins_to_pay(tmp_path: Path) -> None:
    suite, _ = sizes_of(tmp_path, "".join(definition(f"tool_{n}", 60) for n in range(40)))
    found = suite["break_even"]
    assert 1 < found["tools"] < 40
    for size in found["sizes"]:
        assert (size["with_search"] < size["with_all"]) == (size["tools"] >= found["tools"])
    assert found["sizes"][-1] == {"tools": 40, "with_all": found["with_all"], "with_search": found["with_search"]}


def test_one_tool_is_a_catalogue_too(tmp_path: Path) -> None:
    _, text = sizes_of(tmp_path, definition("ping"))
    assert "1 tool (" in text
    assert "1 tools" not in text
    assert "Tokens of a task of one call" not in plots(text), "a line needs two points"


def test_names_and_sources_of_a_catalogue_are_text(tmp_path: Path) -> None:
    tools = [
        definition("größe <b>&\"'", server=EVIL),
        definition("ツール検索" * 9, server="検索" * 40),
        definition("plain"),
    ]
    _, text = sizes_of(tmp_path, "".join(tools))
    page = Page(text)
    assert not {"b", "script"} & set(page.tags)
    assert "<script>alert('&')</script>\ufffd" in " ".join(page.words)
    assert "(no source)" in " ".join(page.words)
    assert "検索" * 40 in " ".join(page.words), "the table has the whole of what a plot cuts"


def test_a_report_from_before_sizes_were_measured_has_a_page(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    suite = changed["suites"][0]
    suite |= {"tasks": 0, "break_even": None}
    del suite["definitions"]
    page = Page(savings_html(changed))
    assert "28" in page.words
    assert "svg" not in page.tags


def test_styles_are_told_apart(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    (suite,) = changed["suites"]
    for row in (suite["baseline"], *suite["contenders"]):
        row["styles"]["paraphrase"] = row["styles"]["named"]
    assert "no word of the tool" in " ".join(Page(savings_html(changed)).words)


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    target = tmp_path / "none" / "out.html"
    arguments = ["bench", "--catalog", DATA / "outfit_catalog.json", "--index", "bm25", "--counter", "estimate"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--html", str(target)])
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
