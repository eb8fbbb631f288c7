"""Attacks with inputs that are made to cause much work. Work is counted in function calls, not in seconds."""

import gc
import json
import math
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    ConfigurationError,
    InMemoryRepository,
    MemoryAdvisor,
    Tool,
    ToolCall,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.indexes.lexical.tool_terms import analyze_tool
from toolsearch.memory.turns import join_conversation
from toolsearch.models.openai.stream import StreamAssembler
from toolsearch.output import fenced_blocks
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.validation.schema_validator import find_problems

GROWTH = 3.0
"""Most that the work may grow by when an input becomes twice as large."""


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls on this thread."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def call_client(schema: dict[str, Any], arguments: dict[str, Any], **options: Any) -> ChatClient:
    tool = Tool("act", "Act.", schema, fn=lambda **_: "ran")
    call = AssistantMessage("", (ToolCall("1", "act", json.dumps(arguments)),))
    return ChatClient(ScriptedChatModel([call, "ok"]), tools=[tool], **options)


def result_of(schema: dict[str, Any], arguments: dict[str, Any]) -> str:
    reply = call_client(schema, arguments).call("Go.")
    return reply.messages[1].text


def ladder(levels: int, step: Callable[[dict[str, Any]], dict[str, Any]], last: Any) -> dict[str, Any]:
    """Return a schema whose definitions each lead to the next one."""
    definitions = {f"L{n}": step({"$ref": f"#/$defs/L{n + 1}"}) for n in range(levels)}
    return {"properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": {**definitions, f"L{levels}": last}}


LADDERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "allOf": lambda following: {"allOf": [dict(following), dict(following)]},
    "anyOf": lambda following: {"anyOf": [dict(following), dict(following)]},
    "oneOf": lambda following: {"oneOf": [dict(following), dict(following)]},
    "not": lambda following: {"allOf": [{"not": dict(following)}, {"not": dict(following)}]},
    "if": lambda following: {"if": dict(following), "then": dict(following), "else": dict(following)},
    "dependentSchemas": lambda following: {
        "dependentSchemas": {"k": dict(following), "l": dict(following)},
        "allOf": [dict(following)],
    },
    "unevaluatedProperties": lambda following: {
        "anyOf": [dict(following), dict(following)],
        "unevaluatedProperties": False,
    },
    "$dynamicRef": lambda following: {
        "anyOf": [{"$dynamicRef": following["$ref"]}, {"$dynamicRef": following["$ref"]}]
    },
    "properties": lambda following: {"allOf": [{"properties": {"k": dict(following)}}, dict(following)]},
}


@pytest.mark.parametrize("value", ["hello", {"k": {"k": 1}, "l": 1}], ids=["text", "object"])
@pytest.mark.parametrize("name", LADDERS)
def test_references_do_not_multiply(name: str, value: Any) -> None:
    def work(levels: int) -> int:
        schema = ladder(levels, LADDERS[name], {"type": "integer"})
        return count_calls(lambda: result_of(schema, {"x": value}))

    assert work(24) < GROWTH * work(12)


def nested_filter(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"field": 1}
    for _ in range(depth):
        value = {"and": [value]}
    return value


