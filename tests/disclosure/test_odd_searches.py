"""A search is done in whatever form a model writes its arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsearch import ChatClient, Tool, ToolCall, ToolSearchAdvisor
from toolsearch.testing import ScriptedChatModel

TOOLS = [
    Tool(f"{verb}_{noun}", f"{verb} {noun}.", {}, lambda: "x", source=noun)
    for verb in ("list", "create")
    for noun in ("invoice", "order")
]
QUERY = "list invoices"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": QUERY, "max_results": None, "category": None},
        {"query": QUERY, "max_results": "3"},
        {"query": QUERY, "max_results": ""},
        {"query": QUERY, "max_results": [3]},
        {"query": QUERY, "max_results": -1},
        {"query": QUERY, "category": "none"},
        {"query": QUERY, "category": "All"},
        {"query": QUERY, "category": ""},
        {"query": QUERY, "category": ["invoice"]},
        {"query": [QUERY]},
        {"query": ["list", "invoices"]},
        {"q": QUERY},
        {"queries": [QUERY], "max_results": 3},
        {"keywords": ["list", "invoices"]},
        {"search": QUERY, "limit": None},
        {"query": QUERY, "top_k": 3, "why": {}},
        {"arguments": {"query": QUERY}},
    ],
    ids=str,
)
def test_a_search_is_done_in_any_form(arguments: dict[str, Any]) -> None:
    model = ScriptedChatModel([[("tool_search", arguments)], "end"])
    message = ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor("bm25")]).call("x").messages[1]
    assert "list_invoice" in message.revealed


@pytest.mark.parametrize("name", ["functions.tool_search", "tool_search<|channel|>commentary", " tool_search"])
def test_the_name_of_the_search_tool_is_known_in_any_form(name: str) -> None:
    model = ScriptedChatModel([[ToolCall("1", name, json.dumps({"query": QUERY}))], "end"])
    message = ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor("bm25")]).call("x").messages[1]
    assert "list_invoice" in message.revealed


@pytest.mark.parametrize("arguments", [{}, {"query": {"a": 1}}, {"query": True}, {"a": "x", "b": "y"}], ids=str)
def test_a_search_without_a_clear_query_is_explained(arguments: dict[str, Any]) -> None:
    model = ScriptedChatModel([[("tool_search", arguments)], "end"])
    message = ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor("bm25")]).call("x").messages[1]
    assert message.is_error
    assert "query" in message.text
