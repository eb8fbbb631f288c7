"""Structured output: typed answers, validation, retries, and the tool-calling loop."""

from __future__ import annotations

import csv
import dataclasses
import io
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    InMemoryRepository,
    Media,
    MemoryAdvisor,
    OutputError,
    ProviderError,
    StructuredOutputAdvisor,
    StructuredOutputError,
    SystemMessage,
    Tool,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolMessage,
    ToolSearchAdvisor,
    Usage,
    UserMessage,
)
from toolsearch.chat import OutputSchema
from toolsearch.models import OpenAIChatModel
from toolsearch.output import JsonOutputConverter
from toolsearch.testing import OpenAIWireServer, ScriptedChatModel, WireReply

GOOD = '{"city": "Gouda", "degrees": 12}'
BAD = '{"city": "Gouda", "degrees": "mild"}'
PROSE = "It is mild in Gouda."


class Report(BaseModel):
    city: str
    degrees: int


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Person(TypedDict):
    name: str


REPORT = Report(city="Gouda", degrees=12)


def weather(city: str) -> str:
    "Current weather in a city."
    weather_calls.append(city)
    return "12 degrees"


weather_calls: list[str] = []
CALL = [("weather", {"city": "Gouda"})]


@pytest.fixture(autouse=True)
def no_calls_yet() -> None:
    weather_calls.clear()


def model(*steps: Any, **options: Any) -> ScriptedChatModel:
    return ScriptedChatModel(steps, **options)


def texts(request: ChatRequest) -> list[str]:
    return [message.text for message in request.messages]


@pytest.mark.parametrize(
    ("output_type", "answer", "value"),
    [
        (Report, GOOD, REPORT),
        (Point, 'Sure: {"x": 1, "y": 2}.', Point(1, 2)),
        (Person, '```json\n{"name": "Ann"}\n```', {"name": "Ann"}),
        (list[Point], '[{"x": 1, "y": 2}]', [Point(1, 2)]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (dict, '{"a": [1]}', {"a": [1]}),
        (int | None, "null", None),
        (JsonOutputConverter(Report), GOOD, REPORT),
        (str, "Hello", "Hello"),
    ],
)
def test_output_has_the_requested_type(ask, output_type, answer, value):
    outcome = ask(ChatClient(model(answer)), "Go", output_type=output_type)
    assert outcome.response.output == value
    assert outcome.text_shown == outcome.response.text == answer


def test_output_is_none_without_a_type(ask):
    scripted = model(GOOD)
    assert ask(ChatClient(scripted), "Go").response.output is None
    assert texts(scripted.requests[0]) == ["Go"]


def test_instructions_end_the_user_message(ask):
    scripted = model(GOOD)
    ask(ChatClient(scripted, system="Be brief."), "Weather?", output_type=Report)
    system, user = texts(scripted.requests[0])
    assert system == "Be brief."
    assert user.startswith("Weather?\n\nAnswer with JSON")
    assert '"degrees"' in user
    assert scripted.requests[0].output_schema is None


def test_a_supporting_model_gets_the_schema_without_instructions(ask):
    scripted = model(GOOD, supports_output_schema=True)
    assert ask(ChatClient(scripted), "Weather?", output_type=Report).response.output == REPORT
    (request,) = scripted.requests
    assert texts(request) == ["Weather?"]
    assert request.output_schema == OutputSchema("Report", JsonOutputConverter(Report).schema)


def test_other_types_are_wrapped_in_an_object(ask):
    scripted = model('{"answer": [1, 2]}', supports_output_schema=True)
    assert ask(ChatClient(scripted), "Go", output_type=list[int]).response.output == [1, 2]
    assert scripted.requests[0].output_schema.schema["properties"] == {
        "answer": {"type": "array", "items": {"type": "integer"}}
    }


@pytest.mark.parametrize(
    ("options", "supported", "schema", "words"),
    [
        ({}, False, False, True),
        ({}, True, True, False),
        ({"native": False}, True, False, True),
        ({"instructions": True}, True, True, True),
        ({"instructions": False}, False, False, False),
        ({"native": False, "instructions": False}, True, False, False),
    ],
)
def test_native_and_instructions_select_how_the_model_is_asked(ask, options, supported, schema, words):
    scripted = model(GOOD, supports_output_schema=supported)
    client = ChatClient(scripted, advisors=[StructuredOutputAdvisor(Report, **options)])
    assert ask(client, "Go").response.output == REPORT
    (request,) = scripted.requests
    assert (request.output_schema is not None, "JSON Schema" in request.messages[-1].text) == (schema, words)


def test_an_answer_that_does_not_fit_is_sent_back_with_its_problems(ask):
    scripted = model(PROSE, BAD, GOOD)
    response = ask(ChatClient(scripted), "Go", output_type=Report).response
    assert response.output == REPORT
    first, second, third = map(texts, scripted.requests)
    assert second[:-2] == third[:-2] == first
    assert second[-2] == PROSE
    assert "not the JSON" in second[-1]
    assert third[-2] == BAD
    assert "'degrees'" in third[-1]
    assert [type(message) for message in scripted.requests[2].messages] == [UserMessage, AssistantMessage, UserMessage]


def test_only_the_accepted_answer_enters_the_conversation(ask):
    response = ask(ChatClient(model(PROSE, GOOD)), "Go", output_type=Report).response
    assert response.messages == (AssistantMessage(GOOD),)


def test_an_empty_answer_is_described_instead_of_sent_back(ask):
    scripted = model("", GOOD)
    assert ask(ChatClient(scripted), "Go", output_type=Report).response.output == REPORT
    (message,) = scripted.requests[1].messages
    assert message.text.startswith("Go\n\nAnswer with JSON")
    assert "The answer is empty" in message.text


def test_an_empty_answer_after_tools_is_described(ask):
    scripted = model(CALL, "", GOOD)
    assert ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report).response.output == REPORT
    assert [message.role for message in scripted.requests[2].messages] == ["user", "assistant", "tool", "user"]


