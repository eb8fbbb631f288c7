"""The documentation: Python blocks of the pages run, links lead to files, and examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toolsearch
from toolsearch import MissingExtraError
from toolsearch.testing import OpenAIWireServer

ROOT = Path(__file__).parents[1]
EXTRAS = {"faiss", "httpx2", "mcp", "mcp_types", "numpy", "openai", "opentelemetry", "pydantic_settings"}
"""Packages that only an extra installs."""
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#]+)(#[^)]*)?\)")
DEEP_IMPORT = re.compile(r"^(?:from|import) toolsearch\.\w+\.\S+.*", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def agent(request: Any) -> Any:
    """Stand in for the model of the pages: search, call the first tool found, and answer."""
    body = request.json
    last, names = body["messages"][-1], [tool["function"]["name"] for tool in body.get("tools", [])]
    if body.get("response_format"):
        return '{"city": "Amsterdam", "degrees": 12}'
    if last["role"] == "user" and "tool_search" in names:
        return [("tool_search", {"query": last["content"] + " weather"})]
    if last["role"] == "tool" and "- get_weather" in str(last["content"]):
        return [("get_weather", {"city": "Amsterdam"})]
    return "It is 12 degrees and rainy: take a coat."


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Point the environment variables of the OpenAI SDK to a local server."""
    with OpenAIWireServer(agent) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield


@contextmanager
def skip_without_extras() -> Iterator[None]:
    """Skip the test if the code needs an extra that is not installed."""
    try:
        yield
    except MissingExtraError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in EXTRAS:
            raise
        pytest.skip(str(error))


class DocstringRunner(doctest.DocTestRunner):
    """Runner of docstring examples that skips the test if an extra is not installed."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        with skip_without_extras():
            if isinstance(exc_info[1], ImportError):
                raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


@each_page
def test_python_blocks_run_as_written(
    page: Path, provider: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run in order, in one namespace and an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": f"docs.{page.stem}"}
    text = page.read_text("utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        code = compile("\n" * line + block.group(1), str(page), "exec", dont_inherit=True)
        with skip_without_extras():
            exec(code, namespace)
    for value in namespace.values():
        close = getattr(value, "close", None)
        if type(value).__module__.startswith("toolsearch") and callable(close):
            close()


@each_page
def test_python_blocks_import_only_from_public_packages(page: Path) -> None:
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert [line for block in blocks for line in DEEP_IMPORT.findall(block)] == []


@each_page
def test_links_between_pages_lead_to_files(page: Path) -> None:
    missing = [m.group(1) for m in LINK.finditer(page.read_text("utf-8")) if not (page.parent / m.group(1)).exists()]
    assert missing == []


def test_the_typed_advisor_of_the_page_is_type_checked() -> None:
    """`make lint` checks `tests/typing` with mypy in strict mode; the file there equals the block of the page."""
    page = (ROOT / "docs" / "how-to" / "advisors.md").read_text("utf-8")
    (typed,) = [block for block in BLOCK.findall(page) if "AdvisorFlow" in block]
    checked = (ROOT / "tests" / "typing" / "advisor_page.py").read_text("utf-8")
    assert checked.partition("\n\n")[2] == typed


def test_the_readme_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    listed = (ROOT / "README.md").read_text("utf-8").partition("\nExtras: ")[2].partition("If an extra")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(extras)


INTERNAL = {"shared", "text"}
"""Packages that promise nothing; `Secret` is exported at the top."""


def test_every_public_package_has_a_reference_page() -> None:
    packages = ["toolsearch", *(path.parent.name for path in (ROOT / "toolsearch").glob("*/__init__.py"))]
    pages = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert sorted(pages) == sorted(set(packages) - INTERNAL)
    for name, text in pages.items():
        module = name if name == "toolsearch" else f"toolsearch.{name}"
        assert f"\n::: {module}\n" in text


def test_the_readme_names_every_public_package() -> None:
    text = (ROOT / "README.md").read_text("utf-8").partition("\nPublic API: ")[2].partition("\n\n")[0]
    named = {name.removeprefix("toolsearch").removeprefix(".") for name in re.findall(r"`([\w.]+)`", text)} - {""}
    assert named == {path.parent.name for path in (ROOT / "toolsearch").glob("*/__init__.py")} - INTERNAL


def test_the_log_page_lists_every_event() -> None:
    page = (ROOT / "docs" / "how-to" / "observability.md").read_text("utf-8")
    events = {
        f"toolsearch.{event}"
        for folder in ("toolsearch", "indexes", "eviction")
        for path in (ROOT / folder).rglob("*.py")
        for event in re.findall(r'log_event\(\s*(?:logger, )?[\w.]+,\s*"([a-z_]+)"', path.read_text("utf-8"))
    } - {"toolsearch.tool_left_out"}  # an example in a docstring
    assert events
    assert {event for event in events if f"`{event}`" not in page} == set()


def modules() -> list[str]:
    found = (info.name for info in pkgutil.walk_packages(toolsearch.__path__, "toolsearch."))
    return ["toolsearch", *sorted(name for name in found if not name.endswith("__main__"))]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_hold(name: str, request: pytest.FixtureRequest) -> None:
    with skip_without_extras():
        module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    if any("OpenAIChatModel" in example.source for test in tests for example in test.examples):
        request.getfixturevalue("provider")
    runner = DocstringRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_version_is_the_same_in_code_and_metadata() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert metadata["project"]["version"] == toolsearch.__version__
