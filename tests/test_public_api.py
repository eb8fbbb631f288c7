"""The public surface: the names there are, that importing them costs nothing, and that every one says what it is."""

from __future__ import annotations

import subprocess
import sys
from typing import get_origin

import pytest

import toolsearch
import toolsearch.eviction
import toolsearch.indexes
import toolsearch.testing

# Written out, so that a name comes or goes on purpose. See the changelog for what a change means to users.
NAMES = """
Advisor
AdvisorFlow
AssistantMessage
AsyncCallableError
AsyncChatMemoryRepository
AsyncChatStream
AugmentedCall
AugmentedTools
ChainedToolResolver
ChatChunk
ChatClient
ChatMemory
ChatMemoryRepository
ChatModel
ChatRequest
ChatResponse
ChatStream
ChunkTransformer
Clock
ConfigurationError
Disclosure
DisclosureSettings
DisclosureTurn
DuplicateToolError
Effect
InMemoryRepository
IndexingError
JsonOutputConverter
LoopState
Media
MemoryAdvisor
MemoryStoreError
MemoryWindow
Message
MissingExtraError
Observer
OutputConverter
OutputError
Perform
ProviderError
ProviderProtocolError
OutputSchema
RoundStarted
RunTools
SearchRecord
SessionKey
SessionToolIndex
Sleep
SqliteRepository
StaticToolResolver
StreamEvent
StreamStateError
StructuredOutputAdvisor
StructuredOutputError
SystemClock
SystemMessage
TokenWindow
Tool
ToolBatchResult
ToolCall
ToolCallLimits
ToolCallingAdvisor
ToolContext
ToolFilter
ToolFinished
ToolMessage
ToolReference
ToolResolver
ToolSearchAdvisor
ToolSearchError
ToolSearchReport
ToolSearchRequest
ToolSet
ToolStarted
TurnFinished
TurnWindow
Usage
UserMessage
tool
"""

HEAVY = {
    "anthropic",
    "anyio",
    "asyncio",
    "faiss",
    "httpx",
    "jsonschema",
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


def test_the_exported_names_are_the_written_ones():
    assert list(toolsearch.__all__) == NAMES.split()


@pytest.mark.parametrize("module", [toolsearch, toolsearch.indexes, toolsearch.eviction, toolsearch.testing], ids=str)
def test_every_exported_name_exists_is_documented_and_in_order(module):
    assert list(module.__all__) == sorted(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type) or (callable(value) and get_origin(value) is None and hasattr(value, "__code__")):
            assert value.__doc__, f"{name} has no docstring"
            assert not value.__doc__.startswith(f"{name}("), f"{name} has only the docstring that dataclasses make"


def test_every_error_is_one_of_ours_and_exported():
    from toolsearch import errors

    assert set(errors.__all__) <= set(toolsearch.__all__)
    assert all(issubclass(getattr(errors, name), toolsearch.ToolSearchError) for name in errors.__all__)


@pytest.mark.parametrize("module", ["toolsearch", "toolsearch.indexes", "toolsearch.eviction", "toolsearch.testing"])
def test_importing_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    allowed = {"asyncio"} if module == "toolsearch.testing" else set()
    assert set(found) <= allowed


def test_importing_sets_nothing_up():
    code = (
        "import logging, os, threading, warnings\n"
        "before = dict(os.environ), list(logging.root.handlers), logging.root.level, list(warnings.filters)\n"
        "import toolsearch, toolsearch.indexes, toolsearch.eviction, toolsearch.testing\n"
        "after = dict(os.environ), list(logging.root.handlers), logging.root.level, list(warnings.filters)\n"
        "assert before == after\n"
        "assert threading.active_count() == 1\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
