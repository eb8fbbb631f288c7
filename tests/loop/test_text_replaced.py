"""The text of a stream is the text of the response: additions are streamed, and changes have an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import (
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ProviderError,
    Retry,
    RoundStarted,
    TextReplaced,
    ToolCallingAdvisor,
    ToolStarted,
)
from toolsearch.loop import AdvisorFlow
from toolsearch.testing import FakeClock, ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]
Change = Callable[[str], str]


class Changes:
    """An advisor that changes the text of the response only."""

    def __init__(self, order: int, change: Change) -> None:
        self.order = order
        self.change = change

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response: ChatResponse = yield request
        return response.with_text(self.change(response.text))


class Finalizes(ToolCallingAdvisor):
    """A loop whose last hook changes the text."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change

    def finalize_loop(self, state: Any, response: Any) -> Any:
        return response.with_text(self.change(response.text))


class ChangesRounds(ToolCallingAdvisor):
    """A loop that changes the text of every round."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change

    def after_call(self, state: Any, response: Any) -> Any:
        return response.with_text(self.change(response.text)) if response.text else response


class Loud:
    """An outer advisor that changes chunks and the response alike."""

    order = 50

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response: ChatResponse = yield request
        return response.with_text(response.text.upper())

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk:
        return ChatChunk(chunk.text.upper())


def ping() -> str:
    """Answer."""
    return "pong"


CHANGES: dict[str, Callable[[Change], Any]] = {
    "outer": lambda change: Changes(100, change),
    "inner": lambda change: Changes(900, lambda text: change(text) if text else text),
    "finalize_loop": Finalizes,
    "after_call": ChangesRounds,
}
SCRIPT = [[("ping", {})], "hello"]


def texts(events: Any) -> list[str]:
    """Return the texts that count: one for each answer."""
    answers = [""]
    for event in events:
        if isinstance(event, ToolStarted) and answers[-1]:
            answers.append("")
        elif isinstance(event, TextReplaced):
            answers[-1] = event.text
        elif isinstance(event, ChatChunk):
            answers[-1] += event.text
    return answers


@pytest.mark.parametrize("outer", [[], [Loud()]], ids=["plain", "loud"])
@pytest.mark.parametrize("place", CHANGES)
def test_added_text_is_streamed(ask: Ask, place: str, outer: list[Any]) -> None:
    advisor = CHANGES[place](lambda text: f"{text} [footer]")
    outcome = ask(ChatClient(ScriptedChatModel(SCRIPT), tools=[ping], advisors=[advisor, *outer]), "Hi")
    expected = "HELLO [FOOTER]" if outer else "hello [footer]"
    assert outcome.response.text == outcome.text_shown == expected
    assert not any(isinstance(event, TextReplaced) for event in outcome.events)
    if ask.streams:  # type: ignore[attr-defined]
        assert len(outcome.chunks) > 1  # the answer was live


@pytest.mark.parametrize("outer", [[], [Loud()]], ids=["plain", "loud"])
@pytest.mark.parametrize("place", CHANGES)
def test_changed_text_has_an_event(ask_streaming: Ask, place: str, outer: list[Any]) -> None:
    advisor = CHANGES[place](lambda text: f"[header] {text}")
    client = ChatClient(ScriptedChatModel(SCRIPT), tools=[ping], advisors=[advisor, *outer])
    outcome = ask_streaming(client, "Hi")
    expected = "[HEADER] HELLO" if outer else "[header] hello"
    assert texts(outcome.events) == [outcome.response.text] == [expected]
    assert [event for event in outcome.events if isinstance(event, TextReplaced)] == [TextReplaced(expected)]


@pytest.mark.parametrize("place", CHANGES)
def test_buffered_text_is_right_without_an_event(ask: Ask, place: str) -> None:
    class Buffers:
        order = 10

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            return (yield request.replace(buffered=True))

    advisor = CHANGES[place](lambda text: f"[header] {text}")
    client = ChatClient(ScriptedChatModel(SCRIPT), tools=[ping], advisors=[advisor, Buffers()])
    outcome = ask(client, "Hi")
    assert outcome.text_shown == outcome.response.text == "[header] hello"
    assert not any(isinstance(event, TextReplaced) for event in outcome.events)


def test_a_round_with_text_is_changed_before_its_tools_run(ask_streaming: Ask) -> None:
    call = ChatResponse.from_text("I look.")
    first = [ChatChunk("I look."), ChatResponse(messages=[_with_call(call)])]
    advisor = ChangesRounds(lambda text: f"{text} ...")
    outcome = ask_streaming(ChatClient(ScriptedChatModel([first, "Done."]), tools=[ping], advisors=[advisor]), "Hi")
    assert texts(outcome.events) == ["I look. ...", "Done. ..."]
    assert [message.text for message in outcome.response.messages] == ["I look. ...", "pong", "Done. ..."]


def _with_call(response: ChatResponse) -> Any:
    from toolsearch import AssistantMessage, ToolCall

    return AssistantMessage(response.text, (ToolCall("1", "ping", "{}"),))


class Holds:
    """An outer advisor that holds back the last word, counts the turn's words, and adds a footer in the response."""

    order = 100

    def __init__(self) -> None:
        self.made = 0

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response: ChatResponse = yield request
        return response.with_text(f"{response.text}!")

    def chunk_transformer(self) -> Any:
        self.made += 1

        class Transformer:
            held = ""

            def on_chunk(self, chunk: ChatChunk) -> ChatChunk | None:
                done, space, self.held = (self.held + chunk.text).rpartition(" ")
                return ChatChunk(done + space) if space else None

            def flush(self) -> ChatChunk:
                held, self.held = self.held, ""
                return ChatChunk(held)

        return Transformer()


