"""Wrong, unusual and huge input: a table of inputs with the exact result of each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ConfigurationError,
    DuplicateToolError,
    ProviderProtocolError,
    Tool,
    ToolCall,
    ToolMessage,
    ToolSearchAdvisor,
)
from toolsearch.eviction import AlwaysEvict
from toolsearch.testing import ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]


def get_weather(city: str, days: int = 1) -> str:
    "Current weather in a city."
    return f"{days} days of sun in {city}"


def send_mail(to: str) -> str:
    "Send a mail."
    raise ConnectionError("the mail server is down")


def results(response: Any) -> list[ToolMessage]:
    return [message for message in response.messages if isinstance(message, ToolMessage)]


FOUND = "Found 1 tool, now in your tool list and ready to be called:\n- get_weather: Current weather in a city."
NOT_MATCHED = "No tool matches; try other words for what the tool should do.\nIf no tool fits, say so."
EMPTY = "The query is empty; say in a few words what the tool should do.\nIf no tool fits, say so."
NO_WORD = "The query contains no word or number; say what the tool should do.\nIf no tool fits, say so."
KNOWN = "Required: query. All arguments: query, max_results."
PATTERN = (
    "is not a usable regular expression: {why}. {advice}\nIf no tool fits, say so."  # the text after the pattern itself
)
LITERAL = "Put a backslash before a special character that is meant literally, or search for words."

SEARCHES: list[tuple[str, str, str, bool]] = [
    # arguments of tool_search as the model wrote them, index, tool result, whether it is an error
    ('{"query": "weather"}', "bm25", FOUND, False),
    ('{"query": ""}', "bm25", EMPTY, False),
    ('{"query": ""}', "regex", EMPTY, False),
    ('{"query": " \\n\\t "}', "bm25", EMPTY, False),
    ('{"query": "?!…"}', "bm25", NO_WORD, False),
    ('{"query": "\\ud800"}', "bm25", NO_WORD, False),
    ('{"query": "天气"}', "bm25", NOT_MATCHED, False),
    ('{"query": "' + "weather " * 12_500 + '"}', "bm25", FOUND, False),
    ('{"query": "' + "weather " * 12_500 + '"}', "regex", FOUND, False),
    ('{"query": "' + "x" * 100_000 + '"}', "bm25", NO_WORD, False),
    ('{"query": "get_.*er"}', "regex", FOUND, False),
    ('{"query": "get_*er"}', "regex", FOUND, False),
    ('{"query": "(get_"}', "regex", "'(get_' " + PATTERN.format(why="missing ): (get_", advice=LITERAL), False),
    ('{"query": "[a-"}', "regex", "'[a-' " + PATTERN.format(why="missing ]: [a-", advice=LITERAL), False),
    (
        '{"query": "(?=a)b"}',
        "regex",
        "'(?=a)b' "
        + PATTERN.format(
            why="invalid perl operator: (?=",
            advice="Look-ahead and look-behind are not supported; leave them out and search for what must be there.",
        ),
        False,
    ),
    (
        '{"query": "(a)\\\\1"}',
        "regex",
        r"'(a)\\1' "
        + PATTERN.format(
            why=r"invalid escape sequence: \1",
            advice="Back-references are not supported; write the repeated part out.",
        ),
        False,
    ),
    (
        '{"query": "a{2000}"}',
        "regex",
        "'a{2000}' "
        + PATTERN.format(
            why="invalid repetition size: {2000}",
            advice="Repeat less often (at most 1000 times in all), or use * or +.",
        ),
        False,
    ),
    ('{"query": "weather", "max_results": 0}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": -1}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": 1000000000}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": 1.0}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": null}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": "3"}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": "five"}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": true}', "bm25", FOUND, False),
    ('{"query": "weather", "max_results": [3], "category": null}', "bm25", FOUND, False),
    (
        '{"query": 7}',  # a number is searched for like a text
        "bm25",
        "No tool matches; try other words for what the tool should do.\nIf no tool fits, say so.",
        False,
    ),
    ("{}", "bm25", f"Invalid arguments for tool_search:\n- 'query': required, but missing\n{KNOWN}", True),
    ("", "bm25", f"Invalid arguments for tool_search:\n- 'query': required, but missing\n{KNOWN}", True),
    ('{"query": "weather", "colour": "red"}', "bm25", FOUND, False),
    (
        "weather",
        "bm25",
        (
            "The arguments of tool_search are not valid JSON (Expecting value at line 1 column 1); "
            "send one JSON object. "
            f"{KNOWN}"
        ),
        True,
    ),
    (
        '["weather"]',
        "bm25",
        f'The arguments of tool_search must be one JSON object, got ["weather"]. {KNOWN}',
        True,
    ),
]


@pytest.mark.parametrize(("arguments", "index", "text", "is_error"), SEARCHES, ids=lambda value: str(value)[:30])
def test_results_of_searches(arguments: str, index: str, text: str, is_error: bool) -> None:
    model = ScriptedChatModel([[ToolCall("1", "tool_search", arguments)], "ok"])
    client = ChatClient(model, tools=[get_weather, send_mail], advisors=[ToolSearchAdvisor(index, max_results=1)])
    response = client.call("go", session_id="ann")
    assert [(m.name, m.text, m.is_error) for m in results(response)] == [("tool_search", text, is_error)]
    assert response.text == "ok"


CALLS: list[tuple[ToolCall, str, bool]] = [
    # a tool call, its tool result, whether it is an error
    (
        ToolCall("1", "get_wether", "{}"),
        "There is no tool 'get_wether'. Did you mean 'get_weather'? Find the tool you need with tool_search first.",
        True,
    ),
    (
        ToolCall("1", "zzz", "{}"),
        "There is no tool 'zzz'. Find the tool you need with tool_search first.",
        True,
    ),
    (
        ToolCall("1", "secret", "{}"),
        "There is no tool 'secret'. Find the tool you need with tool_search first.",
        True,
    ),
    (ToolCall("1", "", "{}"), "There is no tool ''. Find the tool you need with tool_search first.", True),
    (
        ToolCall("1", "send_mail", "not json"),
        (
            "send_mail was not in your tool list and has not been run. It is in your list now; call it again with "
            'arguments of this schema:\n{"type": "object", "properties": {"to": {"type": "string"}}, '
            '"required": ["to"], "additionalProperties": false}'
        ),
        False,
    ),
    (ToolCall("1", "get_weather", '{"city": "Delft"}'), "1 days of sun in Delft", False),
    (
        ToolCall("1", "get_weather", '{"city": "Delft", "days": "two"}'),
        (
            "Invalid arguments for get_weather:\n- 'days': expected integer, got \"two\"\n"
            "Required: city. All arguments: city, days."
        ),
        True,
    ),
    (
        ToolCall("1", "get_weather", '{"city": '),
        (
            "The arguments of get_weather are not valid JSON (Expecting value at the end; the text seems to be "
            "cut off); send one JSON object. "
            "Required: city. All arguments: city, days."
        ),
        True,
    ),
]


@pytest.mark.parametrize(("call", "text", "is_error"), CALLS, ids=lambda value: str(value)[:30])
def test_results_of_calls(call: ToolCall, text: str, is_error: bool) -> None:
    secret = Tool("secret", "For admins.", fn=lambda: "hidden", parameters={})
    advisor = ToolSearchAdvisor("regex", pinned=["get_weather"], tool_filter=lambda tool, _: tool.name != "secret")
    model = ScriptedChatModel([[call], "ok"])
    response = ChatClient(model, tools=[get_weather, send_mail, secret], advisors=[advisor]).call("go")
    assert [(m.name, m.text, m.is_error) for m in results(response)] == [(call.name, text, is_error)]


def test_an_error_of_a_tool_becomes_its_result(ask: Ask) -> None:
    model = ScriptedChatModel([[("send_mail", {"to": "ann"}), ("get_weather", {"city": "Delft"})], "ok"])
    response = ask(ChatClient(model, tools=[get_weather, send_mail]), "go").response
    assert [(m.text, m.is_error) for m in results(response)] == [
        ("ConnectionError: the mail server is down", True),
        ("1 days of sun in Delft", False),
    ]
    assert response.text == "ok"


def test_a_timeout_of_a_tool_becomes_its_result(ask: Ask) -> None:
    released = threading.Event()
    slow = Tool("slow", "Slow.", {}, lambda: released.wait(30), timeout=0.05)
    model = ScriptedChatModel([[("slow", {}), ("get_weather", {"city": "Delft"})], "ok"])
    try:
        response = ask(ChatClient(model, tools=[slow, get_weather]), "go").response
    finally:
        released.set()
    text = "slow did not answer within 0.05 seconds; it may still be running."
    assert [(m.text, m.is_error) for m in results(response)] == [(text, True), ("1 days of sun in Delft", False)]


class Cancelled(BaseException):
    """Not an `Exception`, so it never becomes a tool result."""


def test_a_base_exception_of_a_tool_ends_the_turn(ask: Ask) -> None:
    def cancelled() -> None:
        raise Cancelled

    tool = Tool("cancelled", "Stops.", {}, cancelled)
    advisor = ToolSearchAdvisor("regex", pinned=["cancelled"])
    model = ScriptedChatModel([[("cancelled", {})], "never asked"])
    client = ChatClient(model, tools=[tool, get_weather], advisors=[advisor])
    with pytest.raises(Cancelled):
        ask(client, "go", session_id="ann")
    assert len(model.requests) == 1
    assert ask(client, "again", session_id="ann").response.text == "never asked"


def test_closing_a_stream_closes_the_model_stream_and_the_lease() -> None:
    advisor = ToolSearchAdvisor("regex", eviction=AlwaysEvict())
    model = ScriptedChatModel(["a long answer in pieces"])
    stream = ChatClient(model, tools=[get_weather], advisors=[advisor]).stream("go", session_id="ann")
    assert next(iter(stream)) == "a long a"
    assert (model.open_streams, len(advisor.disclosure.sessions)) == (1, 1)
    stream.close()
    assert (model.open_streams, len(advisor.disclosure.sessions)) == (0, 0)


@pytest.mark.parametrize("name", ["", "   ", None, 7], ids=["empty", "blank", "none", "number"])
def test_empty_tool_names_are_rejected(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        Tool(name)


@pytest.mark.parametrize(
    "name", ["a b", "x" * 200, "notion.search", "日本語", "../../etc", "naïve", "🙂", "a\nb", "\ud800"]
)
def test_names_that_providers_reject_are_replaced(ask: Ask, name: str) -> None:
    def answer(request: Any) -> Any:
        return "ok" if isinstance(request.messages[-1], ToolMessage) else [(request.tools[0].name, {})]

    model = ScriptedChatModel(answer)
    response = ask(ChatClient(model, tools=[Tool(name, "Do it.", {}, lambda: "done")]), "go").response
    sent = model.requests[0].tools[0].name
    assert 1 <= len(sent) <= 64
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in sent)
    assert [m.text for m in results(response)] == ["done"]


@pytest.mark.parametrize("index", ["regex", "bm25"])
@pytest.mark.parametrize(
    "description",
    [
        "",
        "word " * 200_000,
        "x" * 1_000_000,
        "天气预报工具",
        "ابحث عن الطقس",
        "พยากรณ์อากาศ",
        "🌦️🌧️",
        "\ud800\udfff",
        "a\x00b",
        "\u202eevil",
    ],
    ids=["empty", "many words", "one word", "Chinese", "Arabic", "Thai", "emoji", "surrogates", "nul", "override"],
)
def test_descriptions_of_any_size_and_script_are_searchable(index: str, description: str) -> None:
    tools = [Tool("forecast", description, {}, lambda: "sun"), Tool("other", "Something else.", {}, lambda: "no")]
    model = ScriptedChatModel([[("tool_search", {"query": "forecast"})], [("forecast", {})], "ok"])
    response = ChatClient(model, tools=tools, advisors=[ToolSearchAdvisor(index)]).call("go")
    found, ran = results(response)
    assert "- forecast" in found.text
    assert len(found.text) < 500
    assert ran.text == "sun"


def test_duplicate_and_reserved_names_are_rejected() -> None:
    def other(city: str) -> str:
        "Another one."
        return ""

    duplicate = Tool.from_function(other, name="get_weather", source="weather-server")
    with pytest.raises(DuplicateToolError, match=r"(?s)get_weather.*weather-server"):
        ChatClient(ScriptedChatModel(["ok"]), tools=[get_weather, duplicate])
    with pytest.raises(DuplicateToolError, match=r"tool_search.*reserved|reserved.*tool_search"):
        ChatClient(ScriptedChatModel(["ok"]), tools=[Tool("tool_search", "Mine.", {}, lambda: "")])


def test_an_incomplete_stream_is_an_error_and_ends_the_lease() -> None:
    advisor = ToolSearchAdvisor("regex")
    client = ChatClient(
        ScriptedChatModel([ScriptedStream("Hello", complete=False)]), tools=[get_weather], advisors=[advisor]
    )
    with pytest.raises(ProviderProtocolError, match="without"):
        "".join(client.stream("go", session_id="ann"))
    advisor.evict("ann")
    assert len(advisor.disclosure.sessions) == 0


def test_a_catastrophic_pattern_is_answered() -> None:
    tools = [Tool(f"tool_{i}", "a" * 60 + "!", {}, lambda: "") for i in range(50)]
    model = ScriptedChatModel([[("tool_search", {"query": r"(a+)+$|(\w+\s?)*!!$"})], "ok"])
    response = ChatClient(model, tools=tools, advisors=[ToolSearchAdvisor("regex")]).call("go")
    assert results(response)[0].text.startswith("No name or description matches")


def test_the_schema_of_the_search_tool() -> None:
    """The schema has plain parameter names and describes the range, and it contains nothing of the session."""
    model = ScriptedChatModel(["ok"])
    tools = [get_weather, Tool("open_pr", "Open.", {}, lambda: "", source="github")]
    advisor = ToolSearchAdvisor("bm25", max_results=3, max_results_limit=7)
    ChatClient(model, tools=tools, advisors=[advisor]).call("go", session_id="ann")
    search = model.requests[0].tools[0]
    assert search.parameters == {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool should do, in a few specific words, or its name.",
            },
            "max_results": {
                "type": "integer",
                "description": "How many tools to return at most: 1 to 7, 3 if left out.",
            },
            "category": {"type": "string", "description": "Only tools of this source or with this tag."},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert "ann" not in search.description


def test_history_with_unknown_tools_is_sent_unchanged(ask: Ask) -> None:
    model = ScriptedChatModel(["ok"])
    history = [AssistantMessage("", (ToolCall("1", "gone", "{}"),)), ToolMessage("1", "gone", "result")]
    client = ChatClient(model, tools=[get_weather], advisors=[ToolSearchAdvisor("regex")])
    assert ask(client, messages=history, session_id="ann").response.text == "ok"
