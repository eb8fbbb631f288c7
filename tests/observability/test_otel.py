"""`OpenTelemetryObserver`: span trees and metrics in every driver, and the content they leave out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import anyio
import pytest

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    ProviderError,
    Tool,
    ToolCall,
    ToolSearchAdvisor,
    Usage,
)
from toolsearch.loop import Perform
from toolsearch.models import OpenAIChatModel
from toolsearch.observability import OpenTelemetryObserver
from toolsearch.testing import OpenAIWireServer, ScriptedChatModel, ScriptedStream

Tree = dict[str, Any]


class Telemetry:
    """OpenTelemetry SDK with exporters in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader])
        self.tracer = self.tracers.get_tracer("application")

    def observer(self, **options: Any) -> OpenTelemetryObserver:
        """Return an observer that reports to this SDK."""
        return OpenTelemetryObserver(self.tracers, self.meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Return the ended spans in the order in which they started."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def span(self, name: str) -> ReadableSpan:
        """Return the only span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of the only span of that name."""
        return dict(self.span(name).attributes or {})

    def children(self, parent: ReadableSpan | None = None) -> list[Tree | str]:
        """Return the names of the spans below a span, as ``{name: [...]}`` for those with children, in order."""
        below: list[Tree | str] = []
        for span in self.spans:
            above = span.parent.span_id if span.parent is not None else None
            if above == (parent.context.span_id if parent is not None else None):
                further = self.children(span)
                below.append({span.name: further} if further else span.name)
        return below

    def points(self) -> dict[str, list[Any]]:
        """Return the data points of each metric by name."""
        data = self.reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        return {metric.name: list(metric.data.data_points) for metric in metrics}

    @property
    def everything(self) -> str:
        """Return all exported data as one string."""
        spans = "".join(span.to_json() for span in self.spans)
        return spans + str(self.points())


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


@pytest.fixture(autouse=True)
def no_span_is_left_current(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test that leaves a span current, or detaches one in another context than it was attached in."""
    assert not trace.get_current_span().get_span_context().is_valid
    yield
    assert not trace.get_current_span().get_span_context().is_valid
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []


def traced(telemetry: Telemetry, name: str, **options: Any) -> Tool:
    """Return a tool that creates a span."""

    def run(text: str = "") -> str:
        with telemetry.tracer.start_as_current_span(f"inside {name}"):
            return f"{name} says {text}"

    return Tool(
        name, f"The {name} tool.", {"type": "object", "properties": {"text": {"type": "string"}}}, run, **options
    )


def traced_async(telemetry: Telemetry, name: str) -> Tool:
    """Return an async tool that keeps a span open across a checkpoint."""

    async def run() -> str:
        with telemetry.tracer.start_as_current_span(f"inside {name}"):
            await anyio.lowlevel.checkpoint()
            return name

    return Tool(name, f"The {name} tool.", None, run)


class TracedModel(ScriptedChatModel):
    """Scripted model that keeps a span open for each request, like an instrumented HTTP client."""

    model_name = "tiny-1"
    provider_name = "acme"

    def __init__(self, telemetry: Telemetry, script: Any, **options: Any) -> None:
        super().__init__(script, **options)
        self.tracer = telemetry.tracer

    def call(self, request: ChatRequest) -> ChatResponse:
        with self.tracer.start_as_current_span("POST"):
            return super().call(request)

    async def acall(self, request: ChatRequest) -> ChatResponse:
        with self.tracer.start_as_current_span("POST"):
            await anyio.lowlevel.checkpoint()
            return await super().acall(request)

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        with self.tracer.start_as_current_span("POST"):
            yield from super().stream(request)

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        with self.tracer.start_as_current_span("POST"):
            async with aclosing(super().astream(request)) as items:
                async for item in items:
                    await anyio.lowlevel.checkpoint()
                    yield item


def weather_client(telemetry: Telemetry, **options: Any) -> ChatClient:
    """Return a client whose model searches, calls two tools at once, and answers."""
    script = [
        [("tool_search", {"query": "alpha secret-query"})],
        [("alpha", {"text": "secret-argument"}), ("beta", {"text": "x"})],
        "The secret-answer.",
    ]
    return ChatClient(
        TracedModel(telemetry, script, usage=Usage(100, 10, cache_read_tokens=40)),
        tools=[traced(telemetry, "alpha", source="letters"), traced(telemetry, "beta", timeout=60)],
        advisors=[ToolSearchAdvisor("bm25", pinned=["beta"])],
        observer=telemetry.observer(**options),
    )


def names(tree: list[Tree | str]) -> list[str]:
    """Return the tree in a form that does not depend on the order of parallel tools."""
    return sorted(str(branch) for branch in tree)


def test_span_tree_is_the_same_in_every_driver(telemetry: Telemetry, ask: Any) -> None:
    """The spans of user code in threads and tasks are children of the round or tool call they run in."""
    ask(weather_client(telemetry), "Which letter?", session_id="ann")
    (turn,) = telemetry.children()
    assert isinstance(turn, dict)
    assert list(turn) == ["invoke_agent"]
    chat = {"chat tiny-1": ["POST"]}
    assert names(turn["invoke_agent"]) == names(
        [
            chat,
            {"execute_tool tool_search": ["retrieval"]},
            chat,
            {"execute_tool alpha": ["inside alpha"]},
            {"execute_tool beta": ["inside beta"]},
            chat,
        ]
    )


def test_turn_is_a_child_of_the_current_span(telemetry: Telemetry, ask: Any) -> None:
    client = ChatClient(ScriptedChatModel(["Hello"]), observer=telemetry.observer(agent_name="greeter"))
    with telemetry.tracer.start_as_current_span("request"):
        ask(client, "Hi")
    assert telemetry.children() == [{"request": [{"invoke_agent greeter": ["chat"]}]}]
    assert telemetry.attributes("invoke_agent greeter")["gen_ai.agent.name"] == "greeter"


def test_attributes_follow_the_conventions(telemetry: Telemetry, ask: Any) -> None:
    model = TracedModel(telemetry, [ToolCall("c1", "alpha", "{}"), "Done"], usage=Usage(100, 10, cache_read_tokens=40))
    client = ChatClient(model, tools=[traced(telemetry, "alpha", source="letters")], observer=telemetry.observer())
    ask(client, "Go", session_id="ann", options={"temperature": 0, "max_tokens": 50})
    turn = telemetry.span("invoke_agent")
    assert turn.kind is SpanKind.INTERNAL
    assert dict(turn.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "tiny-1",
        "gen_ai.conversation.id": "ann",
        "gen_ai.usage.input_tokens": 200,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    first, second = [span for span in telemetry.spans if span.name == "chat tiny-1"]
    assert first.kind is SpanKind.CLIENT
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "tiny-1",
        "gen_ai.conversation.id": "ann",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "toolsearch.round": 1,
        "toolsearch.tools": 1,
    }
    if ask.streams:
        expected["gen_ai.request.stream"] = True
    assert dict(first.attributes or {}) == expected
    assert dict(second.attributes or {})["toolsearch.round"] == 2
    tool = telemetry.span("execute_tool alpha")
    assert tool.kind is SpanKind.INTERNAL
    assert tool.status.status_code is StatusCode.UNSET
    assert dict(tool.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "ann",
        "gen_ai.tool.name": "alpha",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "toolsearch.tool.source": "letters",
    }


def test_search_span_has_the_index_and_the_hits(telemetry: Telemetry, ask: Any) -> None:
    ask(weather_client(telemetry), "Which letter?")
    assert telemetry.attributes("retrieval") == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.top_k": 5,
        "gen_ai.data_source.id": "Bm25ToolIndex",
        "toolsearch.search.hits": 1,
    }


def test_search_span_has_the_reason_for_no_match(telemetry: Telemetry, ask: Any) -> None:
    client = ChatClient(
        ScriptedChatModel([[("tool_search", {"query": "xyzzy"})], "There is none."]),
        tools=[traced(telemetry, "alpha"), traced(telemetry, "beta")],
        advisors=[ToolSearchAdvisor("bm25")],
        observer=telemetry.observer(),
    )
    ask(client, "Which letter?")
    attributes = telemetry.attributes("retrieval")
    assert (attributes["toolsearch.search.hits"], attributes["toolsearch.search.reason"]) == (0, "no_match")


def test_upfront_search_is_a_child_of_the_turn(telemetry: Telemetry, ask: Any) -> None:
    client = ChatClient(
        ScriptedChatModel(["Hello"]),
        tools=[traced(telemetry, "alpha"), traced(telemetry, "beta")],
        advisors=[ToolSearchAdvisor("bm25", reveal_upfront=1)],
        observer=telemetry.observer(),
    )
    ask(client, "alpha")
    assert telemetry.children() == [{"invoke_agent": ["retrieval", "chat"]}]


def test_content_is_not_recorded_by_default(telemetry: Telemetry, ask: Any) -> None:
    ask(weather_client(telemetry), "The secret-question", context={"token": "secret-token"})
    assert "secret" not in telemetry.everything


def test_content_is_recorded_on_request(telemetry: Telemetry, ask: Any) -> None:
    ask(weather_client(telemetry, content=True), "The secret-question", context={"token": "hidden-token"})
    assert telemetry.attributes("execute_tool alpha")["gen_ai.tool.call.arguments"] == '{"text": "secret-argument"}'
    assert telemetry.attributes("execute_tool alpha")["gen_ai.tool.call.result"] == "alpha says secret-argument"
    assert telemetry.attributes("retrieval")["gen_ai.retrieval.query.text"] == "alpha secret-query"
    assert '"id":"alpha"' in telemetry.attributes("retrieval")["gen_ai.retrieval.documents"]
    last = [span for span in telemetry.spans if span.name == "chat tiny-1"][-1].attributes or {}
    assert "secret-question" in str(last["gen_ai.input.messages"])
    assert last["gen_ai.output.messages"] == (
        '[{"role":"assistant","parts":[{"type":"text","content":"The secret-answer."}],"finish_reason":"stop"}]'
    )
    assert "hidden-token" not in telemetry.everything


def failing(text: str) -> str:
    """Fail with a secret."""
    raise KeyError(f"secret-{text}")


@pytest.mark.parametrize("content", [False, True])
def test_definitions_of_tools_are_content(telemetry: Telemetry, ask: Any, content: bool) -> None:
    def get_weather(city: str) -> str:
        """Get the weather."""
        return "rain"

    model = ScriptedChatModel([[("get_weather", {"city": "Delft"})], "It rains."])
    ask(ChatClient(model, tools=[get_weather], observer=telemetry.observer(content=content)), "Hi")
    chat = next(span for span in telemetry.spans if span.name == "chat").attributes or {}
    called = telemetry.attributes("execute_tool get_weather")
    assert called.get("gen_ai.tool.description") == ("Get the weather." if content else None)
    if content:
        (definition,) = json.loads(str(chat["gen_ai.tool.definitions"]))
        assert (definition["type"], definition["name"]) == ("function", "get_weather")
        assert definition["parameters"]["required"] == ["city"]
    else:
        assert "gen_ai.tool.definitions" not in chat


@pytest.mark.parametrize("content", [False, True])
def test_answered_tool_error_fails_only_its_span(telemetry: Telemetry, ask: Any, content: bool) -> None:
    model = ScriptedChatModel([[("failing", {"text": "key"})], [("failing", {})], [("absent", {})], "Sorry"])
    client = ChatClient(model, tools=[failing], observer=telemetry.observer(content=content))
    ask(client, "Go")
    first, second, third = [span for span in telemetry.spans if span.name.startswith("execute_tool")]
    assert [span.status.status_code for span in (first, second, third)] == [StatusCode.ERROR] * 3
    types = [(span.attributes or {})["error.type"] for span in (first, second, third)]
    assert types == ["KeyError", "toolsearch.errors.ToolArgumentError", "unknown_tool"]
    assert telemetry.span("invoke_agent").status.status_code is StatusCode.UNSET
    assert ("secret-key" in telemetry.everything) is content
    assert [event.name for event in first.events] == (["exception"] if content else [])


def test_provider_error_fails_round_and_turn(telemetry: Telemetry, ask: Any) -> None:
    model = ScriptedChatModel([ProviderError("secret-body", status=429)])
    with pytest.raises(ProviderError):
        ask(ChatClient(model, observer=telemetry.observer()), "Hi")
    for name in ("chat", "invoke_agent"):
        assert telemetry.span(name).status.status_code is StatusCode.ERROR
        assert telemetry.attributes(name)["error.type"] == "429"
    assert "secret" not in telemetry.everything


def test_every_retry_is_a_span(telemetry: Telemetry, ask: Any) -> None:
    class Retry:
        order = 100

        def advise(self, request: ChatRequest) -> Any:
            try:
                return (yield request)
            except ProviderError:
                return (yield request)

    model = ScriptedChatModel([ProviderError("down", status=503), "Hello"])
    ask(ChatClient(model, advisors=[Retry()], observer=telemetry.observer()), "Hi")
    assert telemetry.children() == [{"invoke_agent": ["chat", "chat"]}]
    assert telemetry.span("invoke_agent").status.status_code is StatusCode.UNSET


class Interrupted(BaseException):
    """Interruption that is not an `Exception`, so it ends the turn at once."""


def test_interrupted_turn_ends_its_spans(telemetry: Telemetry, ask: Any) -> None:
    def stop() -> str:
        raise Interrupted

    client = ChatClient(ScriptedChatModel([[("stop", {})]]), tools=[stop], observer=telemetry.observer())
    with pytest.raises(Interrupted):
        ask(client, "Hi")
    assert telemetry.children() == [{"invoke_agent": ["chat", "execute_tool stop"]}]
    assert telemetry.attributes("invoke_agent")["error.type"].endswith("Interrupted")
    assert telemetry.attributes("execute_tool stop")["error.type"].endswith("Interrupted")


def test_spans_of_advisors_are_children_of_the_turn(telemetry: Telemetry, ask: Any) -> None:
    def spanned(name: str) -> None:
        with telemetry.tracer.start_as_current_span(name):
            pass

    class Lookup:
        order = 100

        def advise(self, request: ChatRequest) -> Any:
            yield Perform(lambda: spanned("look-up"))
            with telemetry.tracer.start_as_current_span("advisor"):
                response = yield request
                spanned("afterwards")
            return response

    ask(ChatClient(ScriptedChatModel(["Hello"]), advisors=[Lookup()], observer=telemetry.observer()), "Hi")
    (turn,) = telemetry.children()
    assert isinstance(turn, dict)
    assert names(turn["invoke_agent"]) == names(["look-up", {"advisor": ["afterwards"]}, "chat"])


def test_parallel_async_tools_keep_their_spans(telemetry: Telemetry, ask_async: Any) -> None:
    letters = [f"tool_{letter}" for letter in "abcd"]
    client = ChatClient(
        ScriptedChatModel([[(name, {}) for name in letters], "Done"]),
        tools=[traced_async(telemetry, name) for name in letters],
        observer=telemetry.observer(),
    )
    ask_async(client, "Go")
    (turn,) = telemetry.children()
    assert isinstance(turn, dict)
    tools = [branch for branch in turn["invoke_agent"] if isinstance(branch, dict)]
    assert names(tools) == names([{f"execute_tool {name}": [f"inside {name}"]} for name in letters])


def test_stream_consumer_keeps_its_span(telemetry: Telemetry) -> None:
    """The consumer's span is current between chunks, even if the model keeps a span open around a yield."""
    client = weather_client(telemetry)
    with telemetry.tracer.start_as_current_span("consumer") as consumer:
        seen = []
        with client.stream("Hi") as stream:
            for _ in stream.events():
                seen.append(trace.get_current_span())
                with telemetry.tracer.start_as_current_span("work"):
                    pass
    assert len(seen) > 10
    assert set(seen) == {consumer}
    (top,) = telemetry.children()
    assert isinstance(top, dict)
    assert [name for name in top["consumer"] if name != "work"] == [
        branch for branch in top["consumer"] if isinstance(branch, dict)
    ]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_stream_consumer_keeps_its_span(telemetry: Telemetry, backend: str) -> None:
    seen = []

    async def consume() -> None:
        with telemetry.tracer.start_as_current_span("consumer") as consumer:
            async with weather_client(telemetry).astream("Hi") as stream:
                async for _ in stream.events():
                    seen.append(trace.get_current_span() is consumer)

    anyio.run(consume, backend=backend)
    assert len(seen) > 10
    assert all(seen)


def test_interleaved_streams_do_not_mix(telemetry: Telemetry) -> None:
    client = ChatClient(TracedModel(telemetry, lambda request: "one two three"), observer=telemetry.observer())
    with client.stream("A", session_id="a") as first, client.stream("B", session_id="b") as second:
        for _ in zip(first, second, strict=True):
            pass
    assert telemetry.children() == [{"invoke_agent": [{"chat tiny-1": ["POST"]}]}] * 2
    ids = {span.context.trace_id: set() for span in telemetry.spans}  # type: ignore[var-annotated]  # wrong on purpose
    for span in telemetry.spans:
        ids[span.context.trace_id].add((span.attributes or {}).get("gen_ai.conversation.id"))
    assert sorted(sorted(filter(None, found)) for found in ids.values()) == [["a"], ["b"]]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_turns_in_parallel_tasks_do_not_mix(telemetry: Telemetry, backend: str) -> None:
    client = ChatClient(
        TracedModel(telemetry, lambda r: [("alpha", {})] if len(r.messages) == 1 else "done"),
        tools=[traced_async(telemetry, "alpha")],
        observer=telemetry.observer(),
    )

    async def one(number: int) -> None:
        with telemetry.tracer.start_as_current_span(f"request {number}"):
            async with client.astream("Hi") as stream:
                async for _ in stream:
                    await anyio.lowlevel.checkpoint()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(one, number)

    anyio.run(main, backend=backend)
    turn = {
        "invoke_agent": [{"chat tiny-1": ["POST"]}, {"execute_tool alpha": ["inside alpha"]}, {"chat tiny-1": ["POST"]}]
    }
    assert names(telemetry.children()) == names([{f"request {number}": [turn]} for number in range(4)])


def test_stream_read_in_another_thread_keeps_its_parent(telemetry: Telemetry) -> None:
    client = weather_client(telemetry)
    with telemetry.tracer.start_as_current_span("request"):
        stream = client.stream("Hi")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(list, stream.events()).result()
    (top,) = telemetry.children()
    assert isinstance(top, dict)
    (turn,) = top["request"]
    assert list(turn) == ["invoke_agent"]
    assert "'execute_tool alpha': ['inside alpha']" in str(turn)


def test_stream_closed_early_ends_its_spans_without_error(telemetry: Telemetry) -> None:
    client = ChatClient(TracedModel(telemetry, ["one two three"]), observer=telemetry.observer())
    with client.stream("Hi") as stream:
        next(iter(stream))
        assert [span.name for span in telemetry.spans] == []
    assert telemetry.children() == [{"invoke_agent": [{"chat tiny-1": ["POST"]}]}]
    for name in ("invoke_agent", "chat tiny-1"):
        assert telemetry.span(name).status.status_code is StatusCode.UNSET
        assert telemetry.attributes(name)["toolsearch.left_early"] is True


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_stream_closed_early_ends_its_spans_without_error(telemetry: Telemetry, backend: str) -> None:
    client = ChatClient(TracedModel(telemetry, ["one two three"]), observer=telemetry.observer())

    async def leave() -> None:
        async with client.astream("Hi") as stream:
            async for _ in stream:
                break

    anyio.run(leave, backend=backend)
    assert telemetry.children() == [{"invoke_agent": [{"chat tiny-1": ["POST"]}]}]
    assert telemetry.attributes("invoke_agent")["toolsearch.left_early"] is True


def test_unread_stream_has_no_span(telemetry: Telemetry) -> None:
    with ChatClient(ScriptedChatModel(["Hello"]), observer=telemetry.observer()).stream("Hi"):
        pass
    assert telemetry.spans == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_turn_ends_its_spans(telemetry: Telemetry, backend: str) -> None:
    async def main() -> None:
        started = anyio.Event()

        async def hang() -> str:
            started.set()
            await anyio.sleep_forever()
            return ""

        client = ChatClient(ScriptedChatModel([[("hang", {})]]), tools=[hang], observer=telemetry.observer())
        async with anyio.create_task_group() as group:
            group.start_soon(client.acall, "Hi")
            await started.wait()
            group.cancel_scope.cancel()

    anyio.run(main, backend=backend)
    assert telemetry.children() == [{"invoke_agent": ["chat", "execute_tool hang"]}]
    assert telemetry.attributes("invoke_agent")["error.type"].endswith(("CancelledError", "Cancelled"))


def test_broken_stream_fails_the_round(telemetry: Telemetry, ask_streaming: Any) -> None:
    model = ScriptedChatModel([ScriptedStream("Hello", after=1, complete=False)])
    with pytest.raises(ProviderError):
        ask_streaming(ChatClient(model, observer=telemetry.observer()), "Hi")
    assert telemetry.attributes("chat")["error.type"] == "toolsearch.errors.ProviderProtocolError"


def test_metrics_of_tokens_and_durations(telemetry: Telemetry, ask: Any) -> None:
    outcome = ask(weather_client(telemetry, agent_name="letters"), "Which letter?")
    points = telemetry.points()
    sent = {point.attributes["gen_ai.token.type"]: point for point in points["gen_ai.client.token.usage"]}
    assert (sent["input"].sum, sent["input"].count) == (300, 3)
    assert (sent["output"].sum, sent["output"].count) == (30, 3)
    assert dict(sent["input"].attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "tiny-1",
        "gen_ai.token.type": "input",
    }
    report = outcome.response.tool_search
    assert report.tokens_spent > 0
    (avoided,), (spent,) = points["toolsearch.tokens.avoided"], points["toolsearch.tokens.spent"]
    assert (avoided.value, spent.value) == (report.tokens_avoided, report.tokens_spent)
    assert dict(spent.attributes) == {"gen_ai.agent.name": "letters", "gen_ai.request.model": "tiny-1"}
    assert [point.count for point in points["gen_ai.client.operation.duration"]] == [3]
    assert [point.count for point in points["gen_ai.invoke_agent.duration"]] == [1]
    assert [point.count for point in points["gen_ai.retrieval.duration"]] == [1]
    tools = {point.attributes["gen_ai.tool.name"]: point.count for point in points["gen_ai.execute_tool.duration"]}
    assert tools == {"tool_search": 1, "alpha": 1, "beta": 1}
    span = telemetry.span("invoke_agent letters")
    (duration,) = points["gen_ai.invoke_agent.duration"]
    assert duration.sum == pytest.approx(((span.end_time or 0) - (span.start_time or 0)) / 1e9)


def test_invented_tool_names_are_one_metric_attribute(telemetry: Telemetry) -> None:
    model = ScriptedChatModel([[(f"invented_{number}", {})] for number in range(3)] + ["Sorry"])
    ChatClient(model, observer=telemetry.observer()).call("Go")
    (point,) = telemetry.points()["gen_ai.execute_tool.duration"]
    assert dict(point.attributes) == {
        "gen_ai.tool.name": "_OTHER",
        "gen_ai.tool.type": "function",
        "error.type": "unknown_tool",
    }
    assert point.count == 3


def test_unreported_usage_is_not_recorded(telemetry: Telemetry) -> None:
    ChatClient(ScriptedChatModel(["Hello"], usage=Usage()), observer=telemetry.observer()).call("Hi")
    assert "gen_ai.usage.input_tokens" not in telemetry.attributes("chat")
    assert "gen_ai.client.token.usage" not in telemetry.points()


def test_lone_surrogates_are_replaced(telemetry: Telemetry) -> None:
    model = ScriptedChatModel([AssistantMessage("", (ToolCall("c\ud800", "alpha", '{"text": "\ud800"}'),)), "\ud800"])
    client = ChatClient(model, tools=[traced(telemetry, "alpha")], observer=telemetry.observer(content=True))
    client.call("\ud800", session_id="s\ud800")
    for span in telemetry.spans:
        str(dict(span.attributes or {})).encode("utf-8")
    assert telemetry.attributes("invoke_agent")["gen_ai.conversation.id"] == "s\ufffd"


def test_openai_model_and_provider_are_recorded(telemetry: Telemetry, ask_sync: Any) -> None:
    with (
        OpenAIWireServer(["Hello"]) as server,
        OpenAIChatModel("gpt-5-mini", base_url=server.base_url, api_key="secret-key") as model,
    ):
        ask_sync(ChatClient(model, observer=telemetry.observer()), "Hi", options={"model": "gpt-5"})
    found = telemetry.attributes("chat gpt-5")
    assert found["gen_ai.provider.name"] == "openai"
    assert found["gen_ai.response.id"]
    assert found["gen_ai.response.model"]
    assert "secret-key" not in telemetry.everything


def test_without_an_observer_nothing_is_traced(telemetry: Telemetry, ask: Any) -> None:
    outcome = ask(ChatClient(ScriptedChatModel([[("alpha", {})], "Hello"]), tools=[traced(telemetry, "alpha")]), "Hi")
    assert outcome.response.text == "Hello"
    assert telemetry.children() == ["inside alpha"]


def test_importing_the_library_does_not_import_opentelemetry() -> None:
    code = (
        "import sys, toolsearch, toolsearch.testing as t\n"
        "toolsearch.ChatClient(t.ScriptedChatModel(['Hello'])).call('Hi')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_missing_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from toolsearch import MissingExtraError\n"
        "try:\n"
        "    from toolsearch.observability import OpenTelemetryObserver\n"
        "except MissingExtraError as error:\n"
        "    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'toolsearch[otel]'" in done.stdout


def test_application_name_in_the_first_position_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match=r"got 'porch'; write OpenTelemetryObserver\(agent_name='porch'\)"):
        OpenTelemetryObserver("porch")  # type: ignore[arg-type]  # wrong on purpose
