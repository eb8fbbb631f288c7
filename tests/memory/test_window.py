"""Memory windows keep whole turns, and stored and given messages are joined without duplicates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import (
    AssistantMessage,
    ChatMemory,
    ConfigurationError,
    InMemoryRepository,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.memory import MessageWindow, TokenWindow, TurnWindow
from toolsearch.memory.turns import drop_unpaired, join_conversation, split_turns, unpaired_call_ids
from toolsearch.memory.window import apply_window


class WordCounter:
    """Counts words."""

    name = "words"

    def count(self, text):
        return len(text.split())


U, A, S = UserMessage, AssistantMessage, SystemMessage


def call(*ids):
    return AssistantMessage("", tuple(ToolCall(name, "add") for name in ids))


def result(id, text="3"):
    return ToolMessage(id, "add", text)


words = st.integers(0, 6).map(lambda count: " ".join(["word"] * count))
ids = st.sampled_from("abc")


@st.composite
def turns(draw):
    """Draw a turn as the loop makes it: user messages, rounds of tool calls and results, an answer."""
    messages = [U(draw(words)) for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(0, 3))):
        called = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
        messages += [AssistantMessage(draw(words), call(*called).tool_calls), *map(result, called)]
    return [*messages, A(draw(words))]


conversations = st.lists(turns(), max_size=6).map(lambda drawn: [message for turn in drawn for message in turn])
anything = st.lists(
    st.one_of(
        st.builds(U, words),
        st.builds(A, words, st.lists(ids.map(lambda name: ToolCall(name, "add")), max_size=3).map(tuple)),
        st.builds(result, ids),
    ),
    max_size=12,
)
windows = st.one_of(
    st.integers(1, 8).map(TurnWindow),
    st.integers(1, 20).map(MessageWindow),
    st.integers(1, 60).map(lambda tokens: TokenWindow(tokens, WordCounter())),
)


@given(conversations, turns(), windows)
def test_window_keeps_whole_turns_and_pairs(past, current, window):
    """A window keeps the end of a conversation, from the start of a turn, without unpaired tool calls."""
    kept = apply_window(past, current, window)
    assert list(kept) == past[len(past) - len(kept) :]
    assert not kept or isinstance(kept[0], U)
    assert not kept or len(kept) == len(past) or not isinstance(past[len(past) - len(kept) - 1], U)
    assert unpaired_call_ids([*kept, *current]) == ()


@given(conversations, turns(), st.integers(1, 8))
def test_turn_window_counts_the_current_turn(past, current, size):
    """A turn window keeps its number of turns, the current one included."""
    kept = apply_window(past, current, TurnWindow(size))
    assert len(split_turns([*kept, *current])) == min(size, len(split_turns(past)) + 1)


@given(conversations, turns(), st.integers(1, 20))
def test_message_window_keeps_as_many_turns_as_fit(past, current, size):
    """One more turn would exceed the window."""
    kept = apply_window(past, current, MessageWindow(size))
    assert not kept or len(kept) + len(current) <= size
    older = split_turns(past[: len(past) - len(kept)])
    if older:
        assert len(older[-1]) + len(kept) + len(current) > size


@given(conversations, turns(), st.integers(1, 60))
def test_token_window_keeps_as_many_turns_as_fit(past, current, size):
    """One more turn would exceed the window."""
    window = TokenWindow(size, WordCounter())

    def count(messages):
        return sum(window._count([message]) for message in messages)

    kept = apply_window(past, current, window)
    assert not kept or count([*kept, *current]) <= size
    older = split_turns(past[: len(past) - len(kept)])
    if older:
        assert count([*older[-1], *kept, *current]) > size


def test_current_turn_larger_than_the_window_is_sent_whole():
    """The current turn is sent even if it alone exceeds the window."""
    current = [U("word " * 99), call("a"), result("a", "word " * 99)]
    assert apply_window([U("1"), A("one")], current, TokenWindow(10)) == ()


def test_token_window_counts_tool_calls_and_results():
    past = [U("1"), call("a"), result("a", "word " * 10), A("one"), U("2"), A("two")]
    # add{} is one word, the result ten, the rest three: 14
    assert len(apply_window(past, [], TokenWindow(16, WordCounter()))) == 6
    assert len(apply_window(past, [], TokenWindow(13, WordCounter()))) == 2


def test_token_window_counts_only_what_it_keeps():
    """The cost of a window does not grow with the whole conversation."""

    class Counting(WordCounter):
        calls = 0

        def count(self, text):
            self.calls += 1
            return super().count(text)

    counter = Counting()
    past = [message for n in range(500) for message in (U("one two three"), A("four five"))]
    assert len(apply_window(past, [U("six")], TokenWindow(21, counter))) == 8
    assert counter.calls < 20


def test_custom_window_counts_turns():
    """A custom window may return any whole number: too many keeps all turns, a negative number none."""

    class Own:
        answer = 0

        def keep(self, past, current):
            return self.answer

    past = [U("1"), call("a"), result("a"), A("one"), U("2"), A("two")]
    window = Own()
    lengths = []
    for window.answer in (-3, 0, 1, 2, 99):
        lengths.append(len(apply_window(past, [], window)))
    assert lengths == [0, 0, 2, 6, 6]
    window.answer = "all"
    with pytest.raises(ConfigurationError, match=r"Own\.keep must return the number of turns"):
        apply_window(past, [], window)


@pytest.mark.parametrize("wrong", [20, TurnWindow, object()])
def test_chat_memory_rejects_other_objects_as_window(wrong):
    with pytest.raises(ConfigurationError, match=r"write TurnWindow\(20\)"):
        ChatMemory(InMemoryRepository(), wrong)


@given(anything)
def test_drop_unpaired_leaves_only_pairs(messages):
    """Texts and paired calls stay, and nothing is added."""
    kept = drop_unpaired(messages)
    assert unpaired_call_ids(kept) == ()
    assert drop_unpaired(kept) == kept
    assert [m for m in kept if isinstance(m, U)] == [m for m in messages if isinstance(m, U)]
    assert [m.text for m in kept if isinstance(m, A) and m.text] == [
        m.text for m in messages if isinstance(m, A) and m.text
    ]
    if not unpaired_call_ids(messages):
        assert [m for m in kept if m != A()] == [m for m in messages if m != A()]


def test_drop_unpaired_keeps_siblings_and_text():
    """Only the unpaired call is removed from a message."""
    two = AssistantMessage("Let me see.", call("a", "b").tool_calls)
    assert drop_unpaired([U("1"), two, result("b"), A("one")]) == (
        U("1"),
        AssistantMessage("Let me see.", call("b").tool_calls),
        result("b"),
        A("one"),
    )
    assert drop_unpaired([U("1"), call("a")]) == (U("1"),)
    assert drop_unpaired([result("a"), U("1"), result("a")]) == (U("1"),)
    assert drop_unpaired([call("a"), U("no"), result("a")]) == (U("no"),)


@given(conversations, conversations)
def test_split_turns_keeps_all_messages(past, more):
    """Every turn but the first begins at a user message, and no message is lost or moved."""
    messages = [A("Hello!"), *past, *more]
    found = split_turns(messages)
    assert [message for turn in found for message in turn] == messages
    assert all(isinstance(turn[0], U) for turn in found[1:])


PAST = (U("1"), call("a"), result("a"), A("one"), U("2"), A("two"), U("yes"), A("three"))


@pytest.mark.parametrize(
    ("given", "past", "current", "known"),
    [
        pytest.param((U("4"),), PAST, (U("4"),), 0, id="a new message"),
        pytest.param((U("yes"),), PAST, (U("yes"),), 0, id="said before, and said again"),
        pytest.param((*PAST, U("4")), (), (*PAST, U("4")), 8, id="the whole conversation"),
        pytest.param((*PAST[4:], U("4")), PAST[:4], (*PAST[4:], U("4")), 4, id="its end"),
        pytest.param((*PAST[:4], U("4")), PAST, (U("4"),), 0, id="its beginning, as examples are"),
        pytest.param((U("Short."), A("ok"), *PAST[4:], U("4")), (), None, 6, id="its end after a summary"),
        pytest.param((*PAST[4:6], U("4")), PAST, (U("4"),), 0, id="a part of it"),
        pytest.param(PAST, (), PAST, 8, id="nothing new"),
        pytest.param((U("x"), A("y"), U("4")), PAST, (U("x"), A("y"), U("4")), 0, id="something else"),
        pytest.param(
            (U("1"), A("one"), U("2"), A("two"), U("yes"), A("3."), U("4")), (), None, 6, id="another version"
        ),
        pytest.param(
            (U("2"), A("two"), U("other"), A("?"), U("4")), PAST, (U("other"), A("?"), U("4")), 0, id="a fork"
        ),
        pytest.param((U("4"), call("b"), result("b")), PAST, (U("4"), call("b"), result("b")), 0, id="a turn going on"),
        pytest.param((call("b"), result("b")), PAST, (call("b"), result("b")), 0, id="its end only"),
        pytest.param((), PAST, (), 0, id="nothing"),
    ],
)
def test_join_adds_no_message_twice(given, past, current, known):
    """Callers pass new messages, the whole conversation, a part of it, or examples."""
    joined = join_conversation(PAST, given)
    assert (joined.past, joined.current, joined.known) == (past, given if current is None else current, known)


@given(conversations, conversations, turns(), st.integers(0, 5))
def test_join_sends_no_turn_twice(past, more, new, left_out):
    """Stored turns come once, before the new one, even if turns have equal messages."""
    stored = [*past, *more]
    at = min(left_out, len(split_turns(stored)))
    own = [message for turn in split_turns(stored)[at:] for message in turn]
    joined = join_conversation(stored, [*own, new[0]])
    sent = [*joined.past, *joined.current]
    assert sent[-1] == new[0]
    if own:
        assert joined.known >= len(own)
        assert sent[:-1] == stored[len(stored) - len(sent) + 1 :]


@pytest.mark.parametrize("size", [0, -1, 1.5, "3", True, None])
@pytest.mark.parametrize("window", [TurnWindow, TokenWindow])
def test_window_size_must_be_positive_whole_number(window, size) -> None:
    with pytest.raises(ConfigurationError, match="whole number"):
        window(size)