def test_a_server_that_ignores_the_schema_gets_instructions(ask):
    scripted = model(PROSE, GOOD, supports_output_schema=True)
    assert ask(ChatClient(scripted), "Go", output_type=Report).response.output == REPORT
    first, second = scripted.requests
    assert "JSON Schema" not in first.messages[-1].text
    assert "JSON Schema" in second.messages[-1].text
    assert first.output_schema == second.output_schema is not None


def test_usage_counts_all_attempts(ask):
    scripted = model(CALL, PROSE, BAD, GOOD, usage=Usage(100, 10, cache_read_tokens=5))
    response = ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report).response
    assert response.usage == Usage(400, 40, cache_read_tokens=20)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_the_error_after_all_retries_holds_the_turn(ask, retries):
    scripted = model(CALL, *[BAD] * (retries + 1), usage=Usage(10, 1))
    client = ChatClient(scripted, tools=[weather], advisors=[StructuredOutputAdvisor(Report, retries=retries)])
    with pytest.raises(StructuredOutputError, match=rf"after {retries + 1} attempts?: .*(\n.*)*'degrees'") as raised:
        ask(client, "Go")
    assert scripted.remaining == 0
    error = raised.value
    assert "'degrees'" in error.problem
    assert error.response.text == BAD
    assert error.response.output is None
    assert error.response.usage == Usage(10 * (retries + 2), retries + 2)
    assert [message.role for message in error.response.messages] == ["assistant", "tool", "assistant"]
    assert isinstance(error.__cause__, OutputError)


def test_raise_on_failure_false_returns_the_last_response(ask):
    client = ChatClient(
        model(PROSE, BAD), advisors=[StructuredOutputAdvisor(Report, retries=1, raise_on_failure=False)]
    )
    outcome = ask(client, "Go")
    assert (outcome.response.output, outcome.response.text, outcome.text_shown) == (None, BAD, BAD)


