"""The public interface: its names, what importing it costs, and that every name is documented and reachable."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_origin

import pytest

import toolsearch

ROOT = Path(__file__).parents[1]

# Written out, so that a name is added or removed on purpose. The changelog says what a change means to users.
NAMES = """
Advisor
AssistantMessage
AsyncCallableError
AsyncChatStream
AugmentedTools
CallOptions
ChatChunk
ChatClient
ChatMemory
ChatRequest
ChatResponse
ChatStream
ConfigurationError
DuplicateToolError
Fallback
InMemoryRepository
IndexingError
Media
MemoryAdvisor
MemoryStoreError
Message
MissingExtraError
NoFreeThreadError
OutputError
Progress
ProviderError
ProviderProtocolError
Retry
RoundStarted
SearchRecord
Secret
SqliteRepository
StreamEvent
StreamStateError
StructuredOutputAdvisor
StructuredOutputError
SystemMessage
TextReplaced
TokenPrice
Tool
ToolArgumentError
ToolCall
ToolCallLimits
ToolCallingAdvisor
ToolContext
ToolFinished
ToolMessage
ToolReference
ToolSearchAdvisor
ToolSearchError
ToolSearchReport
ToolStarted
TurnFinished
Usage
UsageLimits
UserMessage
event_from_dict
message_from_dict
partial_response
tool
"""

PUBLIC = [
    "toolsearch",
    "toolsearch.advisors",
    "toolsearch.benchmarks",
    "toolsearch.chat",
    "toolsearch.client",
    "toolsearch.disclosure",
    "toolsearch.eviction",
    "toolsearch.indexes",
    "toolsearch.loop",
    "toolsearch.mcp",
    "toolsearch.memory",
    "toolsearch.models",
    "toolsearch.observability",
    "toolsearch.output",
    "toolsearch.testing",
    "toolsearch.tools",
]

HEAVY = {
    "anthropic",
    "anyio",
    "asyncio",
    "faiss",
    "httpx",
    "jsonschema",
    "matplotlib",
    "mcp",
    "numpy",
    "openai",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "re2",
    "rich",
    "sentence_transformers",
    "sniffio",
    "sqlite3",
    "tantivy",
    "tiktoken",
    "torch",
    "transformers",
    "typer",
}


def exported(package: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a package with their values."""
    module = importlib.import_module(package)
    for name in module.__all__:
        yield name, getattr(module, name)


@cache
def defined_types() -> frozenset[str]:
    """Return the names of all public classes and type aliases that the source files define."""
    names = set()
    for folder in ("toolsearch", "indexes", "eviction", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
                    names.add(ast.unparse(node.target))
    return frozenset(name for name in names if not name.startswith("_"))


def annotations_of(value: Any) -> Iterator[str]:
    """Yield the annotations of a function, or of the public methods and fields of a class, as source text."""
    if inspect.isclass(value):
        for base in value.__mro__:
            if base.__module__.startswith("toolsearch"):
                yield from (str(text) for name, text in vars(base).get("__annotations__", {}).items() if name[0] != "_")
                for name, member in vars(base).items():
                    if not name.startswith("_") or name in ("__init__", "__call__"):
                        yield from annotations_of(getattr(member, "fget", None) or getattr(member, "__func__", member))
    elif inspect.isfunction(value):
        yield from map(str, value.__annotations__.values())


def test_the_top_level_names_are_the_listed_ones() -> None:
    assert list(toolsearch.__all__) == NAMES.split()


def test_every_package_of_the_first_level_is_public() -> None:
    found = {path.parent.name for path in (ROOT / "toolsearch").glob("*/__init__.py")}
    internal = {"toolsearch.shared", "toolsearch.text"}  # `Secret` is exported at the top
    assert {f"toolsearch.{name}" for name in found} - internal == set(PUBLIC) - {"toolsearch"}


@pytest.mark.parametrize("package", PUBLIC)
def test_exported_names_are_documented(package: str) -> None:
    for name, value in exported(package):
        if inspect.isclass(value) or (inspect.isfunction(value) and get_origin(value) is None):
            assert value.__doc__, f"{name} has no docstring"
            assert not value.__doc__.startswith(f"{name}("), f"{name} has only the docstring that dataclasses make"


@pytest.mark.parametrize("package", PUBLIC)
def test_exported_classes_have_a_runnable_example(package: str) -> None:
    """A protocol may go without one, and so may an error: nobody makes one by hand."""
    missing = [
        name
        for name, value in exported(package)
        if inspect.isclass(value)
        and not issubclass(value, Exception)
        and not getattr(value, "_is_protocol", False)
        and ">>>" not in (value.__doc__ or "")
    ]
    assert missing == []


def test_types_in_public_signatures_can_be_imported_from_a_public_package() -> None:
    public = {name for package in PUBLIC for name, _ in exported(package)}
    missing = {
        f"{package}.{name}: {word}"
        for package in PUBLIC
        for name, value in exported(package)
        for text in annotations_of(value)
        for word in re.findall(r"\b[A-Z]\w+", text)
        if word in defined_types() and word not in public
    }
    assert missing == set()


@pytest.mark.parametrize("package", PUBLIC)
def test_tab_completion_shows_every_name(package: str) -> None:
    """Names that are imported on first use are listed too."""
    code = f"import {package} as module; print(*sorted({{*module.__all__}} - {{*dir(module)}}))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.split() == []


def test_every_error_is_exported_and_has_the_common_root() -> None:
    from toolsearch import errors

    assert set(errors.__all__) - {"TookTooLongError"} <= set(toolsearch.__all__)
    assert all(issubclass(getattr(errors, name), toolsearch.ToolSearchError) for name in errors.__all__)


@pytest.mark.parametrize("module", [name for name in PUBLIC if name != "toolsearch.benchmarks"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    allowed = {"asyncio"} if module in ("toolsearch.testing", "toolsearch.mcp") else set()
    assert set(found) <= allowed


def test_importing_changes_no_global_state() -> None:
    code = (
        "import logging, os, threading, warnings\n"
        "before = dict(os.environ), list(logging.root.handlers), logging.root.level, list(warnings.filters)\n"
        f"import {', '.join(PUBLIC)}\n"
        "after = dict(os.environ), list(logging.root.handlers), logging.root.level, list(warnings.filters)\n"
        "assert before == after\n"
        "assert threading.active_count() == 1\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
