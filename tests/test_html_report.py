"""The HTML report of a savings run: whole, self-contained, and nothing in it is taken for markup."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toolsearch.benchmarks.savings_html import savings_html
from toolsearch.cli import app

DATA = Path(__file__).parent.parent / "benchmarks" / "data"
EVIL = "<script>alert('&')</script>\ud800"
VOID = {"meta"}


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
    assert page.tags.count("svg") == 1
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


def test_a_catalogue_without_tasks_gives_a_page_with_its_size(report: tuple[dict[str, Any], str]) -> None:
    changed = json.loads(json.dumps(report[0]))
    changed["suites"][0] |= {"tasks": 0, "break_even": None}
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
