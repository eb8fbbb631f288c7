"""The scripted model calls the tools it sees, searches for the others, and gives up after its last phrasing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.benchmarks.savings import measure
from toolsearch.benchmarks.savings.payload import Payload, PayloadCounter
from toolsearch.benchmarks.savings.replay import ReplayModel
from toolsearch.benchmarks.savings.suites import bundled_suites
from toolsearch.benchmarks.savings.tasks import Step, Task, load_tasks
from toolsearch.chat import ChatModel
from toolsearch.chat.tokens import EstimateTokenCounter, count_json
from toolsearch.errors import ConfigurationError, IndexingError
from toolsearch.tools.names import wire_name

COUNTER = PayloadCounter(EstimateTokenCounter())
SEARCH = Tool("tool_search", "Find tools.", {"type": "object", "properties": {"query": {"type": "string"}}})
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
RING = Tool("ring_bell", "Ring the bell of the front door.", NO_ARGUMENTS, lambda: "ding")
LIGHT = Tool("light_lamp", "Light the lamp in the hall.", NO_ARGUMENTS, lambda: "lit")
OTHERS = [Tool(f"other_{n}", "Count the sheep of a field.", NO_ARGUMENTS, lambda: "many") for n in range(5)]


def step(tool: str, *phrasings: str, together: bool = False) -> Step:
    return Step(tool=tool, phrasings=phrasings or (tool,), with_previous=together)


def task(*steps: Step, **fields: Any) -> Task:
    return Task(id="t", prompt="Please.", steps=steps, **fields)


def ask(model: ReplayModel, *tools: Tool, messages: tuple[Any, ...] = (UserMessage("Please."),)) -> AssistantMessage:
    return model.call(ChatRequest(messages=messages, tools=tools)).message


def test_replay_model_is_a_chat_model() -> None:
    assert isinstance(ReplayModel(task(step("ring_bell")), COUNTER), ChatModel)


def test_sent_tool_is_called_with_the_arguments_of_the_task() -> None:
    model = ReplayModel(task(Step(tool="ring_bell", arguments={"times": 2}, phrasings=("x",))), COUNTER)
    (call,) = ask(model, RING, SEARCH).tool_calls
    assert (call.name, call.arguments) == ("ring_bell", '{"times": 2}')


def test_missing_tool_is_searched_with_each_phrasing_then_given_up() -> None:
    model = ReplayModel(task(step("ring_bell", "first words", "other words")), COUNTER)
    answers = [ask(model, SEARCH) for _ in range(3)]
    queries = [call.arguments for message in answers for call in message.tool_calls]
    assert queries == ['{"query": "first words"}', '{"query": "other words"}']
    assert answers[2].text
    assert not model.succeeded


def test_missing_tool_is_given_up_without_search() -> None:
    model = ReplayModel(task(step("ring_bell")), COUNTER)
    assert not ask(model, LIGHT).tool_calls
    assert not model.succeeded


def test_independent_steps_share_a_round() -> None:
    model = ReplayModel(task(step("ring_bell"), step("light_lamp", together=True)), COUNTER)
    assert [call.name for call in ask(model, RING, LIGHT).tool_calls] == ["ring_bell", "light_lamp"]
    model = ReplayModel(task(step("ring_bell"), step("light_lamp", together=True)), COUNTER)
    assert [call.name for call in ask(model, RING, SEARCH).tool_calls] == ["ring_bell", "tool_search"]


def test_step_waits_for_the_previous_one() -> None:
    model = ReplayModel(task(step("ring_bell"), step("light_lamp")), COUNTER)
    assert [call.name for call in ask(model, RING, LIGHT).tool_calls] == ["ring_bell"]


def test_call_ids_are_unique_in_a_conversation() -> None:
    model = ReplayModel(task(step("ring_bell", "a", "b"), step("light_lamp", "c", "d", together=True)), COUNTER)
    ids = [call.id for _ in range(2) for call in ask(model, SEARCH).tool_calls]
    assert len(ids) == len(set(ids)) == 4


def test_without_a_fitting_tool_it_searches_twice_and_calls_nothing() -> None:
    nothing = task(style="no_tool", phrasings=("a", "b", "c"))
    model = ReplayModel(nothing, COUNTER)
    answers = [ask(model, SEARCH, RING) for _ in range(3)]
    assert [len(message.tool_calls) for message in answers] == [1, 1, 0]
    assert model.succeeded
    plain = ReplayModel(nothing, COUNTER)
    assert not ask(plain, RING).tool_calls
    assert plain.succeeded


def test_failed_call_is_an_error_of_the_task() -> None:
    model = ReplayModel(task(step("ring_bell")), COUNTER)
    call = ask(model, RING).tool_calls[0]
    refused = (UserMessage("Please."), ToolMessage(call.id, "ring_bell", "'times' is missing", is_error=True))
    with pytest.raises(ConfigurationError, match=r"task 't', step 1 \(ring_bell\).*'times' is missing"):
        ask(model, RING, messages=refused)


def test_failed_search_is_an_error() -> None:
    model = ReplayModel(task(step("ring_bell", "a", "b")), COUNTER)
    call = ask(model, SEARCH).tool_calls[0]
    with pytest.raises(IndexingError, match="broken"):
        ask(model, SEARCH, messages=(UserMessage("x"), ToolMessage(call.id, "tool_search", "broken", is_error=True)))


def test_usage_is_the_tokens_of_payload_and_answer() -> None:
    request = ChatRequest(messages=[UserMessage("Please.")], tools=[RING, LIGHT])
    response = ReplayModel(task(step("ring_bell")), COUNTER).call(request)
    estimate = EstimateTokenCounter()
    definitions = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in (RING, LIGHT)
    ]
    sent = count_json(estimate, definitions) + count_json(estimate, [{"role": "user", "content": "Please."}])
    assert response.usage.input_tokens == sent == COUNTER.count(Payload.from_request(request))
    assert response.usage.output_tokens == count_json(estimate, {"name": "ring_bell", "arguments": "{}"})


def test_all_four_methods_play_the_same_round() -> None:
    request = ChatRequest(messages=[UserMessage("Please.")], tools=[RING])

    def model() -> ReplayModel:
        return ReplayModel(task(step("ring_bell")), COUNTER)

    async def of_stream() -> list[Any]:
        return [item async for item in model().astream(request)]

    expected = model().call(request)
    assert asyncio.run(model().acall(request)) == expected
    assert list(model().stream(request))[-1] == expected
    assert asyncio.run(of_stream())[-1] == expected


def test_task_ends_the_same_with_and_without_search() -> None:
    played = task(step("ring_bell", "ring the bell"), step("light_lamp", "light lamp"), answer="Both done.")
    outcomes = []
    for advisor in (ToolCallingAdvisor(), ToolSearchAdvisor("bm25")):
        model = ReplayModel(played, COUNTER)
        reply = ChatClient(model, tools=[*OTHERS, RING, LIGHT], advisors=[advisor]).call(played.prompt)
        outcomes.append((reply.text, model.succeeded, model.searches, len(model.exchanges)))
        assert reply.usage.input_tokens == sum(COUNTER.count(exchange.payload) for exchange in model.exchanges)
    assert outcomes == [("Both done.", True, 0, 3), ("Both done.", True, 2, 5)]


def test_tool_is_called_by_the_name_that_was_sent() -> None:
    model = ReplayModel(task(step("door/ring")), COUNTER)
    tools = [Tool("door/ring", "Ring.", NO_ARGUMENTS, lambda: "ding")]
    ChatClient(model, tools=tools, advisors=[ToolCallingAdvisor()]).call("Please.")
    assert model.succeeded


def test_calls_in_the_history_are_ignored() -> None:
    model = ReplayModel(task(step("ring_bell")), COUNTER)
    history = (
        AssistantMessage("", (ToolCall("old", "ring_bell", "{}"),)),
        ToolMessage("old", "ring_bell", "dong"),
        UserMessage("Again."),
    )
    assert ask(model, RING, messages=history).tool_calls


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[]", "a task must be a JSON object"),
        ('{"steps": [{"tool": "a"}]}', "prompt must be a non-empty string"),
        ('{"prompt": "x"}', "left out in a task of style no_tool"),
        ('{"prompt": "x", "style": "odd", "steps": []}', "style must be one of"),
        ('{"prompt": "x", "style": "no_tool", "steps": [{"tool": "a"}]}', "left out in a task of style no_tool"),
        ('{"prompt": "x", "steps": [{"tool": ""}]}', "tool must be a non-empty string"),
        ('{"prompt": "x", "steps": ["a"]}', "a step must be a JSON object"),
        ('{"prompt": "x", "steps": [{"tool": "a", "args": {}}]}', "a step does not have 'args'"),
        ('{"prompt": "x", "steps": [{"tool": "a", "arguments": []}]}', "arguments must be a JSON object"),
        ('{"prompt": "x", "steps": [{"tool": "a", "phrasings": []}]}', "phrasings must be a list"),
        ('{"prompt": "x", "tools": []}', "a task does not have 'tools'"),
        ('{"id": "same", "prompt": "x", "steps": [{"tool": "a"}]}', "id must be unique, got 'same' twice"),
        ("{", "is not JSON"),
    ],
)
def test_invalid_task_is_an_error_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "same", "prompt": "x", "steps": [{"tool": "a"}]}\n\n' + line + "\n")
    with pytest.raises(ConfigurationError, match=rf":3: .*{expected}"):
        load_tasks(path)


def test_task_needs_only_a_prompt_and_tools(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"prompt": "Ring the bell", "steps": [{"tool": "ring_bell"}]}\n')
    (loaded,) = load_tasks(path)
    assert loaded.id == "line-1"
    assert loaded.steps[0].phrasings == ("Ring the bell",)


def test_file_without_tasks_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n")
    with pytest.raises(ConfigurationError, match="has no tasks"):
        load_tasks(path)


def test_tasks_of_servers_use_the_names_that_are_sent(tmp_path: Path) -> None:
    """The names of several servers' tools have prefixes; a name that two servers use stays unknown."""
    tools = [
        Tool("log", "Log.", source="git").renamed("git_log"),
        Tool("search", "Search.", source="git").renamed("git_search"),
        Tool("search", "Search.", source="web").renamed("web_search"),
    ]
    path = tmp_path / "tasks.jsonl"
    steps = [{"tool": name} for name in ("log", "web_search", "search", "gone")]
    path.write_text(json.dumps({"id": "t", "prompt": "Go.", "steps": steps}), "utf-8")
    (task,) = load_tasks(path, tools, accept_unknown=True)
    assert [step.tool for step in task.steps] == ["git_log", "web_search", "search", "gone"]
    with pytest.raises(ConfigurationError, match="does not have a tool 'search'"):
        load_tasks(path, tools)


def test_bundled_tasks_can_be_played_on_prefixed_tools() -> None:
    """Each bundled task names tools that the bundled servers list."""
    listed = json.loads((Path(measure.__file__).parents[1] / "data" / "server_tools.json").read_text("utf-8"))
    tools = [
        Tool(name, source=server).renamed(wire_name(f"{server}_{name}"))
        for server, names in listed.items()
        for name in names
    ]
    sent = {tool.name for tool in tools}
    (suite, _) = bundled_suites(tools)
    assert [task.id for task in suite.tasks if not all(step.tool in sent for step in task.steps)] == []
