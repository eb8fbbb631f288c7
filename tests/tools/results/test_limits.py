"""Limits on the size of results, the store of the rests of long ones, and the tool that reads them."""

from __future__ import annotations

import gc
import math
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ConfigurationError, Media, Tool, ToolMessage
from toolsearch.text.tokens import estimate_tokens
from toolsearch.tools import ResultLimits
from toolsearch.tools.results.limits import TurnResults
from toolsearch.tools.results.store import ResultStore
from toolsearch.tools.results.truncation import is_truncated

TOOL = Tool("list_files", fn=lambda: None)
NOTE = re.compile(r"offset=(\d+)\)\.\]\Z")
HANDLE = re.compile(r'handle="([^"]+)"')


def results_of(store: ResultStore | None = None, max_tokens: float | None = 100, session: str = "ann") -> TurnResults:
    return TurnResults(ResultLimits(max_tokens=max_tokens), store or ResultStore(), ("acme", session), lambda _: False)


def result(text: str) -> ToolMessage:
    return ToolMessage("1", "list_files", text)


def without_note(text: str) -> str:
    return text.rpartition("\n\n[")[0]


words = st.sampled_from(["word ", "line\n", "é", "法令", "🚀", "x" * 50, "\n\n[Truncated: ", "[The end: "])


@given(st.lists(words, max_size=200).map("".join) | st.text(max_size=2_000), st.integers(100, 200))
def test_the_shown_part_and_the_parts_read_are_the_whole(text: str, max_tokens: int) -> None:
    turn = results_of(max_tokens=max_tokens)
    message = turn.limit(result(text), TOOL)
    if estimate_tokens(text) <= max_tokens:
        assert message == result(text)
        return
    parts = [message.text]
    handle = HANDLE.findall(parts[0].splitlines()[-1])[-1]
    while note := NOTE.search(parts[-1]):
        parts.append(turn.read_tool.call({"handle": handle, "offset": int(note[1])}))
    assert all(estimate_tokens(part) <= max_tokens for part in parts)
    assert "".join(map(without_note, parts)) == text
    assert parts[-1].endswith(f"of {len(text):,}.]")


def test_a_text_is_cut_after_a_line_or_a_space() -> None:
    line = "a line of words"
    shown = without_note(ResultLimits(max_tokens=100).limit(result(f"{line}\n" * 100), TOOL).text)
    assert set(shown.splitlines()) == {line}
    shown = without_note(ResultLimits(max_tokens=100).limit(result("words " * 1000), TOOL).text)
    assert set(shown.split(" ")) == {"words", ""}


def test_the_work_does_not_grow_with_the_length_of_the_text() -> None:
    class Counted(str):
        __slots__ = ()
        copied = 0

        def __getitem__(self, key: object) -> str:
            part = str.__getitem__(self, key)  # type: ignore[index]
            Counted.copied += len(part)
            return part

    copied = []
    for size in (10_000, 1_000_000):
        Counted.copied = 0
        ResultLimits(max_tokens=500).limit(result(Counted("x y" * size)), TOOL)
        copied.append(Counted.copied)
    assert copied[1] < copied[0] + 100 < 20 * 500 * 5


def test_a_result_without_a_store_advises_to_ask_for_less() -> None:
    message = ResultLimits(max_tokens=100).limit(result("x" * 1000), TOOL)
    advice = "If you need it and a second call has no side effects, run list_files with narrower arguments.]"
    assert message.text.endswith(advice)
    assert not is_truncated(message)


def test_a_tool_can_have_its_own_limit() -> None:
    text = "x" * 2_000
    assert results_of().limit(result(text), TOOL.replace(max_result_tokens=math.inf)).text == text
    assert results_of().limit(result(text), TOOL.replace(max_result_tokens=1_000)).text == text
    assert len(results_of(max_tokens=None).limit(result(text), TOOL.replace(max_result_tokens=100)).text) < 500


def test_a_name_that_a_model_made_up_is_not_repeated() -> None:
    message = ToolMessage("1", "x" * 10_000, "y" * 10_000, is_error=True)
    limited = ResultLimits(max_tokens=100).limit(message, None)
    assert estimate_tokens(limited.text) <= 100
    assert "run the tool with" in limited.text