def test_validate_false_parses_without_retries(ask):
    advisor = StructuredOutputAdvisor(Report, validate=False)
    client = ChatClient(model(GOOD, BAD), advisors=[advisor])
    assert ask(client, "Go").response.output == REPORT
    outcome = ask(client, "Go")
    assert (outcome.response.output, outcome.text_shown) == (None, BAD)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_truncated_answer_is_not_retried(ask, reason):
    cut = ChatResponse.from_text(GOOD[:20], finish_reason=reason)
    with pytest.raises(StructuredOutputError, match=r"cut off.*allow more output tokens") as raised:
        ask(ChatClient(model(cut)), "Go", output_type=Report)
    assert raised.value.response.finish_reason == reason


def test_a_complete_answer_before_a_truncation_is_accepted(ask):
    cut = ChatResponse.from_text(GOOD + " As you can s", finish_reason="length")
    assert ask(ChatClient(model(cut)), "Go", output_type=Report).response.output == REPORT


@pytest.mark.parametrize("reason", ["refusal", "content_filter"])
def test_a_refusal_is_not_retried(ask, reason):
    refusal = ChatResponse.from_text("I cannot help with that.", finish_reason=reason)
    with pytest.raises(StructuredOutputError, match=r"refused to answer.*I cannot help"):
        ask(ChatClient(model(refusal)), "Go", output_type=Report)


# Tools


def test_a_round_with_tool_calls_is_not_validated(ask):
    scripted = model(AssistantMessage(PROSE, CALLS), GOOD)
    response = ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report).response
    assert response.output == REPORT
    assert weather_calls == ["Gouda"]
    assert scripted.remaining == 0
    assert [message.role for message in response.messages] == ["assistant", "tool", "assistant"]


CALLS = ScriptedChatModel([CALL]).call(ChatRequest(messages=())).tool_calls


def test_a_retry_does_not_run_tools_again(ask):
    scripted = model(CALL, PROSE, BAD, GOOD)
    response = ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report).response
    assert response.output == REPORT
    assert weather_calls == ["Gouda"]
    assert len(scripted.requests) == 4
    assert len(response.messages) == 3


def test_a_retry_can_call_tools(ask):
    scripted = model(PROSE, CALL, GOOD)
    response = ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report).response
    assert response.output == REPORT
    assert weather_calls == ["Gouda"]
    assert [message.role for message in scripted.requests[2].messages] == ["user", "assistant", "tool"]
    assert PROSE not in texts(scripted.requests[2])


def test_retries_are_counted_per_turn(ask):
    scripted = model(PROSE, CALL, PROSE, CALL, PROSE)
    client = ChatClient(scripted, tools=[weather], advisors=[StructuredOutputAdvisor(Report, retries=2)])
    with pytest.raises(StructuredOutputError, match="after 3 attempts"):
        ask(client, "Go")
    assert scripted.remaining == 0


def test_instructions_keep_their_position_in_every_round(ask):
    scripted = model(CALL, PROSE, CALL, GOOD)
    ask(ChatClient(scripted, tools=[weather]), "Go", output_type=Report)
    first, second, third, fourth = (request.messages for request in scripted.requests)
    assert first == second[:1]
    assert second == third[: len(second)]
    assert second == fourth[: len(second)]
    assert sum("JSON Schema" in text for text in texts(scripted.requests[3])) == 1


def towns(city: str) -> str:
    "Current weather in a city."
    return "12 degrees"


SEARCHED = [tool for number in range(30) for tool in [Tool.from_function(towns, name=f"weather_{number}")]]


def test_a_search_round_is_not_retried(ask):
    search = [("tool_search", {"query": "weather city"})]
    scripted = model(search, search, [("weather_0", {"city": "Gouda"})], PROSE, BAD, GOOD)
    client = ChatClient(scripted, tools=SEARCHED, advisors=[ToolSearchAdvisor("regex", max_results=10)])
    response = ask(client, "Go", output_type=Report, session_id="ann").response
    assert response.output == REPORT
    assert len(scripted.requests) == 6
    assert response.tool_search is not None
    assert len(response.tool_search.searches) == 2
    roles = [message.role for message in response.messages]
    assert roles == ["assistant", "tool"] * 3 + ["assistant"]
    tools = [[tool.name for tool in request.tools] for request in scripted.requests]
    assert tools[3] == tools[4] == tools[5]