def filter_schema() -> dict[str, Any]:
    inner = {"type": "array", "items": {"$ref": "#/$defs/F"}}
    nested = [{"type": "object", "properties": {"and": inner, "or": inner}, "required": [k]} for k in ("and", "or")]
    leaf = {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"]}
    return {"properties": {"x": {"$ref": "#/$defs/F"}}, "$defs": {"F": {"anyOf": [*nested, leaf]}}}


ITEMS: dict[str, Callable[[int], tuple[dict[str, Any], Any]]] = {
    "nested filter": lambda n: (filter_schema(), nested_filter(n // 10)),
    "uniqueItems of objects": lambda n: (
        {"properties": {"x": {"uniqueItems": True}}},
        [{"n": number} for number in range(n)],
    ),
    "uniqueItems of colliding numbers": lambda n: (
        {"properties": {"x": {"uniqueItems": True}}},
        [number * (2**61 - 1) for number in range(n)],
    ),
    "enum of large values": lambda n: (
        {"properties": {"x": {"items": {"enum": [{"n": number} for number in range(n)]}}}},
        [{"n": -number} for number in range(1, n)],
    ),
    "contains": lambda n: ({"properties": {"x": {"contains": {"type": "string"}}}}, list(range(n))),
    "prefixItems": lambda n: ({"properties": {"x": {"prefixItems": [{"type": "integer"}] * n}}}, list(range(n))),
    "unevaluatedItems": lambda n: (
        {"properties": {"x": {"allOf": [{"prefixItems": [True] * n}] * 10, "unevaluatedItems": False}}},
        list(range(n)),
    ),
    "wide objects": lambda n: (
        {"properties": {"x": {"properties": {f"p{number}": {"type": "integer"} for number in range(n)}}}},
        {f"p{number}": number for number in range(n)},
    ),
    "wrong items": lambda n: ({"properties": {"x": {"items": {"type": "string"}}}}, list(range(n))),
}


@pytest.mark.parametrize("name", ITEMS)
def test_work_grows_with_the_size_of_the_value(name: str) -> None:
    def work(size: int) -> int:
        schema, value = ITEMS[name](size)
        return count_calls(lambda: result_of(schema, {"x": value}))

    assert work(600) < GROWTH * work(300)


def test_only_problems_that_are_shown_get_a_suggestion() -> None:
    def work(size: int) -> int:
        schema = {"properties": {f"known_{n}": {} for n in range(size)}, "additionalProperties": False}
        return count_calls(lambda: result_of(schema, {f"unknwn_{n}": 1 for n in range(size)}))

    assert work(1_200) < GROWTH * work(600)


@pytest.mark.parametrize("last", ["strin", "string"])
def test_a_schema_with_invalid_keywords_is_checked_once(last: str) -> None:
    schema = {"properties": {"p0": {"type": "strin"}, **{f"p{n}": {"type": last} for n in range(1, 3_000)}}}
    work = count_calls(lambda: result_of(schema, {"p1": 1}))
    again = count_calls(lambda: result_of(schema, {"p1": 1}))
    assert work < 200_000
    assert again < (work / 2 if last == "string" else work)


@pytest.mark.parametrize(
    "hold",
    [
        lambda text: {"description": text},
        lambda text: {"pattern": text},
        lambda text: {"properties": {"a": {"enum": [text]}}},
        lambda text: {"examples": [[{"a": text}]]},
        lambda text: {"properties": {text: {}}},
        lambda text: {"type": "strin", "description": text},
        lambda text: {"description": text, "anyOf": [{} for _ in range(50_000)]},
    ],
)
def test_texts_in_schemas_are_not_kept_beyond_the_limit_of_the_cache(hold: Callable[[str], dict[str, Any]]) -> None:
    tracemalloc.start()
    try:
        for n in range(30):
            text = f"{n}" + "x" * 5_000_000
            assert find_problems({"properties": {"x": hold(text)}}, text[:9].encode(), {"x": {}}) is not None
        assert tracemalloc.get_traced_memory()[0] < 30_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("deep", [True, False])
def test_places_in_a_schema_take_linear_memory(deep: bool) -> None:
    schema: dict[str, Any] = {"properties": {f"p{n}": {} for n in range(3_000)}}
    if deep:
        schema = {}
        for _ in range(3_000):
            schema = {"properties": {"p" * 100: schema}}
    schema = {"properties": {"n" * 100_000: schema}}
    tracemalloc.start()
    try:
        assert find_problems(schema, f"places {deep}".encode(), {"a": 1}) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pattern", ["((a?b?){30}c?){30}z", "((a?b?){13}c?){30}z", "(a?){300}" + "a" * 300, "(x+x+)+y"])
def test_slow_patterns_are_not_judged_on_long_texts(pattern: str) -> None:
    schema = {"properties": {"x": {"pattern": pattern}, "n": {"type": "integer"}}}
    assert result_of(schema, {"x": "ab" * 200_000, "n": 1}) in ("ran", result_of(schema, {"x": "ab" * 200_000}))
    assert "'n': expected integer" in result_of(schema, {"x": "ab" * 200_000, "n": "one"})


TOO_MUCH = {"allOf": [{"items": {"type": "integer", "minimum": 0}} for _ in range(100)]}
LIMITED = {
    "properties": {"many": TOO_MUCH, "amount": {"type": "integer", "maximum": 50}, "list": {"type": "array"}},
    "required": ["amount"],
    "additionalProperties": False,
}


def test_what_needs_too_many_steps_is_left_to_the_tool(caplog: pytest.LogCaptureFixture) -> None:
    many = list(range(10_000))
    for _ in range(2):
        assert result_of(LIMITED, {"many": many, "amount": 5}) == "ran"
    records = [record for record in caplog.records if "arguments_not_validated" in record.getMessage()]
    assert len(records) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"amount": 5_000_000}, ["'amount': expected at most 50"]),
        (
            {"amuont": 6, "list": {"a": 1}},
            [
                "'amount': required, but missing",
                "'amuont': unknown argument; did you mean 'amount'?",
                "'list': expected array",
            ],
        ),
    ],
    ids=["value", "names and types"],
)
def test_the_top_level_is_validated_all_the_same(arguments: dict[str, Any], said: list[str]) -> None:
    result = result_of(LIMITED, {"many": list(range(10_000)), **arguments})
    assert [sentence for sentence in said if sentence not in result] == []


