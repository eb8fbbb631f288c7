"""Chain of advisors: effects, order, streamed text."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import (
    AsyncCallableError,
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    ProviderError,
    ToolCall,
)
from toolsearch.loop import AdvisorFlow, Perform, RunTools, Sleep, ToolBatchResult
from toolsearch.testing import FakeClock, ScriptedChatModel, ScriptedStream


class Flow:
    """An advisor made of a generator function."""

    def __init__(self, advise: Callable[[ChatRequest], Any], order: int = 100) -> None:
        self.advise = advise
        self.order = order


class Upper:
    """Changes the response and the streamed text to capitals, without state."""

    def __init__(self, order: int = 100) -> None:
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response = yield request
        return response.with_text(response.text.upper())

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk:
        return ChatChunk(chunk.text.upper())


class Redact:
    """Replaces a secret, also one split between two chunks, with state for each answer."""

    def __init__(self, secret: str = "secret", order: int = 100) -> None:
        self.secret = secret
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response = yield request
        return response.with_text(response.text.replace(self.secret, "***"))

    def chunk_transformer(self) -> Redaction:
        return Redaction(self.secret)


class Redaction:
    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.kept = ""

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk | None:
        text = (self.kept + chunk.text).replace(self.secret, "***")
        beginnings = (n for n in range(len(self.secret) - 1, 0, -1) if text.endswith(self.secret[:n]))
        keep = next(beginnings, 0)
        text, self.kept = text[: len(text) - keep], text[len(text) - keep :]
        return ChatChunk(text) if text else None

    def flush(self) -> ChatChunk | None:
        kept, self.kept = self.kept, ""
        return ChatChunk(kept) if kept else None


class Accept:
    """Buffers answers and asks again until one is accepted."""

    def __init__(self, passes: Callable[[ChatResponse], bool] = lambda _: True, order: int = 100) -> None:
        self.passes = passes
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        while True:
            response = yield request.replace(buffered=True)
            if self.passes(response):
                return response


def flow(order: int = 100) -> Callable[[Callable[[ChatRequest], Any]], Flow]:
    return partial(Flow, order=order)


def bare(model: Any, *advisors: Any, **options: Any) -> ChatClient:
    """A client without a tool-calling loop, so that only the given advisors are in the chain."""
    return ChatClient(model, advisors=advisors, tool_calling=False, **options)


def pieces(*texts: str) -> list[ChatChunk]:
    return [ChatChunk(text) for text in texts]


# --- effects ---------------------------------------------------------------------------------------------------------


def test_an_error_of_the_model_is_raised_at_the_yield_and_can_be_handled(ask):
    @flow()
    def fallback(request: ChatRequest) -> AdvisorFlow:
        try:
            response = yield request
        except ProviderError as error:
            return ChatResponse.from_text(f"Sorry: {error}")
        return response

    outcome = ask(bare(ScriptedChatModel([ProviderError("down", status=503)]), fallback), "Hi")
    assert outcome.response.text == outcome.text_shown == "Sorry: down"


def test_an_unhandled_error_reaches_the_caller(ask):
    error = ProviderError("down", status=503)
    with pytest.raises(ProviderError) as raised:
        ask(bare(ScriptedChatModel([error])), "Hi")
    assert raised.value is error


def test_an_error_passes_through_all_advisors_from_the_inside_out(ask):
    seen: list[str] = []

    def watcher(name: str, order: int) -> Flow:
        def advise(request: ChatRequest) -> AdvisorFlow:
            try:
                return (yield request)
            except ProviderError:
                seen.append(name)
                raise

        return Flow(advise, order)

    with pytest.raises(ProviderError):
        ask(bare(ScriptedChatModel([ProviderError("down")]), watcher("inner", 2), watcher("outer", 1)), "Hi")
    assert seen == ["inner", "outer"]


def test_an_advisor_can_replace_an_error(ask):
    @flow()
    def translate(request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request)
        except ProviderError as error:
            raise LookupError("translated") from error

    with pytest.raises(LookupError, match="translated"):
        ask(bare(ScriptedChatModel([ProviderError("down")]), translate), "Hi")


def test_yielding_the_request_again_repeats_it(ask):
    clock = FakeClock()

    @flow()
    def retry(request: ChatRequest) -> AdvisorFlow:
        for delay in (1.0, 2.0, 4.0):
            try:
                return (yield request)
            except ProviderError:
                yield Sleep(delay)
        return (yield request)

    model = ScriptedChatModel([ProviderError("a"), ProviderError("b"), "at last"])
    outcome = ask(bare(model, retry, clock=clock), "Hi")
    assert outcome.text_shown == "at last"
    assert clock.sleeps == [1.0, 2.0]
    assert len(model.requests) == 3


def test_inner_advisors_run_again_for_each_request(ask):
    runs: list[str] = []

    @flow(order=1)
    def twice(request: ChatRequest) -> AdvisorFlow:
        yield request
        return (yield request)

    @flow(order=2)
    def count(request: ChatRequest) -> AdvisorFlow:
        runs.append("begin")
        response = yield request
        runs.append("end")
        return response

    ask(bare(ScriptedChatModel(["one", "two"]), twice, count), "Hi")
    assert runs == ["begin", "end"] * 2


def test_advisors_are_sorted_by_order(ask):
    seen: list[str] = []

    def named(name: str, order: int) -> Flow:
        def advise(request: ChatRequest) -> AdvisorFlow:
            seen.append(f"> {name}")
            response = yield request
            seen.append(f"< {name}")
            return response

        return Flow(advise, order)

    client = bare(ScriptedChatModel(["x"]), named("b", 5), named("c", 5), named("a", -1))
    ask(client, "Hi", advisors=[named("per call", 5), named("innermost", 6)])
    order = ["a", "b", "c", "per call", "innermost"]
    assert seen == [f"> {name}" for name in order] + [f"< {name}" for name in reversed(order)]


def test_an_advisor_can_change_request_and_response(ask):
    @flow()
    def change(request: ChatRequest) -> AdvisorFlow:
        response = yield request.replace(options={"temperature": 0})
        return response.replace(finish_reason="changed")

    model = ScriptedChatModel(["x"])
    assert ask(bare(model, change), "Hi").response.finish_reason == "changed"
    assert model.requests[0].options == {"temperature": 0}


def test_perform_returns_the_result_or_raises_the_error(ask):
    @flow()
    def work(request: ChatRequest) -> AdvisorFlow:
        seven = yield Perform(lambda: 7)
        try:
            yield Perform(lambda: 1 // 0)
        except ZeroDivisionError:
            return ChatResponse.from_text(f"{seven}, and an error")
        return (yield request)

    assert ask(bare(ScriptedChatModel(), work), "Hi").text_shown == "7, and an error"


async def _seven() -> int:
    return 7


class _AsyncSeven:
    async def __call__(self) -> int:
        return 7


@pytest.mark.parametrize(
    "fn", [_seven, partial(_seven), _AsyncSeven(), lambda: _seven()], ids=["function", "partial", "object", "lambda"]
)
def test_perform_awaits_async_functions_in_async_drivers_only(ask, fn):
    @flow()
    def work(request: ChatRequest) -> AdvisorFlow:
        return ChatResponse.from_text(str((yield Perform(fn))))

    client = bare(ScriptedChatModel(), work)
    if ask.is_async:
        assert ask(client, "Hi").text_shown == "7"
    else:
        with pytest.raises(AsyncCallableError, match=r"(_seven|_AsyncSeven|<lambda>) must not be async .* use acall"):
            ask(client, "Hi")


def test_stop_iteration_does_not_end_an_advisor_silently(ask):
    @flow()
    def work(request: ChatRequest) -> AdvisorFlow:
        yield Perform(partial(next, iter(())))
        return (yield request)

    with pytest.raises(RuntimeError, match="StopIteration"):
        ask(bare(ScriptedChatModel(["never"]), work), "Hi")


def test_any_advisor_can_yield_run_tools(ask):
    from toolsearch import Tool

    tool = Tool("double", fn=lambda n: n * 2)
    batches: list[ToolBatchResult] = []

    @flow()
    def work(request: ChatRequest) -> AdvisorFlow:
        calls = (ToolCall.from_dict("1", "double", {"n": 4}),)
        batches.append((yield RunTools(calls=calls, tools={"double": tool}, request=request)))
        return (yield request)

    outcome = ask(bare(ScriptedChatModel(["done"]), work), "Hi")
    assert [message.text for message in batches[0].messages] == ["8"]
    assert outcome.response.text == "done"


# --- invalid advisors ------------------------------------------------------------------------------------------------


def _returns_response(request: ChatRequest) -> ChatResponse:
    return ChatResponse.from_text("x")


async def _is_a_coroutine(request: ChatRequest) -> ChatResponse:
    return ChatResponse.from_text("x")


async def _is_an_async_generator(request: ChatRequest) -> Any:
    yield request


def _returns_nothing(request: ChatRequest) -> Generator[Any, Any, None]:
    yield request


def _yields_rubbish(request: ChatRequest) -> Generator[Any, Any, ChatResponse]:
    yield "please"
    return ChatResponse.from_text("x")


@pytest.mark.parametrize(
    ("advise", "says"),
    [
        (_returns_response, "Flow.advise must be a generator"),
        (_is_a_coroutine, "Flow.advise must be a generator"),
        (_is_an_async_generator, "Flow.advise must be a generator"),
        (_returns_nothing, "Flow.advise must return a ChatResponse, got NoneType"),
        (_yields_rubbish, "Flow.advise must yield a ChatRequest, RunTools, Perform, Sleep or Emit, got str"),
    ],
)
def test_invalid_advisors_are_named(ask, advise, says):
    with pytest.raises(ConfigurationError, match=says):
        ask(bare(ScriptedChatModel(["x"]), Flow(advise)), "Hi")


@pytest.mark.parametrize("advisor", [Upper, object(), "retry", None])
def test_advisors_are_validated_when_they_are_registered(advisor):
    with pytest.raises(ConfigurationError, match="advisors must"):
        bare(ScriptedChatModel(), advisor)


def test_the_class_of_an_advisor_is_rejected():
    with pytest.raises(ConfigurationError, match="advisors must be instances, got the class Upper"):
        bare(ScriptedChatModel(), Upper)


# --- streamed text ---------------------------------------------------------------------------------------------------


def test_text_arrives_in_the_pieces_of_the_model(ask):
    outcome = ask(bare(ScriptedChatModel([pieces("Hel", "", "lo ", "there")])), "Hi")
    assert outcome.text_shown == "Hello there"
    if ask.streams:
        assert outcome.chunks == ("Hel", "lo ", "there")


def test_text_is_shown_before_the_model_has_finished(ask_streaming):
    model = ScriptedChatModel([ScriptedStream(pieces("a", "b", "c"), error=ProviderError("cut off"), after=2)])
    shown: list[str] = []
    client = bare(model)
    with pytest.raises(ProviderError, match="cut off"):
        _read(ask_streaming, client, shown)
    assert shown == ["a", "b"]


def _read(ask: Any, client: ChatClient, shown: list[str]) -> None:
    """Read a stream and record each chunk as it arrives."""
    import anyio

    async def read() -> None:
        async with client.astream("Hi") as stream:
            async for text in stream:
                shown.append(text)

    if ask.is_async:
        anyio.run(read, backend=ask.backend)
    else:
        shown.extend(client.stream("Hi"))


def test_text_of_the_aggregate_alone_is_shown_once(ask):
    outcome = ask(bare(ScriptedChatModel([[ChatResponse.from_text("whole")]])), "Hi")
    assert outcome.text_shown == outcome.response.text == "whole"
    if ask.streams:
        assert outcome.chunks == ("whole",)


def test_a_response_without_the_model_is_one_chunk(ask):
    @flow()
    def canned(request: ChatRequest) -> AdvisorFlow:
        return ChatResponse.from_text("from me")
        yield request

    model = ScriptedChatModel()
    outcome = ask(bare(model, canned), "Hi")
    assert outcome.text_shown == "from me"
    assert model.requests == []
    if ask.streams:
        assert outcome.chunks == ("from me",)


def test_a_cached_response_is_shown_again(ask):
    kept: list[ChatResponse] = []

    @flow()
    def cache(request: ChatRequest) -> AdvisorFlow:
        if not kept:
            kept.append((yield request))
        return kept[0]

    client = bare(ScriptedChatModel(["only once"]), Upper(order=1), cache)
    outcomes = [ask(client, "Hi") for _ in range(3)]
    assert [outcome.text_shown for outcome in outcomes] == ["ONLY ONCE"] * 3


def test_an_empty_answer_shows_nothing(ask):
    outcome = ask(bare(ScriptedChatModel([""]), Upper(), Accept()), "Hi")
    assert outcome.text_shown == outcome.response.text == ""
    assert outcome.chunks == ()


def test_tool_calls_are_removed_from_the_stream(ask):
    call = ToolCall.from_dict("1", "ping", {})
    first = [ChatChunk("Let me "), ChatChunk("look. ", (call,)), ChatChunk("", (call,))]
    aggregate = ChatResponse(messages=[_said("Let me look. ", call)], finish_reason="tool_calls")
    outcome = ask(ChatClient(ScriptedChatModel([[*first, aggregate], "Pong."]), tools=[ping]), "Hi")
    assert outcome.response.text == "Pong."
    if ask.streams:
        assert outcome.text_shown == "Let me look. Pong."
        assert not any(event.tool_calls for event in outcome.events if isinstance(event, ChatChunk))


def ping() -> str:
    """Answer."""
    return "pong"


def _said(text: str, *calls: ToolCall) -> Any:
    from toolsearch import AssistantMessage

    return AssistantMessage(text, calls)


# --- chunk transformers ----------------------------------------------------------------------------------------------


def test_a_stateless_transformer_changes_every_chunk(ask):
    outcome = ask(bare(ScriptedChatModel([pieces("he", "llo")]), Upper()), "Hi")
    assert outcome.text_shown == outcome.response.text == "HELLO"


def test_a_secret_split_between_chunks_is_redacted(ask):
    outcome = ask(bare(ScriptedChatModel([pieces("my sec", "re", "t is a sec", "ond sec")]), Redact()), "Hi")
    assert outcome.text_shown == outcome.response.text == "my *** is a second sec"
    if ask.streams:
        assert outcome.chunks[0] == "my "


def test_each_request_of_an_advisor_has_a_new_transformer(ask):
    """Outside of the loop that is one for a turn."""
    made: list[Redaction] = []

    class Noted(Redact):
        def chunk_transformer(self) -> Redaction:
            made.append(super().chunk_transformer())
            return made[-1]

    client = ChatClient(ScriptedChatModel([[("ping", {})], "one", "two"]), tools=[ping], advisors=[Noted(order=1)])
    ask(client, "Hi")
    ask(client, "Hi again")
    assert len(set(map(id, made))) == (2 if ask.streams else 0)


def test_flushed_text_passes_the_outer_transformers(ask):
    outcome = ask(bare(ScriptedChatModel([pieces("a s", "ec")]), Upper(order=1), Redact(order=2)), "Hi")
    assert outcome.text_shown == "A SEC"


def test_outer_transformers_receive_the_text_of_inner_ones(ask):
    client = bare(ScriptedChatModel(["the secret"]), Redact("THE", order=1), Upper(order=2), Redact("secret", order=3))
    outcome = ask(client, "Hi")
    assert outcome.text_shown == outcome.response.text == "*** ***"


def test_a_response_of_an_advisor_passes_only_outer_transformers(ask):
    @flow(order=2)
    def canned(request: ChatRequest) -> AdvisorFlow:
        return ChatResponse.from_text("the secret")
        yield request

    outcome = ask(bare(ScriptedChatModel(), Redact(order=1), canned, Upper(order=3)), "Hi")
    assert outcome.text_shown == outcome.response.text == "the ***"


def test_flush_is_called_once_per_answer(ask):
    class Signed(Upper):
        def advise(self, request: ChatRequest) -> AdvisorFlow:
            response = yield request
            return response.with_text(response.text.upper() + "!")

        def flush(self) -> ChatChunk:
            return ChatChunk("!")

    client = bare(ScriptedChatModel(["hi"]), Signed(order=1), Accept(order=2), Signed(order=3))
    assert ask(client, "Hi").text_shown == "HI!!"


@pytest.mark.parametrize("method", ["on_chunk", "flush"])
def test_invalid_chunks_of_a_transformer_are_rejected(ask, method):
    class Wrong(Upper):
        flush: Any = None

    setattr(Wrong, method, lambda self, chunk=None: "text")
    if method == "on_chunk":
        Wrong.flush = lambda self: None
    client = bare(ScriptedChatModel(["hi"]), Wrong())
    if not ask.streams:
        assert ask(client, "Hi").text_shown == "HI"
        return
    with pytest.raises(ConfigurationError, match="Wrong: on_chunk and flush must return a ChatChunk or None, got str"):
        ask(client, "Hi")


# --- buffered --------------------------------------------------------------------------------------------------------


def test_a_buffered_answer_is_shown_after_it_is_accepted(ask_streaming):
    shown_before: list[str] = []
    shown: list[str] = []

    def look(response: ChatResponse) -> bool:
        shown_before.extend(shown)
        return True

    client = bare(ScriptedChatModel([pieces("a", "b")]), Accept(look))
    _read(ask_streaming, client, shown)
    assert shown_before == []
    assert shown == ["a", "b"]


def test_a_rejected_answer_is_never_shown(ask):
    model = ScriptedChatModel(["bad", pieces("go", "od")])
    outcome = ask(bare(model, Accept(lambda response: response.text == "good")), "Hi")
    assert outcome.text_shown == outcome.response.text == "good"
    if ask.streams:
        assert outcome.chunks == ("go", "od")


def test_a_partial_buffered_answer_is_not_shown(ask):
    @flow()
    def retry(request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request.replace(buffered=True))
        except ProviderError:
            return (yield request.replace(buffered=True))

    broken = ScriptedStream(pieces("half ", "an answer"), error=ProviderError("cut"), after=1)
    outcome = ask(bare(ScriptedChatModel([broken, "whole"]), retry), "Hi")
    assert outcome.text_shown == outcome.response.text == "whole"


def test_an_inner_retry_of_a_buffered_answer_shows_the_last_one(ask):
    model = ScriptedChatModel(["bad 1", "good", "bad 2", "good"])
    inner = Accept(lambda response: response.text == "good", order=2)
    verdicts = iter([False, True])
    outer = Accept(lambda response: next(verdicts), order=1)
    outcome = ask(bare(model, inner, outer), "Hi")
    assert outcome.text_shown == outcome.response.text == "good"
    assert len(model.requests) == 4


def test_a_replaced_buffered_response_is_shown(ask):
    @flow()
    def replace(request: ChatRequest) -> AdvisorFlow:
        response = yield request.replace(buffered=True)
        return response.with_text(request.options["text"])

    for text in ("something else", "a secret", ""):
        outcome = ask(bare(ScriptedChatModel(["a secret"]), replace), "Hi", options={"text": text})
        assert outcome.text_shown == outcome.response.text == text


def test_either_of_two_buffered_answers_can_be_shown(ask):
    def best(request: ChatRequest) -> AdvisorFlow:
        answers = []
        for _ in range(2):
            answers.append((yield request.replace(buffered=True)))
        return max(answers, key=lambda response: len(response.text))

    for script in (["short", "a long one"], ["a long one", "short"]):
        outcome = ask(bare(ScriptedChatModel(script), Flow(best)), "Hi")
        assert outcome.text_shown == outcome.response.text == "a long one"


def test_buffering_outside_the_loop_shows_the_final_answer(ask):
    call = ToolCall.from_dict("1", "ping", {})
    script = [_said("Looking.", call), "Draft", _said("Looking again.", call), "Final"]
    accept = Accept(lambda response: response.text == "Final", order=1)
    outcome = ask(ChatClient(ScriptedChatModel(script), tools=[ping], advisors=[accept]), "Hi")
    assert outcome.text_shown == outcome.response.text == "Final"


def test_buffering_inside_the_loop_buffers_each_round(ask):
    call = ToolCall.from_dict("1", "ping", {})
    script = ["draft", _said("Looking. ", call), "draft", "Final"]
    accept = Accept(lambda response: response.text != "draft", order=400)
    outcome = ask(ChatClient(ScriptedChatModel(script), tools=[ping], advisors=[accept]), "Hi")
    assert outcome.response.text == "Final"
    if ask.streams:
        assert outcome.text_shown == "Looking. Final"


TEXTS = st.lists(st.text(alphabet="secrt *\n\u00e9\U0001f600", max_size=6), max_size=8)
ADVISORS = st.lists(st.sampled_from(["upper", "redact", "accept", "accept second", "pass"]), max_size=5)


def _advisor(kind: str, order: int) -> Any:
    if kind == "upper":
        return Upper(order)
    if kind == "redact":
        return Redact("ec", order)
    if kind == "accept":
        return Accept(order=order)
    if kind == "pass":
        return Flow(_passes, order)
    return _AcceptSecond(order)


def _passes(request: ChatRequest) -> AdvisorFlow:
    return (yield request)


class _AcceptSecond:
    def __init__(self, order: int) -> None:
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        yield request.replace(buffered=True)
        return (yield request.replace(buffered=True))


@given(texts=TEXTS, kinds=ADVISORS, aggregate_only=st.booleans())
def test_shown_text_equals_the_text_of_the_response(texts, kinds, aggregate_only):
    def answer(request: ChatRequest) -> Any:
        return [ChatResponse.from_text("".join(texts))] if aggregate_only or not texts else pieces(*texts)

    advisors = [_advisor(kind, order) for order, kind in enumerate(kinds)]
    stream = bare(ScriptedChatModel(answer), *advisors).stream("Hi")
    shown = "".join(stream)
    assert shown == stream.response.text == bare(ScriptedChatModel(answer), *advisors).call("Hi").text


@given(texts=TEXTS, outside=ADVISORS, inside=ADVISORS, rounds=st.integers(0, 2))
def test_shown_text_ends_with_the_response_in_a_tool_loop(texts, outside, inside, rounds):
    call = ToolCall.from_dict("1", "ping", {})

    def answer(request: ChatRequest) -> Any:
        if sum(message.role == "tool" for message in request.messages) < rounds:
            return _said("Looking. ", call)
        return pieces(*texts) or ""

    def client() -> ChatClient:
        advisors = [_advisor(kind, order) for order, kind in enumerate(outside)]
        advisors += [_advisor(kind, 301 + order) for order, kind in enumerate(inside)]
        return ChatClient(ScriptedChatModel(answer), tools=[ping], advisors=advisors)

    stream = client().stream("Hi")
    shown = "".join(stream)
    text = stream.response.text
    assert text == client().call("Hi").text
    buffered = any(kind.startswith("accept") for kind in outside)
    assert shown == text if buffered else shown.endswith(text)