def test_media_above_the_limit_are_left_out() -> None:
    media = tuple(Media("image/png", bytes(size)) for size in (4, 40, 4))
    message = ToolMessage("1", "draw", "[image/png, 4 bytes]\n[image/png, 40 bytes]\n[image/png, 4 bytes]", media=media)
    limited = ResultLimits(max_media_bytes=10).limit(message, TOOL)
    assert limited.media == (media[0], media[2])
    assert "[image/png, 40 bytes] (left out: the media of one result can have at most 10 bytes)" in limited.text
    assert ResultLimits(max_media_bytes=None).limit(message, TOOL) is message


def test_an_address_that_holds_the_data_counts() -> None:
    medium = Media("image/png", url=f"data:image/png;base64,{'A' * 1_000}")
    limited = ResultLimits(max_media_bytes=100).limit(ToolMessage("1", "draw", "a picture", media=(medium,)), TOOL)
    assert limited.media == ()


@pytest.mark.parametrize("wrong", [0, 99, -1, True, "many", math.nan])
def test_wrong_limits_are_rejected(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="max_result_tokens must be at least 100"):
        ResultLimits(max_tokens=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="max_result_tokens"):
        Tool("t", max_result_tokens=wrong)  # type: ignore[arg-type]


def test_a_session_cannot_read_the_result_of_another() -> None:
    store = ResultStore()
    shown = results_of(store).limit(result("x" * 1_000), TOOL).text
    arguments = {"handle": HANDLE.findall(shown)[0], "offset": 0}
    assert results_of(store).read_tool.call(arguments)
    for other in (results_of(store, session="bob"), TurnResults(ResultLimits(), store, (None, "ann"), lambda _: False)):
        with pytest.raises(ValueError, match="is not here: it was removed, or another worker holds it"):
            other.read_tool.call(arguments)


def test_an_offset_after_the_end_is_rejected() -> None:
    turn = results_of()
    handle = HANDLE.findall(turn.limit(result("x" * 1_000), TOOL).text)[0]
    with pytest.raises(ValueError, match="offset must be less than 1000"):
        turn.read_tool.call({"handle": handle, "offset": 1_000})


def test_a_result_that_is_longer_than_a_session_may_hold_is_not_kept() -> None:
    store = ResultStore(max_session_bytes=5_000)
    turn = results_of(store)
    assert "is not kept" in turn.limit(result("x" * 10_000), TOOL).text
    assert (store.size, turn.needs_read_tool) == (0, False)


def test_the_oldest_results_of_a_session_are_removed_first() -> None:
    store = ResultStore(max_session_bytes=5_000)
    handles = [store.put(("acme", "ann"), TOOL, letter * 1_500, 100) for letter in "abc"]
    assert [store.get(("acme", "ann"), handle) is not None for handle in handles if handle] == [False, True, True]


def test_a_tenant_removes_its_own_results_first() -> None:
    store = ResultStore(max_session_bytes=5_000, max_tenant_bytes=20_000, max_bytes=30_000)
    theirs = store.put(("small", "s"), TOOL, "x" * 1_500, 100)
    for number in range(100):
        assert store.put(("flood", number), TOOL, "x" * 1_500, 100)
        assert store.size <= 30_000
    assert theirs is not None
    assert store.get(("small", "s"), theirs) is not None


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 4_000), st.booleans()), max_size=60))
def test_the_store_stays_within_its_bounds(steps: list[tuple[str, int, int, bool]]) -> None:
    store = ResultStore(max_session_bytes=5_000, max_tenant_bytes=9_000, max_bytes=12_000)
    for tenant, session, size, discard in steps:
        if discard:
            store.discard((tenant, session))
            continue
        handle = store.put((tenant, session), TOOL, "x" * size, 100)
        store.announce((tenant, session), frozenset({"a"}))
        assert store.size <= 12_000
        if handle is not None and (kept := store.get((tenant, session), handle)) is not None:
            assert sys.getsizeof(kept.text) <= 5_000
    for tenant in "ab":
        for session in range(4):
            store.discard((tenant, session))
    assert store.size == 0


def test_a_stored_result_does_not_keep_its_tool() -> None:
    store, tool = ResultStore(), Tool("short_lived", fn=lambda: None)
    handle = store.put((None, "ann"), tool, "x", 100)
    del tool
    gc.collect()
    assert handle is not None
    stored = store.get((None, "ann"), handle)
    assert stored is not None
    assert stored.tool() is None