def test_a_schema_that_is_too_large_is_validated_at_the_top_level() -> None:
    properties = {f"p{n}": {"type": "object", "properties": {"a": {"type": "string"}}} for n in range(20_000)}
    schema = {"properties": properties, "additionalProperties": False}
    assert result_of(schema, {"p1": {"a": 1}}) == "ran"
    assert "'p1': expected object" in result_of(schema, {"p1": 1})
    assert "'q': unknown argument" in result_of(schema, {"q": 1})


@pytest.mark.parametrize(
    "arguments",
    [
        {"n" * 100_000: 1},
        {"x": "v" * 100_000},
        {"x": {"k" * 100_000: "v"}},
        {"x": list(range(50_000))},
        {"x": [[["deep"] * 1_000] * 10]},
    ],
    ids=["name", "text", "key", "list", "nested"],
)
def test_what_the_model_reads_about_wrong_arguments_is_short(arguments: dict[str, Any]) -> None:
    schema = {"properties": {"x": {"type": "integer"}}, "additionalProperties": False}
    assert len(result_of(schema, arguments)) < 1_500


def test_too_many_values_are_rejected_before_they_are_parsed() -> None:
    assert "more than 50,000 values" in result_of({}, {"x": [0] * 150_000})
    assert result_of({}, {"x": "a,b" * 150_000}) == "ran"  # one value


def loop_calls(client: ChatClient, **arguments: Any) -> int:
    """Return how many functions a turn calls on the thread of the event loop."""

    async def turn() -> None:
        await client.acall("Go.", **arguments)

    return count_calls(lambda: anyio.run(turn))


def test_large_arguments_are_validated_off_the_event_loop() -> None:
    schema = {"properties": {"x": {"items": {"type": "integer"}}}}
    small, large = ({"x": list(range(size))} for size in (10, 20_000))
    assert loop_calls(call_client(schema, large)) < loop_calls(call_client(schema, small)) + 10_000


def test_many_steps_for_few_characters_are_taken_off_the_event_loop() -> None:
    schema = {"properties": {"x": {"allOf": [{"type": "integer", "minimum": n} for n in range(5_000)]}}}
    calm = {"properties": {"x": {"type": "integer"}}}
    assert loop_calls(call_client(schema, {"x": 9_999})) < loop_calls(call_client(calm, {"x": 1})) + 12_000


