"""The documentation: every Python block of README.md and docs/ runs as written, every link and example holds."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
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
"""Packages that an extra brings."""
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#]+)(#[^)]*)?\)")


def agent(request: Any) -> Any:
    """A simple model for the pages: it searches, calls the first tool it finds, and answers."""
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
    """What the environment says of the provider: a local server instead of the real one."""
    with OpenAIWireServer(agent) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield


@contextmanager
def whose_extras_are_there() -> Iterator[None]:
    """Skip the test where an example needs an extra that is not installed."""
    try:
        yield
    except MissingExtraError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in EXTRAS:
            raise
        pytest.skip(str(error))


class Examples(doctest.DocTestRunner):
    """Runs the examples of a docstring; where an extra is missing, the test is skipped."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        with whose_extras_are_there():
            if isinstance(exc_info[1], ImportError):
                raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_blocks_of_a_page_run_as_written(
    page: Path, provider: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": f"docs.{page.stem}"}
    text = page.read_text("utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        code = compile("\n" * line + block.group(1), str(page), "exec", dont_inherit=True)
        with whose_extras_are_there():
            exec(code, namespace)
    for value in namespace.values():
        close = getattr(value, "close", None)
        if type(value).__module__.startswith("toolsearch") and callable(close):
            close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    missing = [m.group(1) for m in LINK.finditer(page.read_text("utf-8")) if not (page.parent / m.group(1)).exists()]
    assert missing == []


@pytest.mark.slow
def test_the_typed_advisor_of_the_page_passes_a_strict_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    page = (ROOT / "docs" / "how-to" / "advisors.md").read_text("utf-8")
    (typed,) = [block for block in BLOCK.findall(page) if "AdvisorFlow" in block]
    example = tmp_path / "example.py"
    example.write_text(typed, "utf-8")
    # What is in the library's own modules is for `make lint`, as it is silent where the library is installed.
    options = ["--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={tmp_path}"]
    command = [sys.executable, "-m", "mypy", *options, str(example)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_readme_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    listed = (ROOT / "README.md").read_text("utf-8").partition("\nExtras: ")[2].partition("If an extra")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(extras)


def modules() -> list[str]:
    names = ["toolsearch"]
    for info in pkgutil.walk_packages(toolsearch.__path__, "toolsearch."):
        names.append(info.name)
    return sorted(name for name in names if not name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_hold(name: str, provider: None) -> None:
    with whose_extras_are_there():
        module = importlib.import_module(name)
    runner = Examples(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_every_public_class_has_an_example() -> None:
    data = {"ChatChunk", "RoundStarted", "ToolStarted", "ToolFinished", "TurnFinished"}
    lacking = [
        name
        for name in toolsearch.__all__
        if isinstance(thing := getattr(toolsearch, name), type)
        and ">>>" not in (thing.__doc__ or "")
        and not issubclass(thing, Exception)
        and not getattr(thing, "_is_protocol", False)
        and name not in data
    ]
    assert lacking == []


def test_changelog_and_version_agree() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{toolsearch.__version__}"' in text