def test_direct_results_are_not_validated(ask):
    direct = Tool.from_function(weather, return_direct=True)
    scripted = model(CALL)
    response = ask(ChatClient(scripted, tools=[direct]), "Go", output_type=Report).response
    assert (response.text, response.finish_reason, response.output) == ("12 degrees", "return_direct", None)


def test_a_turn_that_ends_at_a_limit_is_not_validated(ask):
    limited = ToolCallingAdvisor(limits=ToolCallLimits(total=1))
    scripted = model(CALL, CALL)
    response = ask(ChatClient(scripted, tools=[weather], advisors=[limited]), "Go", output_type=Report).response
    assert (response.finish_reason, response.output) == ("tool_call_limit", None)


def test_answers_are_validated_without_the_loop(ask):
    scripted = model(CALL, PROSE, GOOD)
    client = ChatClient(scripted, tools=[weather], tool_calling=False)
    response = ask(client, "Go", output_type=Report).response
    assert (response.output, [call.name for call in response.tool_calls]) == (None, ["weather"])
    assert ask(client, "Go", output_type=Report).response.output == REPORT


def test_should_continue_of_the_loop_is_respected(ask):
    loop = ToolCallingAdvisor(should_continue=lambda response: response.text == "WAIT")
    scripted = model("WAIT", GOOD)
    response = ask(ChatClient(scripted, advisors=[loop]), "Go", output_type=Report).response
    assert response.output == REPORT
    assert texts(scripted.requests[1])[-1] == "WAIT"


# Streams


def test_a_stream_shows_only_the_accepted_text(ask_streaming):
    scripted = model(AssistantMessage("Let me look.", CALLS), PROSE, BAD, GOOD)
    outcome = ask_streaming(ChatClient(scripted, tools=[weather]), "Go", output_type=Report)
    assert outcome.text_shown == GOOD
    assert outcome.response.output == REPORT


def test_a_stream_shows_nothing_before_the_answer_is_accepted():
    scripted = model(PROSE, GOOD)
    with ChatClient(scripted).stream("Go", output_type=Report) as stream:
        assert next(iter(stream))
        assert scripted.remaining == 0


def test_a_stream_whose_answers_all_fail_shows_nothing():
    shown = []
    stream = ChatClient(model(*[PROSE] * 4)).stream("Go", output_type=Report)
    with pytest.raises(StructuredOutputError):
        shown.extend(stream)
    assert shown == []