def test_large_results_of_async_tools_are_converted_off_the_event_loop() -> None:
    def client(size: int) -> ChatClient:
        rows = [{"n": n} for n in range(size)]

        async def read() -> list[dict[str, int]]:
            return rows

        return ChatClient(ScriptedChatModel([[("read", {})], "ok"]), tools=[read])

    assert loop_calls(client(20_000)) < loop_calls(client(10)) + 10_000


def test_long_answers_are_parsed_off_the_event_loop() -> None:
    threads: list[int] = []

    class Converter:
        instructions = ""
        schema = None

        def parse(self, text: str) -> str:
            threads.append(threading.get_ident())
            return text

    for text in ("short", "long " * 10_000):
        anyio.run(lambda text=text: ChatClient(ScriptedChatModel([text])).acall("Go.", output_type=Converter()))
    assert threads[0] == threading.get_ident() != threads[1]


@pytest.mark.parametrize(
    ("line", "lines"),
    [("~" * 50 + "x", 4_000), ("```x", 20_000), ("~~~", 20_001), ("`" * 9 + " ", 9_999), ("  ~~~~ ~", 10_000)],
)
def test_code_fences_are_read_line_by_line(line: str, lines: int) -> None:
    def work(number: int) -> int:
        text = f"{line}\n" * number
        return count_calls(lambda: fenced_blocks(text))

    assert work(lines) < GROWTH * work(lines // 2)


def test_fences_of_falling_lengths_are_read_in_linear_time() -> None:
    def work(number: int) -> int:
        text = "".join("~" * (number - n + 3) + "y\n" for n in range(number))
        return count_calls(lambda: fenced_blocks(text)) // number

    assert work(400) < GROWTH * work(200)


class CountedText(str):
    """A text that counts its comparisons."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return str.__eq__(self, str(other))


@pytest.mark.parametrize("end", ["again", "other"])
def test_equal_turns_are_joined_in_linear_time(end: str) -> None:
    def conversation(turns: int, last: str) -> list[Any]:
        made: list[Any] = []
        for n in range(turns):
            text = last if n == turns - 1 else "again"
            made += [UserMessage(CountedText(text)), AssistantMessage("yes")]
        return made

    def work(turns: int) -> int:
        CountedText.comparisons = 0
        join_conversation(conversation(turns, "again"), conversation(turns, end))
        return CountedText.comparisons

    assert work(400) < GROWTH * work(200)


def piece(arguments: str, *, index: int | None = 0, name: str | None = None, call_id: str | None = None) -> Any:
    function = SimpleNamespace(name=name, arguments=arguments)
    call = SimpleNamespace(index=index, id=call_id, function=function)
    choice = SimpleNamespace(index=0, finish_reason=None, delta=SimpleNamespace(content=None, tool_calls=[call]))
    return SimpleNamespace(usage=None, choices=[choice])


@pytest.mark.parametrize(
    "pieces",
    [
        lambda n: [piece('{"x": "')] + [piece("0123456789")] * n + [piece('"}')],
        lambda n: [piece("[{}", index=None, name="act")] + [piece(",{}", index=None, name="act")] * n,
        lambda n: [piece("{}", index=0, name="act", call_id=str(number)) for number in range(n)],
        lambda n: [piece("{", index=None, name="act", call_id=str(number % 2)) for number in range(n)],
        lambda n: [piece("{}", index=None, name="act") for _ in range(n)],
    ],
    ids=["text", "almost complete", "many calls", "alternating", "complete"],
)
def test_streamed_arguments_are_assembled_in_linear_time(pieces: Callable[[int], list[Any]]) -> None:
    def work(number: int) -> int:
        chunks = pieces(number)
        end = piece("", index=0)
        end.choices[0].finish_reason = "tool_calls"
        assembler = StreamAssembler([])

        def assemble() -> None:
            for chunk in [*chunks, end]:
                assembler.add(chunk)
            assembler.finish()

        return count_calls(assemble)

    assert work(2_000) < GROWTH * work(1_000)


def test_a_history_with_many_lists_of_tools_is_read() -> None:
    history = [
        UserMessage("Hi."),
        AssistantMessage("", (ToolCall("1", "tool_search", "{}"),)),
        ToolMessage("1", "tool_search", "Found 1 tool:\n- ping: Ping.\n" * 5_000),
        AssistantMessage("ok"),
    ]
    client = ChatClient(
        ScriptedChatModel(["ok"]), tools=[Tool("ping", fn=lambda: "")], advisors=[ToolSearchAdvisor("regex")]
    )
    assert client.call("Go.", messages=history).text == "ok"


class ForgetfulModel(ScriptedChatModel):
    """A model that does not record its requests."""

    def call(self, request: Any) -> Any:
        try:
            return super().call(request)
        finally:
            self.requests.clear()


class Held:
    """Something that a tool closes over, such as a connection."""


@pytest.mark.parametrize("in_call", [True, False])
def test_tools_of_a_call_are_freed_after_it(in_call: bool) -> None:
    client = ChatClient(ForgetfulModel(["ok"] * 9), advisors=[ToolSearchAdvisor("regex")])

    def use() -> list[weakref.ref[Held]]:
        refs = []
        for n in range(3):
            held = Held()
            refs.append(weakref.ref(held))
            tool = Tool(f"tool.{n}", fn=lambda held=held: str(held))

            class Provider:
                def __init__(self, tool: Tool) -> None:
                    self.tool = tool

                def tools(self) -> list[Tool]:
                    return [self.tool]

            client.call("Go.", tools=[tool] if in_call else [Provider(tool)])
        return refs

    refs = use()
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


def test_long_descriptions_cost_little_memory() -> None:
    """A description of 48 kB took 0.7 MB in a cache of 16,384 tools."""
    words = " ".join(f"word{n}" for n in range(6_000))
    schema = {"properties": {f"p{n}": {"description": words[:2_000]} for n in range(500)}}
    long = ToolReference(name="n" * 50_000, description=words, search_text=words, parameters=schema, tags=[words])
    assert analyze_tool(ToolReference(name="long", description=words)).size < 250_000
    assert analyze_tool(long).size < 800_000
    assert Bm25ToolIndex().build([long]).search("word7").names == (long.name,)


@pytest.mark.parametrize("timeout", [1e10, 1e300, math.inf, 10**400, 0.5])
def test_every_positive_timeout_works(timeout: float) -> None:
    def act() -> str:
        return "ran"

    def client() -> ChatClient:
        tool = Tool("act", fn=act, timeout=timeout)
        return ChatClient(ScriptedChatModel([[("act", {})], "ok"]), tools=[tool])

    async def turn() -> str:
        return (await client().acall("Go.")).messages[1].text

    assert client().call("Go.").messages[1].text == "ran"
    assert anyio.run(turn) == "ran"
    assert anyio.run(turn, backend="trio") == "ran"


@pytest.mark.parametrize("timeout", [math.nan, -1, 0, -math.inf, True, "5"])
def test_other_timeouts_are_rejected(timeout: Any) -> None:
    with pytest.raises(ConfigurationError, match="timeout must be a positive number of seconds"):
        Tool("act", fn=lambda: "", timeout=timeout)


def test_a_remembered_conversation_of_equal_turns_is_continued() -> None:
    memory = ChatMemory(InMemoryRepository())
    past = [UserMessage("again"), AssistantMessage("yes")] * 1_000
    memory.append("s", past)
    model = ScriptedChatModel(["ok"])
    ChatClient(model, advisors=[MemoryAdvisor(memory)]).call("again", messages=past, session_id="s")
    assert len(model.requests[0].messages) == 2_001
    assert len(memory.messages("s")) == 2_002
