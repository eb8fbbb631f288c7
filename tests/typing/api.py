"""The types that applications rely on. Type checkers read this file; nothing runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import TypeAdapter

from toolsearch import (
    AssistantMessage,
    AsyncChatStream,
    CallOptions,
    ChatClient,
    ChatResponse,
    ChatStream,
    Message,
    StreamEvent,
    TokenPrice,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolContext,
    ToolReference,
    ToolSearchAdvisor,
    ToolSearchReport,
    Usage,
    UsageLimits,
    UserMessage,
    event_from_dict,
    message_from_dict,
    partial_response,
    tool,
)
from toolsearch.chat import ChatModel
from toolsearch.disclosure import Disclosure, DisclosureTurn, RevealingText, SessionToolIndex
from toolsearch.eviction import CompositeEviction, EvictionStrategy, LruEviction, TtlEviction
from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    RegexToolIndex,
    ToolIndex,
    ToolSearcher,
    ToolSearchResponse,
    VectorToolIndex,
)
from toolsearch.loop import Advisor, AdvisorFlow, ToolBatchResult
from toolsearch.memory import ChatMemory, InMemoryRepository, MemoryAdvisor, SqliteRepository
from toolsearch.models import OpenAIChatModel


def get_weather(city: str, context: ToolContext) -> str:
    """Return the weather in a city."""
    return f"sunny in {city} for {context.session_id}"


@tool
def send_mail(to: str) -> bool:
    """Send a mail."""
    return bool(to)


@dataclass
class Weather:
    """An output type."""

    degrees: int


class Place(TypedDict):
    """Another output type."""

    city: str


def calls(client: ChatClient) -> None:
    """Every way to call takes the same options and returns its own type."""
    options: CallOptions = {"session_id": "ann", "tenant_id": "acme", "options": {"temperature": 0}}
    reply = client.call("Hi", **options)
    assert_type(reply, ChatResponse)
    assert_type(reply.text, str)
    assert_type(reply.message, AssistantMessage)
    assert_type(reply.usage, Usage)
    assert_type(reply.usage.input_tokens, int)
    assert_type(reply.usage.cache_read_tokens, int | None)
    assert_type(reply.tool_search, ToolSearchReport | None)
    assert_type(client.stream(UserMessage("Hi")), ChatStream[None])
    assert_type(client.astream("Hi", context={"user": 1}), AsyncChatStream[None])
    assert_type(client.stream("Hi").partial, ChatResponse)
    assert_type(partial_response(ValueError()), ChatResponse | None)
    assert_type(client.run_tools(messages=reply.messages), ToolBatchResult)
    assert_type(
        client.call("Hi", output_type=Weather, tools=[get_weather, send_mail], tool_calling=False).output, Weather
    )
    client.call("Hi", sesion_id="ann")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    client.call("Hi", temperature=0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def outputs(client: ChatClient) -> None:
    """The output has the type that was asked for, and a response is one of any type if nothing else is said."""
    assert_type(client.call("Hi").output, None)
    assert_type(client.call("Hi", output_type=None).output, None)
    assert_type(client.call("Hi", output_type=list[int], session_id="ann").output, list[int])
    assert_type(client.call("Hi", output_type=Place).output, Place)
    assert_type(client.call("Hi", output_type=TypeAdapter(dict[str, int])).output, dict[str, int])
    assert_type(client.call("Hi", output_type={"type": "object"}).output, Any)
    assert_type(client.stream("Hi", output_type=int).response.output, int)
    assert_type(client.astream("Hi", output_type=int).response.output, int)
    report(client.call("Hi", output_type=int))


def messages_as_dicts(client: ChatClient) -> None:
    """Dicts and objects can be mixed."""
    client.call(messages=[{"role": "user", "content": "Hi"}, UserMessage("Hi")])
    reply = client.call(messages=[UserMessage("Hi")])
    assert_type(reply.to_dict(), dict[str, Any])
    assert_type(ChatResponse.from_dict(reply.to_dict()), ChatResponse)
    assert_type(message_from_dict({}), Message)
    assert_type(event_from_dict({}), StreamEvent)
    assert_type(ToolCall.from_dict("1", "add", {"a": 1}), ToolCall)


async def async_calls(client: ChatClient) -> None:
    """Async calls return the same types as sync ones."""
    assert_type(await client.acall("Hi", session_id="ann"), ChatResponse[None])
    assert_type((await client.acall("Hi", output_type=Weather)).output, Weather)
    async for text in client.astream("Hi"):
        assert_type(text, str)


def report(reply: ChatResponse) -> int:
    """The report counts tokens."""
    if reply.tool_search is None:
        return 0
    assert_type(reply.tool_search.tokens_avoided, int)
    assert_type(reply.tool_search.revealed, tuple[str, ...])
    return reply.tool_search.tokens_saved


def advisors(model: ChatModel) -> ChatClient:
    """Tool search takes the place of the tool-calling loop."""
    search: ToolCallingAdvisor = ToolSearchAdvisor(
        Bm25ToolIndex(), max_results=5, limits=ToolCallLimits(per_tool=5), eviction=LruEviction(1_000)
    )
    memory = MemoryAdvisor(ChatMemory(SqliteRepository("memory.db")))
    return ChatClient(model, tools=[get_weather], advisors=[memory, search])


def indexes() -> list[ToolIndex]:
    """Every index is a `ToolIndex`, and its searchers give responses."""
    searcher = RegexToolIndex().build([ToolReference(name="get_weather")])
    plain: ToolSearcher = searcher
    assert_type(plain.search("weather", max_results=5), ToolSearchResponse)
    return [RegexToolIndex(), Bm25ToolIndex(), VectorToolIndex(), HybridToolIndex([Bm25ToolIndex(), VectorToolIndex()])]


def strategies() -> list[EvictionStrategy]:
    """Every strategy is an `EvictionStrategy`."""
    return [LruEviction(10), TtlEviction(60), CompositeEviction(LruEviction(10), TtlEviction(60))]


def model() -> ChatModel:
    """The OpenAI model is a `ChatModel`."""
    return OpenAIChatModel("gpt-5-mini")


def machine() -> None:
    """The engine works without the client."""
    with Disclosure(SessionToolIndex("bm25")).open("ann", [ToolReference(name="get_weather")]) as turn:
        assert_type(turn, DisclosureTurn)
        assert_type(turn.search("weather"), RevealingText)


def stored() -> None:
    """Memory gives messages back."""
    memory = ChatMemory(InMemoryRepository())
    memory.append("ann", [UserMessage("Hi")], tenant_id="acme")
    assert_type(memory.sessions(tenant_id="acme"), tuple[str, ...])


class Shout(Advisor):
    """An advisor is a generator."""

    def advise(self, request: Any) -> AdvisorFlow:
        """Upper-case the answer."""
        response: ChatResponse = yield request
        return response.with_text(response.text.upper())


assert_type(Tool.from_function(get_weather), Tool)


def price(usage: Usage) -> float:
    """Return a price."""
    return usage.total / 1_000


assert_type(UsageLimits(session_cost=1.0, price=price).session_usage("ann"), Usage)
assert_type(TokenPrice(input=1.0, output=2.0)(Usage()), float)
ToolCallingAdvisor(usage_limits=UsageLimits(turn_tokens=1_000), max_result_tokens=None)
ToolSearchAdvisor(max_result_tokens=5_000, max_result_media_bytes=None)
