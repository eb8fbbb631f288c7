"""`ToolSearchAdvisor` with every driver."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    ConfigurationError,
    DuplicateToolError,
    IndexingError,
    SystemMessage,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    ToolReference,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.disclosure import DEFAULT_INSTRUCTIONS, SEARCH_TOOL
from toolsearch.eviction import AlwaysEvict, LruEviction, NeverEvict
from toolsearch.indexes import RegexToolIndex
from toolsearch.indexes.protocols import ToolSearcher
from toolsearch.loop import LoopState
from toolsearch.testing import ScriptedChatModel

Ask = Callable[..., Any]


def make_tools(*names: str, source: str | None = None) -> list[Tool]:
    return [
        Tool(name, f"Can {name.replace('_', ' ')}.", fn=lambda _n=name: f"{_n} done", parameters={}, source=source)
        for name in names
    ]


NAMES = ("get_weather", "send_mail", "read_mail", "play_music", "list_files", "add_event")


@pytest.fixture
def tools() -> list[Tool]:
    return make_tools(*NAMES)


class CountingIndex:
    """Regex index that records its builds."""

    def __init__(self) -> None:
        self.builds: list[tuple[str, ...]] = []
        self.searchers: weakref.WeakSet[Any] = weakref.WeakSet()

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        self.builds.append(tuple(tool.name for tool in tools))
        searcher = RegexToolIndex().build(tools)
        self.searchers.add(searcher)
        return searcher


def search(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return (SEARCH_TOOL, {"query": query, **more})


def sent(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def client_of(
    steps: Any, tools: Sequence[Tool], *, index: Any = "regex", **options: Any
) -> tuple[ChatClient, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    return ChatClient(model, tools=tools, advisors=[ToolSearchAdvisor(index, **options)]), model


def test_model_starts_with_the_search_tool_and_sees_what_it_finds(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of([[search("weather")], [("get_weather", {})], "Sunny."], tools)
    outcome = ask(client, "Weather?", session_id="ann")
    assert sent(model) == [[SEARCH_TOOL], [SEARCH_TOOL, "get_weather"], [SEARCH_TOOL, "get_weather"]]
    assert outcome.response.text == outcome.text_shown == "Sunny."
    assert [m.text for m in outcome.response.messages if isinstance(m, ToolMessage)][1] == "get_weather done"


def test_options_of_tool_calling_advisor_apply(ask: Ask, tools: list[Tool]) -> None:
    advisor = ToolSearchAdvisor("regex", raise_on_error=KeyError, order=250)
    assert isinstance(advisor, ToolCallingAdvisor)
    assert advisor.order == 250

    def broken() -> None:
        raise KeyError("x")

    client = ChatClient(ScriptedChatModel([[("broken", {})], [("broken", {})]]), tools=[broken], advisors=[advisor])
    with pytest.raises(KeyError):
        ask(client, "go", session_id="ann")


def test_instructions_are_appended_once(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of(["One.", "Two.", "Three."], tools)
    ask(client, messages=[SystemMessage("Be kind."), UserMessage("Hi")], session_id="ann")
    first = model.requests[0].messages[0]
    assert first.text == f"Be kind.\n\n{DEFAULT_INSTRUCTIONS}"
    ask(client, messages=[*model.requests[0].messages, AssistantMessage("One."), UserMessage("And?")])
    assert model.requests[1].messages[0] == first
    ask(client, "No system message")
    assert [m.role for m in model.requests[2].messages] == ["system", "user"]


def test_instructions_can_be_replaced_or_left_out(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of(["ok"], tools, instructions="Look for tools.")
    ask(client, "Hi")
    assert model.requests[0].messages[0] == SystemMessage("Look for tools.")
    client, model = client_of(["ok"], tools, instructions="")
    ask(client, "Hi")
    assert [m.role for m in model.requests[0].messages] == ["user"]


def test_tools_are_indexed_again_only_when_they_change(ask: Ask, tools: list[Tool]) -> None:
    index = CountingIndex()
    client, _ = client_of(lambda _request: "ok", tools[:3], index=index)
    ask(client, "1", session_id="ann")
    ask(client, "2", session_id="ann")
    assert index.builds == [tuple(sorted(NAMES[:3]))]
    ask(client, "3", session_id="ann", tools=tools[3:])
    assert index.builds == [tuple(sorted(NAMES[:3])), tuple(sorted(NAMES))]


def test_sessions_with_equal_tools_share_one_searcher(tools: list[Tool]) -> None:
    """The searcher is freed with the last session."""
    index = CountingIndex()
    client, _ = client_of(lambda _request: "ok", tools, index=index)
    advisor = client.advisors[0]
    assert isinstance(advisor, ToolSearchAdvisor)
    for number in range(5):
        client.call("hi", session_id=f"s{number}")
    for number in range(4):
        advisor.evict(f"s{number}")
    gc.collect()
    assert (len(index.builds), len(index.searchers)) == (1, 1)
    advisor.evict("s4")
    gc.collect()
    assert len(index.searchers) == 0


def test_revealed_tools_stay_in_later_turns(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of([[search("weather")], "Found.", "Later."], tools)
    ask(client, "1", session_id="ann")
    ask(client, "2", session_id="ann")
    assert sent(model)[-1] == [SEARCH_TOOL, "get_weather"]


def test_sessions_are_isolated_per_tenant(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of([[search("weather")], "Found.", "a", "b", "c"], tools)
    ask(client, "1", session_id="ann", tenant_id="acme")
    ask(client, "2", session_id="ann", tenant_id="other")
    ask(client, "3", session_id="ann")
    ask(client, "4", session_id="bob", tenant_id="acme")
    assert sent(model)[2:] == [[SEARCH_TOOL]] * 3


def test_turn_without_a_session_id_leaves_nothing(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of([[search("weather")], "Found.", "Later."], tools)
    ask(client, "1")
    ask(client, "2")
    assert sent(model) == [[SEARCH_TOOL], [SEARCH_TOOL, "get_weather"], [SEARCH_TOOL]]


def test_new_process_restores_tools_from_history_in_order(ask: Ask, tools: list[Tool]) -> None:
    steps: list[Any] = [
        [search("play_music"), ("list_files", {}), search("weather")],
        [("get_weather", {}), search("mail")],
        "Done.",
    ]
    client, model = client_of(steps, tools)
    first = ask(client, "go", session_id="ann").response
    before = sent(model)[-1]
    history = [UserMessage("go"), *first.messages, UserMessage("on")]
    fresh, fresh_model = client_of(["ok"], tools)
    ask(fresh, messages=history, session_id="ann")
    assert sent(fresh_model) == [before]
    assert before == [SEARCH_TOOL, "list_files", "play_music", "get_weather", *before[4:]]
    assert len(before) == 6


@pytest.mark.parametrize("options", [{"keep_revealed": False}, {"max_revealed": 2, "pinned": ["play_music"]}])
def test_new_process_sends_the_tools_of_the_old_one(ask: Ask, tools: list[Tool], options: dict[str, Any]) -> None:
    """The order is the same too, so that the prompt cache still matches."""
    steps = [[search("weather")], [search("play_music|get_weather|send_mail")], "Done.", "ok"]
    client, model = client_of(steps, tools, **options)
    first = ask(client, "go", session_id="ann").response
    ask(client, "on", session_id="ann")
    fresh, fresh_model = client_of(["ok"], tools, **options)
    ask(fresh, messages=[UserMessage("go"), *first.messages, UserMessage("on")], session_id="ann")
    assert sent(fresh_model) == sent(model)[-1:]
    assert len(sent(fresh_model)[0]) == 4


def test_malformed_history_is_ignored(ask: Ask, tools: list[Tool]) -> None:
    call = ToolCall.from_dict("1", SEARCH_TOOL, {"query": "x"})
    texts = ["", "null", "{]", '["get_weather"]', "- \n-x\n- no_such_tool: x", "boom - get_weather: x"]
    history = [UserMessage("go")]
    for text in texts:
        history += [AssistantMessage("", (call,)), ToolMessage("1", SEARCH_TOOL, text)]  # type: ignore[list-item]
    client, model = client_of(["ok"], tools)
    ask(client, messages=[*history, UserMessage("on")], session_id="ann")
    assert sent(model) == [[SEARCH_TOOL]]


def test_restore_after_compaction(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of(["ok"], tools)
    advisor = client.advisors[0]
    assert isinstance(advisor, ToolSearchAdvisor)
    advisor.restore("ann", ["add_event", "gone", "get_weather"], tenant_id="acme")
    ask(client, "hi", session_id="ann", tenant_id="acme")
    assert sent(model) == [[SEARCH_TOOL, "add_event", "get_weather"]]


def test_evict_removes_the_session(ask: Ask, tools: list[Tool]) -> None:
    index = CountingIndex()
    client, model = client_of([[search("weather")], "Found.", "Later."], tools, index=index)
    advisor = client.advisors[0]
    assert isinstance(advisor, ToolSearchAdvisor)
    ask(client, "1", session_id="ann")
    advisor.evict("ann")
    ask(client, "2", session_id="ann")
    assert sent(model)[-1] == [SEARCH_TOOL]
    assert len(index.builds) == 2


@pytest.mark.parametrize(("eviction", "alive"), [(LruEviction(1), 1), (AlwaysEvict(), 0), (NeverEvict(), 2)])
def test_sessions_are_evicted_at_the_end_of_turns(eviction: Any, alive: int, tools: list[Tool]) -> None:
    client, _ = client_of(lambda _request: "ok", tools, eviction=eviction)
    client.call("1", session_id="ann")
    client.call("2", session_id="bob")
    advisor = client.advisors[0]
    assert isinstance(advisor, ToolSearchAdvisor)
    assert len(advisor.disclosure.sessions) == alive


def test_session_is_not_evicted_during_its_turn(tools: list[Tool]) -> None:
    client, _model = client_of(lambda _request: "ok", tools, eviction=LruEviction(1))

    def other_turn() -> str:
        client.call("hi", session_id="bob")
        return "ok"

    steps: list[Any] = [[("other_turn", {})], [("other_turn", {})], [search("weather")], [("get_weather", {})], "Done."]
    outer = ChatClient(ScriptedChatModel(steps), tools=[*tools, other_turn], advisors=client.advisors)
    reply = outer.call("go", session_id="ann")
    assert reply.tool_search is not None
    assert reply.tool_search.searches[0].hits == ("get_weather",)
    assert reply.text == "Done."


def test_abandoned_stream_closes_the_lease(tools: list[Tool]) -> None:
    client, _ = client_of(lambda _request: "a long answer", tools, eviction=LruEviction(1))
    advisor = client.advisors[0]
    assert isinstance(advisor, ToolSearchAdvisor)
    with client.stream("hi", session_id="ann") as stream:
        next(iter(stream))
        client.call("hi", session_id="bob")
        assert set(advisor.disclosure.sessions.session_ids()) == {(None, "ann"), (None, "bob")}
    assert set(advisor.disclosure.sessions.session_ids()) == {(None, "bob")}


def test_parallel_searches_reveal_in_the_order_of_calls(ask: Ask, tools: list[Tool]) -> None:
    queries = ("play_music", "get_weather", "add_event", "list_files")
    client, model = client_of([[search(query, max_results=1) for query in queries], "ok"], tools)
    ask(client, "go", session_id="ann")
    assert sent(model)[1] == [SEARCH_TOOL, *queries]


def test_unrevealed_tool_is_revealed_then_run(ask: Ask, tools: list[Tool]) -> None:
    client, _model = client_of([[("get_weather", {})], [("get_weather", {})], "ok"], tools)
    response = ask(client, "go", session_id="ann").response
    results = [m for m in response.messages if isinstance(m, ToolMessage)]
    assert "call it again" in results[0].text
    assert not results[0].is_error
    assert results[1].text == "get_weather done"
    assert response.tool_search.revealed == ("get_weather",)


def test_run_unrevealed_validates_and_runs_at_once(ask: Ask) -> None:
    def area(width: int) -> int:
        "Area of a square."
        return width * width

    steps = [[("area", {"width": "wide"})], [("area", {"width": 3})], "ok"]
    client, _ = client_of(steps, [Tool.from_function(area)], run_unrevealed=True)
    results = [m for m in ask(client, "go").response.messages if isinstance(m, ToolMessage)]
    assert results[0].is_error
    assert "width" in results[0].text
    assert results[1].text == "9"


def test_unknown_name_is_answered_and_other_calls_run(ask: Ask, tools: list[Tool]) -> None:
    steps = [[search("weather")], [("get_wether", {}), ("get_weather", {})], "ok"]
    client, _ = client_of(steps, tools)
    results = [m for m in ask(client, "go").response.messages if isinstance(m, ToolMessage)]
    assert results[1].is_error
    assert "get_weather" in results[1].text
    assert SEARCH_TOOL in results[1].text
    assert results[2].text == "get_weather done"


def by_role(tool: Tool, context: Mapping[str, Any]) -> bool:
    return context.get("role") == "admin" or not tool.name.startswith("delete")


def test_filter_decides_which_tools_are_found_sent_and_run(ask: Ask) -> None:
    ran: list[str] = []
    tools = [Tool(name, "Can do.", parameters={}, fn=lambda _n=name: ran.append(_n)) for name in ("delete_all", "read")]
    index = CountingIndex()
    steps = lambda: [[search("delete_all do")], [("delete_all", {}), ("delete", {})], "ok"]  # noqa: E731
    client, model = client_of(steps(), tools, index=index, tool_filter=by_role)
    response = ask(client, "go", session_id="ann", context={"role": "guest"}).response
    assert index.builds == [("read",)]
    assert ran == []
    assert all("delete_all" not in str(tool.description) for request in model.requests for tool in request.tools)
    results = [m.text for m in response.messages if isinstance(m, ToolMessage)]
    assert "delete_all" not in results[0]
    assert "Did you mean" not in results[1]
    assert "delete_all" not in results[2]
    client, _ = client_of(steps(), tools, tool_filter=by_role)
    ask(client, "go", session_id="ann", context={"role": "admin"})
    assert ran == ["delete_all"]


def test_filter_is_asked_again_before_a_tool_runs(ask: Ask) -> None:
    allowed = {"read", "revoke"}
    ran: list[str] = []

    def revoke() -> str:
        "Take the right to read away."
        allowed.discard("read")
        return "revoked"

    read = Tool("read", "Read it.", parameters={}, fn=lambda: ran.append("read"))
    steps = [[search("read revoke")], [("read", {})], [("revoke", {})], [("read", {})], "ok"]
    client, model = client_of(
        steps, [read, Tool.from_function(revoke)], tool_filter=lambda tool, _: tool.name in allowed
    )
    response = ask(client, "go", session_id="ann").response
    assert ran == ["read"]
    assert "read" not in sent(model)[-1]
    assert [m.is_error for m in response.messages if isinstance(m, ToolMessage)] == [False, False, False, True]


def test_failed_filter_rejects_the_tools(ask: Ask, tools: list[Tool]) -> None:
    """No tool is sent or run if the filter raises, and the text of its error stays in the log."""

    def broken(_tool: Tool, _context: Mapping[str, Any]) -> bool:
        raise RuntimeError("no policy")

    client, model = client_of([[(tools[0].name, {})], "ok"], tools, tool_filter=broken)
    response = ask(client, "go", session_id="ann").response
    assert sent(model) == [[], []]
    assert "no policy" not in str(model.requests) + str(response)
    assert [message.ran for message in response.messages if isinstance(message, ToolMessage)] == [False]


def test_tools_are_pinned_by_name_glob_source_tool_function_or_predicate(ask: Ask) -> None:
    def clock() -> str:
        "Tell the time."
        return "12:00"

    remote = make_tools("fetch", source="web")
    tools = [*make_tools("core_a", "core_b", "other"), *remote, Tool.from_function(clock)]
    for pinned, expected in [
        (["core_*", "source:web", clock], ["core_a", "core_b", "fetch", "clock"]),
        ([tools[2]], ["other"]),
        (lambda tool: tool.source == "web", ["fetch"]),
    ]:
        client, model = client_of(["ok"], tools, pinned=pinned)
        ask(client, "go")
        assert sent(model) == [[SEARCH_TOOL, *expected]]


def test_pin_without_a_match_is_logged_once(ask: Ask, tools: list[Tool], caplog: pytest.LogCaptureFixture) -> None:
    client, _ = client_of(lambda _r: "ok", tools, pinned=["get_wether"])
    ask(client, "go")
    ask(client, "go")
    assert [record.message for record in caplog.records] == ["toolsearch.pin_matches_nothing pin=get_wether tools=6"]


@pytest.mark.parametrize("options", [{}, {"pinned": ["*"]}])
def test_search_is_not_offered_when_nothing_is_hidden(ask: Ask, tools: list[Tool], options: dict[str, Any]) -> None:
    client, model = client_of(["ok"], tools if options else [], **options)
    ask(client, "go", session_id="ann")
    assert sent(model) == [[tool.name for tool in tools] if options else []]
    assert [m.role for m in model.requests[0].messages] == ["user"]


def test_requests_below_reveal_all_below_equal_plain_tool_calling(ask: Ask, tools: list[Tool]) -> None:
    steps: list[Any] = [[("send_mail", {}), ("add_event", {})], "ok"]
    client, model = client_of(steps, tools, reveal_all_below=100_000)
    response = ask(client, "go", session_id="ann").response
    plain = ScriptedChatModel(steps)
    ask(ChatClient(plain, tools=tools), "go", session_id="ann")
    assert model.requests == plain.requests
    assert response.tool_search.tokens_saved == 0


def test_reveal_upfront_saves_a_round(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of([[("get_weather", {})], "ok"], tools, reveal_upfront=1)
    ask(client, "How is the weather?", session_id="ann")
    assert sent(model)[0] == [SEARCH_TOOL, "get_weather"]


def test_only_latest_tools_are_sent_without_keep_revealed(ask: Ask, tools: list[Tool]) -> None:
    steps = [[search("weather"), search("music")], [search("mail")], "ok"]
    client, model = client_of(steps, tools, keep_revealed=False)
    ask(client, "go", session_id="ann")
    assert sent(model)[1] == [SEARCH_TOOL, "get_weather", "play_music"]
    assert sorted(sent(model)[2][1:]) == ["read_mail", "send_mail"]


def test_report_counts_tokens_avoided_and_spent(ask: Ask) -> None:
    tools = make_tools(*(f"tool_number_{number}" for number in range(200)), "get_weather")
    client, _ = client_of([[search("get_weather")], [("get_weather", {})], "ok"], tools)
    report = ask(client, "go", session_id="ann").response.tool_search
    assert [(record.query, record.hits) for record in report.searches] == [("get_weather", ("get_weather",))]
    assert report.revealed == ("get_weather",)
    assert report.tokens_avoided > 2 * 199 * 10
    assert 0 < report.tokens_spent < report.tokens_avoided
    assert report.tokens_saved == report.tokens_avoided - report.tokens_spent
    few, _ = client_of([[search("weather")], [("get_weather", {})], "ok"], tools[-1:])
    assert ask(few, "go").response.tool_search.tokens_saved < 0


def test_subclasses_can_extend_hooks(ask: Ask, tools: list[Tool]) -> None:
    class Noting(ToolSearchAdvisor):
        def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:
            request = yield from super().before_call(state, request)
            return request.replace(messages=(*request.messages, UserMessage(f"round {state.round}")))

    model = ScriptedChatModel([[search("weather")], "ok"])
    ask(ChatClient(model, tools=tools, advisors=[Noting("regex")]), "go")
    assert [request.messages[-1] for request in model.requests] == [UserMessage("round 1"), UserMessage("round 2")]
    assert [m.role for m in model.requests[1].messages] == ["system", "user", "assistant", "tool", "user"]


def test_failed_build_raises_and_is_tried_again(ask: Ask, tools: list[Tool]) -> None:
    class Flaky:
        failing = True

        def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
            if self.failing:
                raise IndexingError("the embedder is down")
            return RegexToolIndex().build(tools)

    index = Flaky()
    client, model = client_of([[search("weather")], "ok"], tools, index=index)
    with pytest.raises(IndexingError, match="embedder is down"):
        ask(client, "go", session_id="ann")
    index.failing = False
    assert ask(client, "go", session_id="ann").response.text == "ok"
    assert sent(model)[1] == [SEARCH_TOOL, "get_weather"]


def test_failed_search_is_a_result_for_the_model(ask: Ask, tools: list[Tool]) -> None:
    class Broken:
        def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
            return self  # type: ignore[return-value]  # wrong on purpose

        def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> Any:
            raise IndexingError("the disk is full")

    client, _ = client_of([[search("weather")], "Sorry."], tools, index=Broken())
    response = ask(client, "go", session_id="ann").response
    assert response.text == "Sorry."
    assert next(m for m in response.messages if isinstance(m, ToolMessage)).text == "The tools cannot be searched now."


def test_category_is_offered_only_if_tools_have_one(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of(["ok"], tools)
    ask(client, "go")
    assert "category" not in model.requests[0].tools[0].parameters["properties"]
    mixed = [*tools, *make_tools("open_pr", source="github")]
    client, model = client_of([[search("open get", category="GitHub")], "ok"], mixed)
    ask(client, "go")
    assert "github (1)" in model.requests[0].tools[0].description
    assert sent(model)[1] == [SEARCH_TOOL, "open_pr"]


def test_names_invalid_for_providers_are_searched_and_called_as_sent(ask: Ask) -> None:
    ran: list[str] = []
    tools = [
        Tool("notion.search", "Search pages.", parameters={}, fn=lambda: ran.append("dot")),
        Tool("notion_search", "Search notes.", parameters={}, fn=lambda: ran.append("underscore")),
        Tool("日本 語", "Search Japanese.", parameters={}, fn=lambda: ran.append("japanese")),
    ]

    def steps(request: ChatRequest) -> Any:
        round_ = sum(isinstance(m, ToolMessage) for m in request.messages)
        if round_ == 0:
            return [search("search")]
        names = [tool.name for tool in request.tools if tool.name != SEARCH_TOOL]
        return [(name, {}) for name in names] if round_ == 1 else "ok"

    client, model = client_of(steps, tools)
    ask(client, "go", session_id="ann")
    assert sorted(ran) == ["dot", "japanese", "underscore"]
    assert all(name.isascii() and name.replace("_", "").isalnum() for name in sent(model)[-1])


def test_tool_named_tool_search_is_refused() -> None:
    with pytest.raises(DuplicateToolError, match="reserved"):
        client_of(["ok"], make_tools("tool_search"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"pinned": "core_*"}, "list"),
        ({"pinned": [3]}, "pin"),
        ({"max_results": 50}, "max_results"),
        ({"index": "elastic"}, "bm25"),
        ({"index": RegexToolIndex}, "instance"),
        ({"eviction": "lru"}, "eviction"),
    ],
)
def test_invalid_arguments_are_refused_with_a_hint(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ToolSearchAdvisor(**{"index": "regex", **wrong})


def test_session_key_decides_the_session(ask: Ask, tools: list[Tool]) -> None:
    client, model = client_of(
        [[search("weather")], "a", "b", "c"], tools, session_key=lambda request: request.context.get("thread")
    )
    ask(client, "1", context={"thread": "t1"})
    ask(client, "2", context={"thread": "t1"}, session_id="whatever")
    ask(client, "3", context={"thread": "t2"})
    assert sent(model)[2:] == [[SEARCH_TOOL, "get_weather"], [SEARCH_TOOL]]


def test_parallel_sessions_are_isolated(tools: list[Tool]) -> None:
    def steps(request: ChatRequest) -> Any:
        question = next(m.text for m in request.messages if isinstance(m, UserMessage))
        done = any(isinstance(m, ToolMessage) for m in request.messages)
        return ",".join(tool.name for tool in request.tools) if done else [search(question, max_results=1)]

    client, _ = client_of(steps, tools)
    answers: dict[str, str] = {}

    def turn(number: int) -> None:
        name = NAMES[number % len(NAMES)]
        answers[f"{number}"] = client.call(name, session_id=f"s{number}").text

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {f"{n}": f"{SEARCH_TOOL},{NAMES[n % len(NAMES)]}" for n in range(24)}


def test_all_tools_are_sent_without_the_loop(tools: list[Tool]) -> None:
    """With `tool_calling=False` nothing could reveal a tool."""
    client, model = client_of(["ok"], tools)
    client.call("go", tool_calling=False)
    assert sent(model) == [list(NAMES)]
