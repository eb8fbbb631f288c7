"""Inputs that a model, a user or a server can write to cause much work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from ...chat.responses import ChatResponse
from ...client.client import ChatClient
from ...disclosure.advisor import ToolSearchAdvisor
from ...memory import ChatMemory, InMemoryRepository, MemoryAdvisor
from ...messages import AssistantMessage, Message, ToolCall, Usage, UserMessage
from ...output import StructuredOutputAdvisor
from ...testing import ScriptedAnswer, ScriptedChatModel
from ...tools.tool_type import Tool
from .case import Case, Turn, client_case, search_client

__all__ = ["hostile_cases"]

_numbers = count()


def _call(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Case:
    """Return a case with one tool call. Each schema is new to the process."""
    text = json.dumps(arguments)

    def prepare() -> Turn:
        parameters = {**schema, "$comment": f"schema {next(_numbers)}"}
        tool = Tool("act", "Act.", parameters, fn=lambda **_: "done")
        client = ChatClient(_model(AssistantMessage("", (ToolCall("1", "act", text),))), tools=[tool])
        return lambda: client.acall("Go.")

    return Case("hostile", name, prepare)


def _model(answer: AssistantMessage) -> ScriptedChatModel:
    """Return a model that does not estimate its usage, which takes long for large requests."""
    answers = (answer, AssistantMessage("ok"))
    return ScriptedChatModel([ChatResponse(messages=(one,), usage=Usage(1, 1)) for one in answers])


def _references(levels: int) -> dict[str, Any]:
    """Return a schema that leads to its last definition on two to the power of `levels` ways."""
    definitions: dict[str, Any] = {
        f"L{n}": {"allOf": [{"$ref": f"#/$defs/L{n + 1}"}, {"$ref": f"#/$defs/L{n + 1}"}]} for n in range(levels)
    }
    return {"properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": {**definitions, f"L{levels}": {"type": "integer"}}}


def _filters() -> dict[str, Any]:
    """Return the schema of a filter that contains filters."""
    inner = {"type": "array", "items": {"$ref": "#/$defs/F"}}
    leaf = {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"]}
    nested = [
        {"type": "object", "properties": {"and": inner, "or": inner}, "required": [name]} for name in ("and", "or")
    ]
    return {"properties": {"x": {"$ref": "#/$defs/F"}}, "$defs": {"F": {"anyOf": [*nested, leaf]}}}


def _nested_filter(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"field": 1}
    for _ in range(depth):
        value = {"and": [value]}
    return value


def _large_schema(properties: int) -> dict[str, Any]:
    part = {"type": "object", "description": "x" * 100, "properties": {"a": {"type": "string", "enum": ["b", "c"]}}}
    return {"properties": {f"p{n}": dict(part) for n in range(properties)}}


def _async_rows() -> ChatClient:
    made = [{"n": n} for n in range(100_000)]

    async def rows() -> list[dict[str, int]]:
        return made

    return ChatClient(_model(AssistantMessage("", (ToolCall("1", "rows", "{}"),))), tools=[rows])


def _sync_rows() -> ChatClient:
    def rows() -> list[dict[str, int]]:
        return [{"n": n} for n in range(100_000)]

    return ChatClient(_model(AssistantMessage("", (ToolCall("1", "rows", "{}"),))), tools=[rows])


def _unknown_tool() -> ChatClient:
    tools = [Tool(f"known_tool_number_{n}", fn=lambda: "") for n in range(1_000)]
    return ChatClient(_model(AssistantMessage("", (ToolCall("1", "unknwn_tool_nmbr", "{}"),))), tools=tools)


def _answer(text: str) -> ChatClient:
    return ChatClient(ScriptedChatModel([text]), advisors=[StructuredOutputAdvisor(retries=0, raise_on_failure=False)])


def _remembering(turns: int) -> ChatClient:
    memory = ChatMemory(InMemoryRepository())
    memory.append("s", _conversation(turns))
    return ChatClient(ScriptedChatModel(["ok"]), advisors=[MemoryAdvisor(memory)])


def _conversation(turns: int) -> list[Message]:
    return [UserMessage("again"), AssistantMessage("yes")] * turns


def _long_descriptions() -> ChatClient:
    tools = [Tool(f"tool_{n}", f"word{n} " * 6_000) for n in range(50)]
    script: list[ScriptedAnswer] = [[("tool_search", {"query": "word7"})], "done"]
    return ChatClient(ScriptedChatModel(script), tools=tools, advisors=[ToolSearchAdvisor("bm25")])


def hostile_cases() -> list[Case]:
    """Return one case for each kind of hostile input."""
    many = {f"known_{n}": {"type": "string"} for n in range(2_000)}
    return [
        _call("references with 2^40 ways", _references(40), {"x": "hello"}),
        _call("filter nested 30 times, wrong inside", _filters(), {"x": _nested_filter(30)}),
        _call(
            "6,000 objects that must differ",
            {"properties": {"x": {"uniqueItems": True}}},
            {"x": [{"n": n} for n in range(6_000)]},
        ),
        _call(
            "3,000 unknown arguments of 2,000",
            {"properties": many, "additionalProperties": False},
            {f"unknwn_{n}": 1 for n in range(3_000)},
        ),
        _call("slow pattern, 400 kB", {"properties": {"x": {"pattern": "((a?b?){30}c?){30}z"}}}, {"x": "ab" * 200_000}),
        _call("slow pattern, 3 kB", {"properties": {"x": {"pattern": "((a?b?){13}c?){30}z"}}}, {"x": "ab" * 1_500}),
        _call("schema of 2 MB", _large_schema(10_000), {"p1": {"a": "b"}}),
        _call(
            "schema with 3,000 invalid keywords",
            {"properties": {f"p{n}": {"type": "strin"} for n in range(3_000)}},
            {"p1": 1},
        ),
        _call("49,000 integers", {"properties": {"x": {"items": {"type": "integer"}}}}, {"x": list(range(49_000))}),
        client_case("hostile", "unknown name among 1,000 tools", _unknown_tool),
        client_case("hostile", "async tool that returns 100,000 rows", _async_rows),
        client_case("hostile", "sync tool that returns 100,000 rows", _sync_rows),
        client_case(
            "hostile",
            "answer with 10,000 open code fences",
            lambda: _answer(("~" * 9 + "x\n") * 10_000),
            output_type=dict,
        ),
        client_case(
            "hostile",
            "answer with 100 kB of wrong JSON",
            lambda: _answer(json.dumps(["x"] * 20_000)),
            output_type=list[int],
        ),
        client_case(
            "hostile", "prompt of 2 MB with tool search", lambda: search_client("regex", 100), "word " * 400_000
        ),
        client_case(
            "hostile", "query of 1 MB", lambda: search_client("bm25", 500, "delete the invoice, then " * 40_000)
        ),
        client_case(
            "hostile", "slow pattern as a query", lambda: search_client("regex", 3_000, "((a?b?){13}c?){12}z.*")
        ),
        client_case("hostile", "50 tools with descriptions of 48 kB", _long_descriptions),
        client_case(
            "hostile",
            "conversation of 500 equal turns",
            lambda: _remembering(500),
            session_id="s",
            messages=[*_conversation(499), UserMessage("no"), AssistantMessage("yes")],
        ),
    ]