def test_an_outer_transformer_serves_a_turn(ask_streaming: Ask) -> None:
    """It keeps nothing back over the calls of tools, and sees what the loop adds."""
    holds = Holds()
    first = [ChatChunk("I will look"), ChatResponse(messages=[_with_call(ChatResponse.from_text("I will look"))])]
    client = ChatClient(
        ScriptedChatModel([first, [("ping", {})], "All done"]),
        tools=[ping],
        advisors=[holds, Finalizes(lambda text: f"{text} [by the loop]")],
    )
    outcome = ask_streaming(client, "Hi")
    assert texts(outcome.events) == ["I will look", "All done [by the loop]!"]
    assert holds.made == 1
    assert not any(isinstance(event, TextReplaced) for event in outcome.events)


class Flushes(Changes):
    """An outer advisor whose transformer adds a mark at the end."""

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk:
        return chunk

    def flush(self) -> ChatChunk:
        return ChatChunk("!")


def test_flush_is_not_called_for_rounds_without_text(ask: Ask) -> None:
    client = ChatClient(ScriptedChatModel(SCRIPT), tools=[ping], advisors=[Flushes(100, lambda text: f"{text}!")])
    assert ask(client, "Hi").text_shown == "hello!"


BUSY = ProviderError("busy", retryable=True)


def test_a_repeated_answer_replaces_the_text_that_was_shown(ask_streaming: Ask) -> None:
    script = [ScriptedStream("Half an answer", error=BUSY, after=1), "Whole."]
    client = ChatClient(ScriptedChatModel(script), advisors=[Retry(after_text=True)], clock=FakeClock())
    outcome = ask_streaming(client, "Hi")
    assert outcome.chunks[0] == "Half "
    assert texts(outcome.events) == [outcome.response.text] == ["Whole."]


def test_an_advisor_that_joins_two_answers_needs_no_event(ask: Ask) -> None:
    class Continue:
        order = 900

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            first: ChatResponse = yield request
            second: ChatResponse = yield request
            return second.with_text(first.text + second.text)

    outcome = ask(ChatClient(ScriptedChatModel(["One, ", "two."]), advisors=[Continue()]), "Hi")
    assert outcome.text_shown == outcome.response.text == "One, two."
    assert not any(isinstance(event, TextReplaced) for event in outcome.events)


def test_an_answer_in_place_of_an_error_replaces_the_text(ask_streaming: Ask) -> None:
    class Sorry:
        order = 100

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            try:
                return (yield request)
            except ProviderError:
                return ChatResponse.from_text("Sorry.")

    script = [ScriptedStream("Half an answer", error=BUSY, after=1)]
    outcome = ask_streaming(ChatClient(ScriptedChatModel(script), advisors=[Sorry(), Loud()]), "Hi")
    assert texts(outcome.events) == [outcome.response.text] == ["SORRY."]


def test_the_best_of_two_answers_is_the_text(ask_streaming: Ask) -> None:
    class Best:
        order = 900

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            first: ChatResponse = yield request
            yield request
            return first

    outcome = ask_streaming(ChatClient(ScriptedChatModel(["first", "second"]), advisors=[Best(), Loud()]), "Hi")
    assert texts(outcome.events) == [outcome.response.text] == ["FIRST"]
    assert [type(event) for event in outcome.events].count(RoundStarted) == 2


def test_the_partial_text_is_the_replaced_one() -> None:
    client = ChatClient(ScriptedChatModel(["hello"]), advisors=[Changes(100, str.upper)])
    stream = client.stream("Hi")
    for event in stream.events():
        if isinstance(event, TextReplaced):
            assert stream.partial.text == "HELLO"
            break
    else:
        pytest.fail("no event")
    stream.close()
