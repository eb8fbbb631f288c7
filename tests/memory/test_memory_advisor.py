"""`MemoryAdvisor` outside and inside the tool-calling loop, with every driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolsearch import (
    AssistantMessage,
    AsyncCallableError,
    ChatClient,
    ChatMemory,
    ChatResponse,
    ConfigurationError,
    InMemoryRepository,
    Media,
    MemoryAdvisor,
    MemoryStoreError,
    Message,
    SqliteRepository,
    SystemMessage,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolFinished,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.disclosure.search_tool import SEARCH_TOOL
from toolsearch.memory import SessionKey, TokenWindow, TurnWindow
from toolsearch.memory.turns import unpaired_call_ids
from toolsearch.testing import ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]
OUTSIDE, INSIDE = 200, 400
U, A, S = UserMessage, AssistantMessage, SystemMessage


def add(a: int, b: int) -> int:
    """Add two numbers."""
    if a < 0:
        raise ValueError("no negative numbers")
    return a + b


def receipt() -> str:
    """Print the receipt."""
    return "Total: 3"


TOOLS = [Tool.from_function(add), Tool.from_function(receipt, return_direct=True)]


def add_call(a: int = 1, b: int = 2) -> tuple[str, dict[str, int]]:
    return ("add", {"a": a, "b": b})


def memory_of(repository: Any = None, window: Any = None) -> ChatMemory:
    return ChatMemory(InMemoryRepository() if repository is None else repository, window)


def client_of(
    script: Any, memory: ChatMemory, *more: Any, order: int = OUTSIDE, keep_partial: bool = True, **options: Any
) -> tuple[ChatClient, ScriptedChatModel]:
    model = ScriptedChatModel(script)
    options.setdefault("tools", TOOLS)
    advisors = [MemoryAdvisor(memory, order=order, keep_partial=keep_partial), *more]
    return ChatClient(model, advisors=advisors, **options), model


def said(messages: Sequence[Message]) -> list[str]:
    """Return each message as one word."""
    return [_word(message) for message in messages]


def _word(message: Message) -> str:
    match message:
        case ToolMessage():
            return f"={message.text}"
        case AssistantMessage(tool_calls=calls) if calls:
            return f"{message.text}!{'+'.join(call.name for call in calls)}"
        case _:
            return f"{message.role[0]}:{message.text}"


def sent(model: ScriptedChatModel) -> list[list[str]]:
    return [said(request.messages) for request in model.requests]


class Between:
    """Records the messages that pass between the loop and inner advisors."""

    def __init__(self, order: int = 350) -> None:
        self.order = order
        self.seen: list[list[str]] = []

    def advise(self, request: Any) -> Any:
        self.seen.append(said(request.messages))
        return (yield request)


@pytest.fixture(params=[OUTSIDE, INSIDE], ids=["outside", "inside"])
def order(request: pytest.FixtureRequest) -> int:
    """Run the test with memory outside and inside the loop."""
    place: int = request.param
    return place


# What is sent and stored


def test_outside_the_loop_user_messages_and_answers_are_kept(ask: Ask) -> None:
    """The next turn is sent the earlier one without its tool messages."""
    memory = memory_of()
    client, model = client_of([[add_call()], "Three.", "Thanks to you."], memory)
    ask(client, "1 + 2?", session_id="s")
    assert memory.messages("s") == (U("1 + 2?"), A("Three."))
    ask(client, "Thanks", session_id="s")
    assert sent(model)[1:] == [
        ["u:1 + 2?", "!add", "=3"],
        ["u:1 + 2?", "a:Three.", "u:Thanks"],
    ]


def test_inside_the_loop_tool_messages_are_kept(ask: Ask) -> None:
    """The model is sent everything in every round, and the loop sends memory only what is new."""
    memory, between = memory_of(), Between()
    script = [[add_call()], [add_call(3, 4)], "Ten.", "Thanks to you."]
    client, model = client_of(script, memory, between, order=INSIDE, system="Be brief.")
    reply = ask(client, "1 + 2 + 3 + 4?", session_id="s").response
    ask(client, "Thanks", session_id="s")
    assert between.seen == [
        ["s:Be brief.", "u:1 + 2 + 3 + 4?"],
        ["s:Be brief.", "!add", "=3"],
        ["s:Be brief.", "!add", "=7"],
        ["s:Be brief.", "u:Thanks"],
    ]
    first = ["u:1 + 2 + 3 + 4?", "!add", "=3", "!add", "=7"]
    assert sent(model) == [
        ["s:Be brief.", *first[:1]],
        ["s:Be brief.", *first[:3]],
        ["s:Be brief.", *first],
        ["s:Be brief.", *first, "a:Ten.", "u:Thanks"],
    ]
    assert memory.messages("s")[:6] == (U("1 + 2 + 3 + 4?"), *reply.messages)
    assert said(memory.messages("s")[6:]) == ["u:Thanks", "a:Thanks to you."]


def test_turn_is_stored_as_a_whole_after_success(ask: Ask, order: int) -> None:
    """Nothing of a running turn is stored."""
    appended = []

    class Watching(InMemoryRepository):
        def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
            appended.append(said(messages))
            super().append(key, messages)

    memory = memory_of(Watching())
    during = []

    def look() -> str:
        during.append(memory.messages("s"))
        return "seen"

    client, _ = client_of([[("look", {})], "Done."], memory, order=order, tools=[look])
    ask(client, "Look", session_id="s")
    assert during == [()]
    assert appended == [["u:Look", "!look", "=seen", "a:Done."] if order == INSIDE else ["u:Look", "a:Done."]]


def test_nothing_is_stored_without_a_session(ask: Ask, order: int) -> None:
    """The loop then sends its whole conversation itself."""
    repository = InMemoryRepository()
    client, model = client_of([[add_call()], "Three.", "Hello."], memory_of(repository), order=order)
    ask(client, "1 + 2?")
    ask(client, "Hi")
    assert sent(model)[1:] == [["u:1 + 2?", "!add", "=3"], ["u:Hi"]]
    assert repository.sessions() == ()


def test_conversations_are_isolated_per_session_and_tenant(ask: Ask, order: int) -> None:
    memory = memory_of()
    client, model = client_of(lambda request: "ok", memory, order=order)
    for session, tenant_id in (("s", None), ("s", "acme"), ("t", None), ("acme", "s")):
        ask(client, f"{session} of {tenant_id}", session_id=session, tenant_id=tenant_id)
    ask(client, "again", session_id="s", tenant_id="acme")
    assert sent(model)[-1] == ["u:s of acme", "a:ok", "u:again"]
    assert all(len(request) == 1 for request in sent(model)[:-1])


def test_system_messages_are_not_stored_and_come_first(ask: Ask, order: int) -> None:
    """System messages of the request come first, then a summary that was put into memory."""
    memory = memory_of()
    client, model = client_of(lambda request: "ok", memory, order=order)
    ask(client, messages=[S("Old rules."), U("1")], session_id="s")
    assert said(memory.messages("s")) == ["u:1", "a:ok"]
    memory.replace("s", [S("In short: 1."), *memory.messages("s")])
    ask(client, messages=[S("New rules."), U("2")], session_id="s")
    assert sent(model)[-1] == ["s:New rules.", "s:In short: 1.", "u:1", "a:ok", "u:2"]


def test_later_system_messages_stay_in_place_and_are_not_stored(ask: Ask, order: int) -> None:
    """A system message that memory has as well is sent once."""
    memory = memory_of()
    memory.append("s", [S("In short."), U("0"), A("zero")])
    client, model = client_of([[add_call()], "Three.", "ok"], memory, order=order)
    ask(client, messages=[S("In short."), U("1 + 2?"), S("Be quick.")], session_id="s")
    past = ["s:In short.", "u:0", "a:zero"]
    assert sent(model)[1] == [*past, "u:1 + 2?", "s:Be quick.", "!add", "=3"]
    assert said(memory.messages("s"))[3:5] == ["u:1 + 2?", "!add" if order == INSIDE else "a:Three."]


def test_media_are_stored_and_sent_again(ask: Ask, order: int, tmp_path: Path) -> None:
    image = Media("image/png", b"\x89PNG\x00\xff")
    with SqliteRepository(tmp_path / "chats.db") as repository:
        client, model = client_of(lambda request: "ok", memory_of(repository), order=order)
        ask(client, U("What is this?", (image,)), session_id="s")
        ask(client, "And now?", session_id="s")
    assert model.requests[-1].messages[0].media == (image,)


def test_any_text_and_id_is_stored(ask: Ask, order: int, tmp_path: Path) -> None:
    """Texts and ids may hold any character, lone surrogates included."""
    text = "\x00 天気 \ud800 😀 \u2028 ' \" %s ?"
    with SqliteRepository(tmp_path / "chats.db") as repository:
        client, model = client_of(lambda request: text, memory_of(repository), order=order)
        ask(client, text, session_id=text, tenant_id=text)
        ask(client, "2", session_id=text, tenant_id=text)
    assert [message.text for message in model.requests[-1].messages] == [text, text, "2"]


# Nothing twice


@pytest.mark.parametrize("rounds", [1, 2])
def test_conversation_passed_by_the_caller_is_sent_and_stored_once(ask: Ask, order: int, rounds: int) -> None:
    """Callers may pass `[*messages, *reply.messages]` together with a session."""
    memory, messages = memory_of(), []
    script: list[Any] = [step for _ in range(3) for step in ([add_call()], "Three.")]
    client, model = client_of(script if rounds == 2 else ["Three."] * 3, memory, order=order)
    for text in ("yes", "yes", "1 + 2?"):
        messages.append(U(text))
        reply = ask(client, messages=messages, session_id="s").response
        messages.extend(reply.messages)
    assert list(model.requests[-1].messages) == messages[:-1]
    stored = memory.messages("s")
    assert stored == (
        tuple(messages) if order == INSIDE else tuple(m for m in messages if _word(m)[:2] in ("u:", "a:"))
    )


def test_end_passed_by_the_caller_is_completed(ask: Ask, order: int) -> None:
    """Memory adds the messages before it."""
    memory = memory_of()
    client, model = client_of(lambda request: "ok", memory, order=order)
    for text in "123":
        ask(client, text, session_id="s")
    ask(client, messages=[U("3"), A("ok"), U("4")], session_id="s")
    assert sent(model)[-1] == ["u:1", "a:ok", "u:2", "a:ok", "u:3", "a:ok", "u:4"]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:ok"]


def test_examples_passed_every_time_are_stored_once(ask: Ask, order: int) -> None:
    """Examples at the start of every request are the beginning of the conversation."""
    memory = memory_of()
    client, model = client_of(lambda request: "ok", memory, order=order)
    for text in "12":
        ask(client, messages=[U("example"), A("answer"), U(text)], session_id="s")
    assert sent(model)[-1] == ["u:example", "a:answer", "u:1", "a:ok", "u:2"]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:ok"]


def test_conversation_is_imported_by_passing_it(ask: Ask, order: int) -> None:
    """A conversation passed to a new session is stored."""
    memory = memory_of()
    client, model = client_of(lambda request: "ok", memory, order=order)
    call = A("", (ToolCall("c", "add", "{}"),))
    ask(client, messages=[U("1"), call, ToolMessage("c", "add", "3"), A("one"), U("2")], session_id="s")
    ask(client, "3", session_id="s")
    assert sent(model)[-1] == ["u:1", "!add", "=3", "a:one", "u:2", "a:ok", "u:3"]


def test_unpaired_tool_calls_are_neither_sent_nor_stored(ask: Ask, order: int) -> None:
    """Another program may have written an unpaired call into the repository."""
    memory = memory_of()
    memory.repository.append(SessionKey("s"), [U("1"), A("Wait.", (ToolCall("c", "add"),)), U("2"), A("two")])
    client, model = client_of(["three", "four"], memory, order=order)
    ask(client, messages=[U("x"), A("", (ToolCall("d", "add"),)), A("y"), U("3")], session_id="s")
    assert unpaired_call_ids(memory.messages("s")[4:]) == ()
    ask(client, "4", session_id="s")
    assert sent(model)[-1] == ["u:1", "a:Wait.", "u:2", "a:two", "u:x", "a:y", "u:3", "a:three", "u:4"]


class Injecting:
    """Adds a message to requests, like retrieval."""

    def __init__(self, order: int, *, before: bool, first_round_only: bool = False) -> None:
        self.order = order
        self.before = before
        self.first_round_only = first_round_only
        self.rounds = 0

    def advise(self, request: Any) -> Any:
        self.rounds += 1
        if self.first_round_only and self.rounds > 1:
            return (yield request)
        added = (U("fact"),)
        messages = (*added, *request.messages) if self.before else (*request.messages, *added)
        return (yield request.replace(messages=messages))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("first_round_only", [True, False], ids=["once", "always"])
def test_messages_added_between_loop_and_memory_are_kept_once(ask: Ask, before: bool, first_round_only: bool) -> None:
    """They stay in later rounds and are stored."""
    memory = memory_of()
    injecting = Injecting(350, before=before, first_round_only=first_round_only)
    client, model = client_of([[add_call()], [add_call(3, 4)], "Ten."], memory, injecting, order=INSIDE)
    ask(client, "sum?", session_id="s")
    begin = ["u:fact", "u:sum?"] if before else ["u:sum?", "u:fact"]
    assert sent(model)[-1] == [*begin, "!add", "=3", "!add", "=7"]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:Ten."]


def test_messages_added_after_memory_are_not_stored(ask: Ask, order: int) -> None:
    """They are sent in every round in which they are added."""
    memory = memory_of()
    client, model = client_of([[add_call()], "Three."], memory, Injecting(500, before=False), order=order)
    ask(client, "1 + 2?", session_id="s")
    assert sent(model)[-1] == ["u:1 + 2?", "!add", "=3", "u:fact"]
    assert "u:fact" not in said(memory.messages("s"))


def test_messages_added_by_a_loop_subclass_are_kept(ask: Ask) -> None:
    """`next_instructions` may add a message, or send the whole turn itself."""

    class Urging(ToolCallingAdvisor):
        def next_instructions(self, state: Any, request: Any, response: Any, batch: Any) -> Any:
            following = super().next_instructions(state, request, response, batch)
            return following.replace(messages=(*following.messages, U("Go on.")))

    class Whole(ToolCallingAdvisor):
        def next_instructions(self, state: Any, request: Any, response: Any, batch: Any) -> Any:
            return request.replace(messages=(*request.messages, response.message, *batch.messages))

    for loop, added in ((Urging(), ["u:Go on."]), (Whole(), []), (ToolCallingAdvisor(send_history=True), [])):
        memory = memory_of()
        memory.append("s", [U("0"), A("zero")])
        client, model = client_of([[add_call()], [add_call(3, 4)], "Ten."], memory, loop, order=INSIDE)
        ask(client, "sum?", session_id="s")
        assert sent(model)[-1] == ["u:0", "a:zero", "u:sum?", "!add", "=3", *added, "!add", "=7", *added]
        assert said(memory.messages("s")) == [*sent(model)[-1], "a:Ten."]


def test_equal_calls_with_equal_ids_are_all_kept(ask: Ask) -> None:
    """Some models restart the numbering of their calls in every round."""
    memory = memory_of()
    call = ToolCall("call_0", "add", '{"a": 1, "b": 2}')
    client, model = client_of([[call], [call], "Three."], memory, order=INSIDE)
    ask(client, "1 + 2?", session_id="s")
    assert sent(model)[-1] == ["u:1 + 2?", "!add", "=3", "!add", "=3"]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:Three."]


class Again:
    """Repeats a round whose first answer is "bad"."""

    def __init__(self, order: int) -> None:
        self.order = order

    def advise(self, request: Any) -> Any:
        response = yield request.replace(buffered=True)
        if response.text == "bad":
            response = yield request.replace(buffered=True)
        return response


def test_retried_round_is_stored_once(ask: Ask) -> None:
    """Answers that an advisor between the loop and memory rejects are not stored."""
    memory = memory_of()
    client, model = client_of(["bad", [add_call()], "bad", "Three."], memory, Again(350), order=INSIDE)
    ask(client, "1 + 2?", session_id="s")
    assert sent(model)[-2:] == [["u:1 + 2?", "!add", "=3"]] * 2
    assert said(memory.messages("s")) == ["u:1 + 2?", "!add", "=3", "a:Three."]


def test_rerun_of_the_loop_stores_the_turn_once(ask: Ask) -> None:
    """An advisor around the loop may send the conversation back with a remark."""

    class Remark:
        order = 250

        def advise(self, request: Any) -> Any:
            response = yield request
            return (yield request.replace(messages=(*request.messages, *response.messages, U("Shorter."))))

    memory = memory_of()
    memory.append("s", [U("0"), A("zero")])
    client, model = client_of([[add_call()], "It is three.", "Three."], memory, Remark(), order=INSIDE)
    ask(client, "1 + 2?", session_id="s")
    assert sent(model)[-1] == ["u:0", "a:zero", "u:1 + 2?", "!add", "=3", "a:It is three.", "u:Shorter."]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:Three."]


def test_answer_of_an_advisor_is_stored(ask: Ask) -> None:
    """An advisor between the loop and memory may answer a round itself."""

    class Cache:
        order = 350

        def __init__(self, *answers: Any) -> None:
            self.answers = list(answers)

        def advise(self, request: Any) -> Any:
            answer = self.answers.pop(0)
            return ChatResponse(messages=(answer,)) if answer else (yield request)

    call = A("", (ToolCall("c", "add", '{"a": 1, "b": 2}'),))
    for answers in ((None, A("Three.")), (call, None), (call, A("Three.")), (call, call, None)):
        memory = memory_of()
        script = lambda request: "Three." if len(request.messages) > 1 else [add_call()]  # noqa: E731
        client, _ = client_of(script, memory, Cache(*answers), order=INSIDE)
        ask(client, "1 + 2?", session_id="s")
        rounds = max(1, len(answers) - 1)
        assert said(memory.messages("s")) == ["u:1 + 2?", *["!add", "=3"] * rounds, "a:Three."]


# Ways a turn can end


def test_return_direct_stores_results_and_answer(ask: Ask, order: int) -> None:
    """The last tool results are stored, although the model was never sent them."""
    memory = memory_of()
    client, model = client_of([[add_call()], [("receipt", {})], "You are welcome."], memory, order=order)
    assert ask(client, "Receipt, please", session_id="s").response.text == "Total: 3"
    tools = ["!add", "=3", "!receipt", "=Total: 3"] if order == INSIDE else []
    assert said(memory.messages("s")) == ["u:Receipt, please", *tools, "a:Total: 3"]
    ask(client, "Thanks", session_id="s")
    assert sent(model)[-1] == [*said(memory.messages("s"))[:-1]]


@pytest.mark.parametrize("on_limit", ["end", "answer"])
def test_limits_count_the_whole_turn(ask: Ask, order: int, on_limit: Any) -> None:
    """A turn that ends at a limit is stored without unpaired calls."""
    memory = memory_of()
    limits = ToolCallLimits(per_tool=2, on_limit=on_limit)
    script = [[add_call(1, 1)], [add_call(2, 2), add_call(3, 3)], "Six."]
    client, _ = client_of(script, memory, ToolCallingAdvisor(limits=limits), order=order)
    reply = ask(client, "sum?", session_id="s").response
    assert reply.finish_reason == ("tool_call_limit" if on_limit == "end" else "stop")
    assert said(reply.messages)[:4] == ["!add", "=2", "!add+add", "=4"]
    assert "limit of 2 calls" in reply.messages[4].text
    stored = memory.messages("s")
    assert stored == ((U("sum?"), *reply.messages) if order == INSIDE else (U("sum?"), reply.message))
    assert unpaired_call_ids(stored) == ()
    # The next turn counts its calls from zero.
    client, _ = client_of([[add_call(1, 1)], "Two."], memory, ToolCallingAdvisor(limits=limits), order=order)
    assert ask(client, "1 + 1?", session_id="s").response.text == "Two."


def test_answer_changed_by_the_loop_is_stored(ask: Ask, order: int) -> None:
    """The stored answer is the one that the user saw."""

    class Polite(ToolCallingAdvisor):
        def finalize_loop(self, state: Any, response: Any) -> Any:
            return response.with_text(f"{response.text} Sir.")

    memory = memory_of()
    client, _ = client_of([[add_call()], "Three."], memory, Polite(), order=order)
    ask(client, "1 + 2?", session_id="s")
    assert said(memory.messages("s"))[-1] == "a:Three. Sir."


class Boom(Exception):
    """Error that a test raises."""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([Boom()], id="the model fails"),
        pytest.param([[add_call()], Boom()], id="the model fails after a tool"),
        pytest.param([[add_call(-1)]], id="a tool raises"),
        pytest.param([[add_call()], [add_call(), add_call(-1)]], id="one tool of a batch raises"),
        pytest.param([[add_call()], ScriptedStream("Three.", error=Boom(), after=1)], id="the stream breaks"),
    ],
)
def test_failed_turn_stores_nothing(ask: Ask, order: int, script: Any) -> None:
    """With `keep_partial=False`, earlier turns stay, and the next turn follows them."""
    memory = memory_of()
    memory.append("s", [U("0"), A("zero")])
    client, model = client_of(
        [*script, "ok"], memory, ToolCallingAdvisor(raise_on_error=True), order=order, keep_partial=False
    )
    with pytest.raises((Boom, ValueError)):
        ask(client, "1 + 2?", session_id="s")
    assert said(memory.messages("s")) == ["u:0", "a:zero"]
    ask(client, "Hi", session_id="s")
    assert sent(model)[-1] == ["u:0", "a:zero", "u:Hi"]


def test_answer_with_open_tool_calls_stores_nothing(ask: Ask, order: int) -> None:
    memory = memory_of()
    loop = ToolCallingAdvisor(should_continue=lambda response: False)
    client, _ = client_of([A("Wait.", (ToolCall("c", "add"),))], memory, loop, order=order)
    assert ask(client, "1 + 2?", session_id="s").response.tool_calls
    assert memory.messages("s") == ()


def test_rounds_driven_by_the_caller_are_stored_at_the_end(ask: Ask, order: int) -> None:
    """With `tool_calling=False`, each call passes the turn so far."""
    memory = memory_of()
    client, model = client_of(["Hello.", [add_call()], "Three."], memory, order=order, tool_calling=False)
    ask(client, "Hi", session_id="s")
    asked = ask(client, "1 + 2?", session_id="s").response
    assert said(memory.messages("s")) == ["u:Hi", "a:Hello."]
    result = ToolMessage(asked.tool_calls[0].id, "add", "3")
    ask(client, messages=[U("1 + 2?"), *asked.messages, result], session_id="s")
    assert sent(model)[-1] == ["u:Hi", "a:Hello.", "u:1 + 2?", "!add", "=3"]
    assert said(memory.messages("s")) == [*sent(model)[-1], "a:Three."]


def leave_after_first(event: Any) -> bool:
    return True


def leave_after_tool(event: Any) -> bool:
    return isinstance(event, ToolFinished)


@pytest.mark.parametrize("leave", [leave_after_first, leave_after_tool])
def test_stream_left_early_stores_nothing(order: int, leave: Callable[[Any], bool]) -> None:
    """With `keep_partial=False`, a stream may be left at any event."""
    memory = memory_of()
    memory.append("s", [U("0"), A("zero")])
    script = lambda request: [add_call()] if len(request.messages) < 5 else "Three."  # noqa: E731
    client, _ = client_of(script, memory, order=order, keep_partial=False)
    with client.stream("1 + 2?", session_id="s") as stream:
        assert any(leave(event) for event in stream.events())

    async def aleave() -> None:
        async with client.astream("1 + 2?", session_id="s") as stream:
            async for event in stream.events():
                if leave(event):
                    return
        pytest.fail("the stream came to its end")

    for backend in ("asyncio", "trio"):
        anyio.run(aleave, backend=backend)
    assert said(memory.messages("s")) == ["u:0", "a:zero"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("mode", ["acall", "astream"])
def test_cancelled_task_stores_nothing(order: int, backend: str, mode: str) -> None:
    """With `keep_partial=False`. The task is cancelled while its tool runs."""
    memory = memory_of()
    memory.append("s", [U("0"), A("zero")])

    async def turn() -> None:
        running = anyio.Event()

        async def wait() -> str:
            running.set()
            await anyio.sleep_forever()
            return "never"

        client, _ = client_of([[("wait", {})], "Done."], memory, order=order, tools=[wait], keep_partial=False)

        async def ask() -> None:
            if mode == "acall":
                await client.acall("Wait", session_id="s")
            else:
                async with client.astream("Wait", session_id="s") as stream:
                    async for _ in stream:
                        pass

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await running.wait()
            group.cancel_scope.cancel()

    anyio.run(turn, backend=backend)
    assert said(memory.messages("s")) == ["u:0", "a:zero"]


def test_parallel_turns_are_stored_whole(order: int, tmp_path: Path) -> None:
    """Parallel turns of one session do not mix their messages."""
    meet = threading.Barrier(4, timeout=30)

    def wait() -> str:
        meet.wait()
        return "met"

    def script(request: Any) -> Any:
        assert unpaired_call_ids(request.messages) == ()
        return "Done." if isinstance(request.messages[-1], ToolMessage) else [("wait", {})]

    with SqliteRepository(tmp_path / "chats.db") as repository:
        memory = memory_of(repository)
        client, _ = client_of(script, memory, order=order, tools=[wait])
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: client.call(f"turn {n}", session_id="s"), range(4)))
        words = said(memory.messages("s"))
    turn = ["!wait", "=met", "a:Done."] if order == INSIDE else ["a:Done."]
    size = 1 + len(turn)
    assert sorted(words[::size]) == [f"u:turn {n}" for n in range(4)]
    assert all(words[at + 1 : at + size] == turn for at in range(0, len(words), size))


# Windows


def test_window_limits_what_is_sent_but_not_what_is_stored(ask: Ask, order: int) -> None:
    """Whole turns and the summary at the beginning are sent."""
    memory = memory_of(window=TurnWindow(2))
    memory.append("s", [S("In short."), U("0"), A("zero")])
    script = lambda request: "ok" if isinstance(request.messages[-1], ToolMessage) else [add_call()]  # noqa: E731
    client, model = client_of(script, memory, order=order)
    for text in "123":
        ask(client, text, session_id="s")
    tools = ["!add", "=3"] if order == INSIDE else []
    assert sent(model)[-1] == ["s:In short.", "u:2", *tools, "a:ok", "u:3", "!add", "=3"]
    assert said(memory.messages("s"))[:4] == ["s:In short.", "u:0", "a:zero", "u:1"]


def test_token_window_shrinks_as_the_turn_grows(ask: Ask) -> None:
    """The current turn is sent whole, and older turns make room for it."""
    memory = memory_of(window=TokenWindow(50))
    for text in "12":
        memory.append("s", [U("word " * 9), A(text)])

    def long() -> str:
        return "word " * 40

    client, model = client_of([[("long", {})], "ok"], memory, order=INSIDE, tools=[long])
    ask(client, "now", session_id="s")
    assert [len(request.messages) for request in model.requests] == [5, 3]
    assert len(memory.messages("s")) == 8


def test_window_keeps_messages_of_the_caller(ask: Ask, order: int) -> None:
    """A window limits only what memory adds."""
    memory = memory_of(window=TurnWindow(1))
    client, model = client_of(lambda request: "ok", memory, order=order)
    ask(client, "1", session_id="s")
    ask(client, messages=[U("1"), A("ok"), U("2")], session_id="s")
    assert sent(model)[-1] == ["u:1", "a:ok", "u:2"]


# Repositories


class AsyncRepository:
    """A repository whose methods are async."""

    def __init__(self) -> None:
        self.inner = InMemoryRepository()

    async def load(self, key: SessionKey) -> Sequence[Message]:
        await anyio.lowlevel.checkpoint()
        return self.inner.load(key)

    async def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        await anyio.lowlevel.checkpoint()
        self.inner.append(key, messages)

    async def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        self.inner.replace(key, messages, upto=upto)

    async def delete(self, key: SessionKey) -> None:
        self.inner.delete(key)

    async def sessions(self) -> Sequence[SessionKey]:
        return self.inner.sessions()


def test_async_repository_works_in_async_drivers(ask_async: Ask, order: int) -> None:
    repository = AsyncRepository()
    client, model = client_of([[add_call()], "Three.", "ok"], memory_of(repository), order=order)
    ask_async(client, "1 + 2?", session_id="s")
    ask_async(client, "Thanks", session_id="s")
    assert sent(model)[-1] == [*said(repository.inner.load(SessionKey("s")))[:-1]]


def test_async_repository_is_refused_by_sync_drivers(ask_sync: Ask, order: int) -> None:
    """The methods of `ChatMemory` refuse it too, and name the alternative."""
    memory = memory_of(AsyncRepository())
    client, _ = client_of(["ok"], memory, order=order)
    with pytest.raises(AsyncCallableError, match=r"acall\(\) or astream\(\)"):
        ask_sync(client, "Hi", session_id="s")
    for method in (memory.messages, memory.delete):
        with pytest.raises(AsyncCallableError, match="await its own methods"):
            method("s")


def test_repository_runs_in_worker_threads(ask_async: Ask, order: int) -> None:
    """Blocking storage does not hold the event loop."""
    threads = set()

    class Watching(InMemoryRepository):
        def load(self, key: SessionKey) -> Sequence[Message]:
            threads.add(threading.current_thread())
            return super().load(key)

        def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
            threads.add(threading.current_thread())
            super().append(key, messages)

    client, _ = client_of(["ok"], memory_of(Watching()), order=order)
    ask_async(client, "Hi", session_id="s")
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("method", ["load", "append"])
def test_repository_error_fails_the_turn(ask: Ask, order: int, method: str) -> None:
    """A turn that cannot be stored does not look like a success."""

    class Failing(InMemoryRepository):
        broken = True

        def load(self, key: SessionKey) -> Sequence[Message]:
            if method == "load" and self.broken:
                raise MemoryStoreError("the disk is full")
            return super().load(key)

        def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
            if method == "append" and self.broken:
                raise MemoryStoreError("the disk is full")
            super().append(key, messages)

    repository = Failing()
    client, model = client_of(lambda request: "ok", memory_of(repository), order=order)
    with pytest.raises(MemoryStoreError, match="the disk is full"):
        ask(client, "1", session_id="s")
    repository.broken = False
    ask(client, "2", session_id="s")
    assert sent(model)[-1] == ["u:2"]


# The chain


def test_second_memory_advisor_is_refused() -> None:
    """Two memory advisors would store everything twice."""
    memory = memory_of()
    two = [MemoryAdvisor(memory, order=OUTSIDE), MemoryAdvisor(memory, order=INSIDE)]
    with pytest.raises(ConfigurationError, match=r"MemoryAdvisor\(order=200\), MemoryAdvisor\(order=400\)"):
        ChatClient(ScriptedChatModel(), advisors=two)
    client = ChatClient(ScriptedChatModel(), advisors=two[:1])
    with pytest.raises(ConfigurationError, match="one memory advisor"):
        client.call("Hi", advisors=two[1:])


@pytest.mark.parametrize("wrong", [InMemoryRepository(), ChatMemory, None])
def test_advisor_rejects_other_objects_as_memory(wrong: Any) -> None:
    """A repository without a `ChatMemory` is the most common mistake."""
    with pytest.raises(ConfigurationError, match=r"ChatMemory\(repository\)"):
        MemoryAdvisor(wrong)


def test_memory_can_be_added_for_one_call(ask: Ask, order: int) -> None:
    memory = memory_of()
    model = ScriptedChatModel([[add_call()], "Three."])
    ask(ChatClient(model, tools=TOOLS), "1 + 2?", session_id="s", advisors=[MemoryAdvisor(memory, order=order)])
    assert len(memory.messages("s")) == (4 if order == INSIDE else 2)


def test_send_history_off_serves_custom_memory(ask: Ask) -> None:
    """An inner advisor of the application may keep the turn."""

    class OwnMemory:
        order = 400

        def __init__(self) -> None:
            self.kept: list[Message] = []

        def advise(self, request: Any) -> Any:
            self.kept.extend(message for message in request.messages if not isinstance(message, SystemMessage))
            return (yield request.replace(messages=self.kept))

    between, loop = Between(), ToolCallingAdvisor(send_history=False)
    model = ScriptedChatModel([[add_call()], [add_call(3, 4)], "Ten."])
    client = ChatClient(model, tools=TOOLS, advisors=[loop, between, OwnMemory()], system="Be brief.")
    reply = ask(client, "sum?").response
    assert between.seen == [["s:Be brief.", "u:sum?"], ["s:Be brief.", "!add", "=3"], ["s:Be brief.", "!add", "=7"]]
    assert sent(model)[-1] == ["u:sum?", "!add", "=3", "!add", "=7"]
    assert said(reply.messages) == ["!add", "=3", "!add", "=7", "a:Ten."]


def test_output_corrections_are_not_stored(ask: Ask, order: int) -> None:
    """Answers that did not fit the output type are not part of the conversation."""
    memory = memory_of()
    client, _ = client_of(["no JSON", '{"value": 3}'], memory, order=order)
    ask(client, "1 + 2?", session_id="s", output_type=dict[str, int])
    assert said(memory.messages("s")) == ["u:1 + 2?", 'a:{"value": 3}']


# Tool search

NAMES = ("get_weather", "send_mail", "play_music", "list_files")
SEARCHING = [[(SEARCH_TOOL, {"query": "weather"})], [("get_weather", {})], "Sunny."]


def catalog() -> list[Tool]:
    return [Tool(name, f"Can {name.replace('_', ' ')}.", {}, fn=lambda: "done") for name in NAMES]


def searching(script: Any, memory: ChatMemory, order: int, **options: Any) -> tuple[Any, Any, Any]:
    advisor = ToolSearchAdvisor("regex", **options)
    client, model = client_of(script, memory, advisor, order=order, tools=catalog())
    return client, model, advisor


def offered(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def test_revealed_tools_stay_with_the_history_off(ask: Ask) -> None:
    """Tools stay revealed in every round and beyond the window of an inner memory."""
    client, model, _ = searching([*SEARCHING, "1", "2", "3"], memory_of(window=TurnWindow(1)), INSIDE)
    for text in ("Weather?", "a", "b", "c"):
        ask(client, text, session_id="s")
    assert offered(model) == [[SEARCH_TOOL], *[[SEARCH_TOOL, "get_weather"]] * 5]
    assert sent(model)[-1][1:] == ["u:c"]


def test_instructions_are_in_every_round_with_the_history_off(ask: Ask) -> None:
    """The instructions are sent once a round."""
    client, model, _ = searching(SEARCHING, memory_of(), INSIDE)
    ask(client, "Weather?", session_id="s")
    heads = [[m for m in request.messages if isinstance(m, SystemMessage)] for request in model.requests]
    assert heads == [heads[0]] * 3
    assert len(heads[0]) == 1


def test_revealed_tools_are_restored_after_a_restart(ask: Ask, tmp_path: Path) -> None:
    """A new client over the same file restores them, even if the window no longer holds the search."""
    for turns in (1, 2):
        path = tmp_path / f"{turns}.db"
        with SqliteRepository(path) as repository:
            client, _, _ = searching([*SEARCHING, "x"], memory_of(repository), INSIDE)
            for text in ("Weather?", "x")[:turns]:
                ask(client, text, session_id="s", tenant_id="acme")
        with SqliteRepository(path) as repository:
            client, model, _ = searching(["Still sunny.", "ok"], memory_of(repository, TurnWindow(1)), INSIDE)
            ask(client, "And now?", session_id="s", tenant_id="acme")
            ask(client, "And now?", session_id="s")
        assert offered(model) == [[SEARCH_TOOL, "get_weather"], [SEARCH_TOOL]]


def test_outside_the_loop_answers_show_the_revealed_tools_after_a_restart(ask: Ask, tmp_path: Path) -> None:
    """Tool messages are not stored, but the answer of a turn notes what was revealed."""
    with SqliteRepository(tmp_path / "chats.db") as repository:
        client, model, _ = searching([*SEARCHING, "x"], memory_of(repository), OUTSIDE)
        ask(client, "Weather?", session_id="s")
        ask(client, "x", session_id="s")
        assert offered(model)[-1] == [SEARCH_TOOL, "get_weather"]
        client, model, _ = searching(["x"], memory_of(repository, TurnWindow(1)), OUTSIDE)
        ask(client, "And now?", session_id="s")
        assert offered(model) == [[SEARCH_TOOL, "get_weather"]]
        assert len(sent(model)[0]) == 2  # the instructions and the new message: the window leaves out the rest


def test_restore_reveals_tools_after_compaction_and_restart(ask: Ask, order: int) -> None:
    """`restore` names tools that neither the session nor the messages name."""
    repository = InMemoryRepository()
    memory = memory_of(repository)
    client, model, _ = searching([*SEARCHING, "ok"], memory, order)
    ask(client, "Weather?", session_id="s")
    memory.replace("s", [S("The user asked for the weather; it is sunny.")])
    ask(client, "And now?", session_id="s")
    assert offered(model)[-1] == [SEARCH_TOOL, "get_weather"]
    client, model, second = searching(["ok", "ok"], memory, order)
    second.restore("s", ["get_weather", "no_such_tool"])
    ask(client, "Once more?", session_id="s")
    assert offered(model) == [[SEARCH_TOOL, "get_weather"]]
    assert any("it is sunny." in word for word in sent(model)[0])


def test_evicted_session_is_restored_from_memory(ask: Ask) -> None:
    client, model, advisor = searching([*SEARCHING, "ok"], memory_of(), INSIDE)
    ask(client, "Weather?", session_id="s")
    advisor.evict("s")
    ask(client, "And now?", session_id="s")
    assert offered(model)[-1] == [SEARCH_TOOL, "get_weather"]


def test_report_counts_messages_from_memory(ask: Ask) -> None:
    """A round that only searched costs the whole conversation, wherever it is stored."""
    past = [U("word " * 2000), A("ok")]
    spent = []
    for order in (OUTSIDE, INSIDE):
        memory = memory_of()
        memory.append("s", past)
        client, _, _ = searching(SEARCHING, memory, order)
        spent.append(ask(client, "Weather?", session_id="s").response.tool_search.tokens_spent)
    assert spent[0] == spent[1] > 2000


def test_repository_that_loses_tool_messages_is_noticed(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    """The conversation is loaded once to see that, not after every turn."""
    loads = []

    class Forgetful(InMemoryRepository):
        def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
            super().append(key, [message for message in messages if not isinstance(message, ToolMessage)])

        def load(self, key: SessionKey) -> Sequence[Message]:
            loads.append(key)
            return super().load(key)

    client, _ = client_of(["Hi.", [add_call()], "Three.", [add_call()], "Three."], memory_of(Forgetful()), order=INSIDE)
    ask(client, "Hi", session_id="s")
    assert caplog.messages == []
    for _ in range(2):
        ask(client, "1 + 2?", session_id="s")
    (message,) = caplog.messages
    assert message.startswith("toolsearch.memory_lost_messages repository=Forgetful lost=1 kinds=tool; ")
    assert len(loads) == 4


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    """Check that no worker thread of a test is left."""
    yield
    assert all(not thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate())