def test_a_stream_without_validation_is_live():
    scripted = model(GOOD)
    client = ChatClient(scripted, advisors=[StructuredOutputAdvisor(Report, validate=False)])
    with client.stream("Go") as stream:
        pieces = iter(stream)
        assert next(pieces) == GOOD[: len(GOOD) // 3 + 1]
        assert scripted.open_streams == 1
        assert "".join(pieces)
        assert stream.response.output == REPORT


def test_a_stream_that_is_left_early_is_closed():
    scripted = model(CALL, PROSE, GOOD)
    with ChatClient(scripted, tools=[weather]).stream("Go", output_type=Report) as stream:
        next(iter(stream.events()))
    assert scripted.open_streams == 0


# The advisor and its options


def test_output_type_of_a_call_replaces_the_clients(ask):
    scripted = model(GOOD, "[1]", PROSE, "text")
    client = ChatClient(scripted, advisors=[StructuredOutputAdvisor(Report, retries=0)])
    assert ask(client, "Go").response.output == REPORT
    assert ask(client, "Go", output_type=list[int]).response.output == [1]
    with pytest.raises(StructuredOutputError, match="after 1 attempt:"):
        ask(client, "Go", output_type=dict)
    assert ask(client, "Go", output_type=str).response.output == "text"
    assert texts(scripted.requests[-1]) == ["Go"]


def test_an_advisor_without_a_type_sets_options_only(ask):
    scripted = model(PROSE, PROSE)
    client = ChatClient(scripted, advisors=[StructuredOutputAdvisor(retries=0)])
    assert ask(client, "Go").response.output is None
    assert texts(scripted.requests[0]) == ["Go"]
    with pytest.raises(StructuredOutputError, match="after 1 attempt:"):
        ask(client, "Go", output_type=Report)


def test_each_turn_has_its_own_retries():
    client = ChatClient(model(PROSE, GOOD, PROSE, GOOD), advisors=[StructuredOutputAdvisor(Report, retries=1)])
    assert [client.call("Go").output for _ in range(2)] == [REPORT, REPORT]


def test_an_outer_retry_resets_the_retries(ask):
    class Again:
        order = 100

        def advise(self, request):
            try:
                return (yield request)
            except StructuredOutputError:
                return (yield request)

    scripted = model(PROSE, PROSE, PROSE, GOOD)
    client = ChatClient(scripted, advisors=[Again(), StructuredOutputAdvisor(Report, retries=1)])
    assert ask(client, "Go").response.output == REPORT


def test_inner_advisors_see_every_attempt(ask):
    class Seen:
        order = 900

        def __init__(self):
            self.texts = []

        def advise(self, request):
            response = yield request
            self.texts.append(response.text)
            return response

    seen = Seen()
    ask(ChatClient(model(PROSE, GOOD), advisors=[seen]), "Go", output_type=Report)
    assert seen.texts == [PROSE, GOOD]


def test_model_errors_are_raised(ask):
    with pytest.raises(ProviderError, match="down"):
        ask(ChatClient(model(PROSE, ProviderError("down"))), "Go", output_type=Report)


def test_the_advisor_works_without_a_client():
    flow = StructuredOutputAdvisor(Report).advise(ChatRequest(messages=[UserMessage("Go")]))
    asked = next(flow)
    assert asked.buffered
    assert flow.send(ChatResponse.from_text(PROSE)).messages[-2] == AssistantMessage(PROSE)
    with pytest.raises(StopIteration) as stop:
        flow.send(ChatResponse.from_text(GOOD))
    assert stop.value.value.output == REPORT


def test_output_type_works_with_a_loop_of_a_high_order(ask):
    scripted = model(CALL, PROSE, GOOD)
    client = ChatClient(scripted, tools=[weather], advisors=[ToolCallingAdvisor(order=2000)])
    assert ask(client, "Go", output_type=Report).response.output == REPORT
    assert weather_calls == ["Gouda"]


def test_an_advisor_outside_the_loop_is_rejected():
    with pytest.raises(ConfigurationError, match="must be inside ToolCallingAdvisor"):
        ChatClient(model(GOOD), advisors=[StructuredOutputAdvisor(Report, order=100)]).call("Go")


def test_an_advisor_outside_a_memory_is_rejected():
    memory = MemoryAdvisor(ChatMemory(InMemoryRepository()), order=900)
    with pytest.raises(ConfigurationError, match="must be inside MemoryAdvisor"):
        ChatClient(model(GOOD), advisors=[StructuredOutputAdvisor(Report), memory]).call("Go")


@pytest.mark.parametrize("order", [200, 400, 900])
def test_memory_stores_only_the_prompt_and_the_accepted_answer(ask, order):
    repository = InMemoryRepository()
    scripted = model(CALL, PROSE, GOOD, *[PROSE] * 4, GOOD)
    client = ChatClient(scripted, tools=[weather], advisors=[MemoryAdvisor(ChatMemory(repository), order=order)])
    ask(client, "Weather?", output_type=Report, session_id="ann")
    with pytest.raises(StructuredOutputError) as raised:
        ask(client, "Really?", output_type=Report, session_id="ann")
    assert [message.text for message in raised.value.response.messages] == [PROSE]
    ask(client, "Again?", output_type=Report, session_id="ann")
    tools = [] if order < 300 else ["", "12 degrees"]
    *past, last = texts(scripted.requests[-1])
    assert past == ["Weather?", *tools, GOOD]
    assert last.startswith("Again?\n\nAnswer with JSON")


def test_an_advisor_between_can_ask_again_after_a_failure(ask):
    class Fallback:
        order = 500

        def advise(self, request):
            try:
                return (yield request)
            except StructuredOutputError:
                return (yield request.replace(options={"model": "better"}))

    scripted = model(PROSE, GOOD)
    client = ChatClient(scripted, advisors=[Fallback(), StructuredOutputAdvisor(Report, retries=0)])
    outcome = ask(client, "Go")
    assert (outcome.response.output, outcome.text_shown) == (REPORT, GOOD)
    assert scripted.requests[1].options == {"model": "better"}


def test_two_advisors_are_rejected():
    twice = [StructuredOutputAdvisor(Report), StructuredOutputAdvisor(dict)]
    with pytest.raises(ConfigurationError, match="got 2"):
        ChatClient(model(GOOD), advisors=twice).call("Go")


@pytest.mark.parametrize(
    ("retries", "says"),
    [
        (-1, "retries must be 0 or more, got -1"),
        ("3", "retries must be an integer, got '3'"),
        (True, "retries must be an integer, got True"),
        (None, "retries must be an integer, got None"),
    ],
)
def test_invalid_retries_are_rejected(retries, says):
    with pytest.raises(ConfigurationError, match=says):
        StructuredOutputAdvisor(Report, retries=retries)


def test_an_unsupported_type_is_rejected_before_the_model_is_called():
    scripted = model(GOOD)
    with pytest.raises(ConfigurationError, match="the output type must be one that JSON can express"):
        ChatClient(scripted).call("Go", output_type=object())
    assert scripted.requests == []


@pytest.mark.parametrize(
    ("messages", "at"),
    [
        ([UserMessage("a"), AssistantMessage("b"), UserMessage("c")], 2),
        ([UserMessage("a", media=(Media("image/png", b"x"),))], 0),
        ([UserMessage("a"), AssistantMessage("", CALLS), ToolMessage("call_1", "weather", "12")], 0),
        ([UserMessage(""), AssistantMessage("b")], 0),
        ([SystemMessage("s")], 1),
    ],
)
def test_the_instructions_go_to_the_last_user_message(messages, at):
    scripted = model(GOOD)
    ChatClient(scripted).call(messages=messages, output_type=Report)
    sent = scripted.requests[0].messages
    assert [i for i, text in enumerate(texts(scripted.requests[0])) if "JSON Schema" in text] == [at]
    assert isinstance(sent[at], UserMessage)
    assert not sent[at].text.startswith("\n")
    if at < len(messages):
        assert sent[at].text.startswith(messages[at].text)
        assert sent[at].media == messages[at].media
        assert [m for i, m in enumerate(sent) if i != at] == [m for i, m in enumerate(messages) if i != at]


def test_instructions_are_added_once():
    told = UserMessage(f"Go\n\n{JsonOutputConverter(Report).instructions}")
    scripted = model(GOOD)
    ChatClient(scripted).call(told, output_type=Report)
    assert scripted.requests[0].messages == (told,)


# Other formats


class CsvConverter:
    """Rows of a header and values."""

    instructions = "Answer in CSV with the header name,age and nothing else."
    schema = None

    def parse(self, text: str) -> list[dict[str, str]]:
        rows = list(csv.DictReader(io.StringIO(text.strip())))
        if not rows or set(rows[0]) != {"name", "age"}:
            raise OutputError("The header must be name,age.")
        return rows


def test_a_converter_of_another_format(ask):
    scripted = model("Ann is 3", "name,age\nAnn,3\n", supports_output_schema=True)
    response = ask(ChatClient(scripted), "Go", output_type=CsvConverter()).response
    assert response.output == [{"name": "Ann", "age": "3"}]
    assert scripted.requests[0].output_schema is None
    assert texts(scripted.requests[0]) == [f"Go\n\n{CsvConverter.instructions}"]
    assert "The header must be name,age." in texts(scripted.requests[1])[-1]


def test_only_value_errors_of_a_converter_are_sent_back(ask):
    class Number:
        instructions = "Answer with a number."
        schema = None

        def parse(self, text):
            if text == "boom":
                raise KeyError(text)
            return float(text)

    scripted = model("one", "1.5", "boom")
    client = ChatClient(scripted)
    assert ask(client, "Go", output_type=Number()).response.output == 1.5
    assert "could not convert" in texts(scripted.requests[1])[-1]
    with pytest.raises(KeyError):
        ask(client, "Go", output_type=Number())


def test_a_converter_can_name_its_schema():
    class Named:
        name = "my report!"
        instructions = ""
        schema = {"type": "object", "properties": {}, "additionalProperties": False}

        def parse(self, text):
            return text

    scripted = model("{}", supports_output_schema=True)
    assert ChatClient(scripted).call("Go", output_type=Named()).output == "{}"
    assert scripted.requests[0].output_schema.name.startswith("my_report")


# The wire


@pytest.fixture
def wire():
    """Return a function that calls a real adapter and returns the response and the requests sent."""
    pytest.importorskip("openai")

    def connect(ask: Any, *steps: Any, model_options: Any = None, **arguments: Any) -> tuple[ChatResponse, list[Any]]:
        with OpenAIWireServer(steps) as server:
            options = {"base_url": server.base_url, "api_key": "x", "max_retries": 0, **(model_options or {})}
            adapter = OpenAIChatModel("m", **options)
            try:
                response = ask(ChatClient(adapter, tools=[weather]), "Go", **arguments).response
            finally:
                adapter.close()
            return response, [request.json for request in server.requests]

    return connect


def test_openai_gets_a_strict_schema_in_every_round(ask_sync, wire):
    response, sent = wire(ask_sync, CALL, PROSE, GOOD, output_type=Report)
    assert response.output == REPORT
    expected = {
        "type": "json_schema",
        "json_schema": {
            "name": "Report",
            "schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
                "required": ["city", "degrees"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
    assert [body["response_format"] for body in sent] == [expected] * 3


def test_openai_gets_a_lax_schema_if_strict_is_impossible(ask_sync, wire):
    response, (body,) = wire(ask_sync, '{"a": 1}', output_type=dict[str, int])
    assert response.output == {"a": 1}
    assert body["response_format"]["json_schema"]["strict"] is False


def test_openai_gets_no_format_without_a_type(ask_sync, wire):
    _, (body,) = wire(ask_sync, PROSE)
    assert "response_format" not in body


def test_an_explicit_response_format_wins(ask_sync, wire):
    response, (body,) = wire(ask_sync, GOOD, output_type=Report, options={"response_format": {"type": "json_object"}})
    assert response.output == REPORT
    assert body["response_format"] == {"type": "json_object"}


def test_an_openai_server_without_schemas_gets_instructions(ask_sync, wire):
    response, (body,) = wire(ask_sync, GOOD, output_type=Report, model_options={"output_schema": False})
    assert response.output == REPORT
    assert "response_format" not in body
    assert "JSON Schema" in body["messages"][-1]["content"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_over_the_wire_ends_the_turn(streamed):
    pytest.importorskip("openai")
    message = {"role": "assistant", "content": None, "refusal": "I will not."}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    deltas = [{"refusal": "I will "}, {"refusal": "not."}]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    reply = WireReply(events=events) if streamed else WireReply(body={"id": "x", "object": "chat.completion", **whole})
    with OpenAIWireServer([reply]) as server, OpenAIChatModel("m", base_url=server.base_url, api_key="x") as adapter:
        client = ChatClient(adapter)
        with pytest.raises(StructuredOutputError, match=r"refused to answer.*I will not\."):
            list(client.stream("Go", output_type=Report)) if streamed else client.call("Go", output_type=Report)
        assert len(server.requests) == 1


def test_importing_the_library_does_not_import_pydantic():
    code = "import sys, toolsearch; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
