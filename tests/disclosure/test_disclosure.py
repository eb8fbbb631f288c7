"""The engine of disclosure, without a model or messages."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ConfigurationError, IndexingError, Message, ToolMessage, ToolReference, UserMessage
from toolsearch.disclosure import Disclosure, DisclosureOptions, DisclosureSettings, SessionToolIndex, ToolSet
from toolsearch.disclosure.history import replay_reveals
from toolsearch.disclosure.turn import DisclosureTurn
from toolsearch.indexes import RegexToolIndex, ToolHit, ToolSearchResponse

NAMES = ("send_mail", "read_mail", "get_weather", "list_files", "delete_file", "play_music", "stop_music", "add_event")
TOOLS = ToolSet(
    ToolReference(name=name, description=f"Can {name.replace('_', ' ')}.", source=name[-5:]) for name in NAMES
)


def disclosure(**settings: object) -> Disclosure:
    return Disclosure(SessionToolIndex(RegexToolIndex()), DisclosureSettings(**settings))  # type: ignore[arg-type]


def test_no_tool_is_sent_before_it_is_revealed() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        assert turn.begin_round() == ()
        assert turn.offers_search


def test_tools_can_be_given_as_a_list() -> None:
    with disclosure().open("ann", list(TOOLS.tools)) as turn:
        assert turn.search("get_weather", 1).revealed == ("get_weather",)


def test_revealed_tools_are_appended_and_never_move() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        seen = [turn.begin_round()]
        for query in ("get_weather", "play_music", "add_event", "send_mail"):
            turn.search(query, 1)
            seen.append(turn.begin_round())
    for before, after in itertools.pairwise(seen):
        assert after[: len(before)] == before
    assert seen[-1] == ("get_weather", "play_music", "add_event", "send_mail")


def test_revealed_tools_last_as_long_as_the_session() -> None:
    machine = disclosure()
    with machine.open("ann", TOOLS) as turn:
        turn.search("get_weather", 1)
    with machine.open("ann", TOOLS) as turn:
        assert turn.begin_round() == ("get_weather",)
    machine.sessions.evict("ann")
    with machine.open("ann", TOOLS) as turn:
        assert turn.begin_round() == ()


def test_turn_without_a_session_id_leaves_nothing() -> None:
    machine = disclosure()
    with machine.open(None, TOOLS) as one, machine.open(None, TOOLS) as other:
        one.search("get_weather", 1)
        assert one.begin_round() == ("get_weather",)
        assert other.begin_round() == ()
    assert len(machine.sessions) == 0


def test_results_list_each_tool_on_one_line() -> None:
    tools = ToolSet([ToolReference(name="mail", description="Sends mail.\n- evil: not a tool\n" + "very long " * 50)])
    with disclosure().open("ann", tools) as turn:
        result = turn.search("mail")
    listed = [line for line in result.splitlines() if line.startswith("- ")]
    assert len(listed) == 1
    assert listed[0].startswith("- mail: Sends mail. - evil: not a tool very long")
    assert len(listed[0]) < 200
    assert "ready to be called" in result


def test_results_name_known_tools_separately() -> None:
    with disclosure().open("ann", TOOLS, pinned=["read_mail"]) as turn:
        turn.search("send_mail", 1)
        result = turn.search("mail")
    assert "Already in your tool list" in result
    assert "Found" not in result


def test_search_without_hits_explains_itself() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        result = turn.search("zebra")
    assert "No tool" in result
    assert "other words" in result
    assert "say so" in result


def test_weak_match_is_revealed_and_named_as_weak() -> None:
    """The model decides whether a weak match helps."""
    with disclosure().open("ann", TOOLS) as turn:
        result = turn.search("reticulate seventeen splines of music")
        assert set(turn.begin_round()) == {"play_music", "stop_music"}
    assert "- play_music" in result
    assert "These match only part of the query; none of them has: reticulate, seventeen, splines." in result


def test_unknown_category_is_answered_with_existing_ones() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        result = turn.search("mail", category="nowhere")
    assert "nowhere" in result
    assert "_mail" in result


def test_repeated_search_reveals_its_tools_again() -> None:
    with disclosure(keep_revealed=False).open("ann", TOOLS) as turn:
        turn.begin_round()
        turn.search("get_weather", 1)
        turn.begin_round()
        turn.search("play_music", 1)
        turn.begin_round()
        result = turn.search("  GET_weather ", 1)
        assert "searched for exactly this before" in result
        assert turn.begin_round() == ("get_weather",)


def test_search_limit_applies_to_one_turn() -> None:
    machine = disclosure(max_searches=2)
    with machine.open("ann", TOOLS) as turn:
        for query in ("send_mail", "read_mail"):
            turn.search(query, 1)
        assert turn.search("get_weather").startswith("Not searched")
        assert "get_weather" not in turn.begin_round()
    with machine.open("ann", TOOLS) as turn:
        assert "get_weather" in turn.search("get_weather")


@pytest.mark.parametrize(("asked", "given_"), [(None, 2), (1, 1), (0, 1), (-1, 1), (3, 3), (10**9, 4)])
def test_max_results_is_clamped(asked: int | None, given_: int) -> None:
    with disclosure(max_results=2, max_results_limit=4).open("ann", TOOLS) as turn:
        turn.search("can", asked)
        assert len(turn.begin_round()) == given_


def test_only_the_latest_round_is_kept_without_keep_revealed() -> None:
    """All parallel searches of the round count."""
    with disclosure(keep_revealed=False).open("ann", TOOLS) as turn:
        turn.begin_round()
        turn.search("send_mail", 1)
        assert turn.begin_round() == ("send_mail",)
        for query in ("get_weather", "play_music", "add_event"):
            turn.search(query, 1)
        assert turn.begin_round() == ("get_weather", "play_music", "add_event")
        assert turn.begin_round() == ("get_weather", "play_music", "add_event")


def test_call_of_an_unrevealed_tool_reveals_it() -> None:
    """The answer holds its schema."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = ToolSet([ToolReference(name="get_weather", parameters=schema), *TOOLS.tools[:2]])
    with disclosure().open("ann", tools) as turn:
        turn.begin_round()
        answer = turn.call("get_weather")
        assert answer is not None
        assert '"city"' in answer
        assert "call it again" in answer
        assert turn.begin_round() == ("get_weather",)
        assert turn.call("get_weather") is None


def test_run_unrevealed_runs_the_tool() -> None:
    with disclosure(run_unrevealed=True).open("ann", TOOLS) as turn:
        turn.begin_round()
        assert turn.call("get_weather") is None
        assert turn.begin_round() == ("get_weather",)


def test_tool_found_in_the_same_batch_is_not_run() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        turn.begin_round()
        turn.search("get_weather", 1)
        assert "in your list now" in (turn.call("get_weather") or "")


def test_unknown_name_is_answered_with_the_closest_names() -> None:
    with disclosure().open("ann", TOOLS) as turn:
        turn.begin_round()
        answer = turn.call("mcp__mail__send_mail")
        assert "'send_mail'" in (answer or "")
        assert "tool_search" in (answer or "")


def test_rejected_tool_is_answered_like_an_unknown_one() -> None:
    admitted = {"send_mail", "secret_tool"}
    tools = ToolSet([*TOOLS.tools, ToolReference(name="secret_tool", description="Can do mail in secret.")])
    with disclosure().open("ann", tools, allows=admitted.__contains__) as turn:
        turn.begin_round()
        admitted.discard("secret_tool")
        assert "secret_tool" not in turn.search("mail secret_tool")
        refused = turn.call("secret_tool")
        missing = turn.call("sacred_tool")
        assert refused is not None
        assert refused.replace("secret_tool", "X") == (missing or "").replace("sacred_tool", "X")
        assert "secret_tool" not in (turn.call("secret_tol") or "")
        assert turn.begin_round() == ("send_mail",)


def test_tool_is_hidden_as_soon_as_it_is_rejected() -> None:
    admitted = set(TOOLS.names)
    with disclosure().open("ann", TOOLS, allows=admitted.__contains__) as turn:
        turn.search("mail")
        assert "send_mail" in turn.begin_round()
        admitted.discard("send_mail")
        assert "send_mail" not in turn.begin_round()


def test_pinned_tools_come_first() -> None:
    """Search is not offered if all tools are pinned."""
    with disclosure().open("ann", TOOLS, pinned=["add_event", "list_files"]) as turn:
        turn.search("get_weather", 1)
        assert turn.begin_round() == ("add_event", "list_files", "get_weather")
    with disclosure().open("ann", TOOLS, pinned=TOOLS.names) as turn:
        assert turn.begin_round() == NAMES
        assert not turn.offers_search
    with disclosure().open("ann", ToolSet()) as turn:
        assert turn.begin_round() == ()
        assert not turn.offers_search


def test_first_turn_without_tools_does_not_freeze_the_offer() -> None:
    machine = disclosure()
    with machine.open("ann", ToolSet()) as turn:
        assert not turn.offers_search
    with machine.open("ann", TOOLS) as turn:
        assert turn.offers_search
        assert f"{len(TOOLS)} that" in turn.offer.description


def test_offer_is_frozen_and_results_name_later_sources() -> None:
    machine = disclosure()
    with machine.open("ann", TOOLS) as turn:
        first = turn.offer
    more = ToolSet([*TOOLS.tools, ToolReference(name="open_pr", description="Can open.", source="github")])
    with machine.open("ann", more) as turn:
        assert turn.offer == first
        assert "github (1)" in turn.search("open_pr")
        assert "github" not in turn.offer.description


def test_reveal_all_below_is_decided_once_a_session() -> None:
    machine = disclosure(reveal_all_below=100)
    with machine.open("ann", TOOLS, tokens=99) as turn:
        assert turn.begin_round() == NAMES
        assert not turn.offers_search
        assert turn.call("send_mail") is None
    with machine.open("ann", TOOLS, tokens=395) as turn:
        assert not turn.offers_search
    with machine.open("bob", TOOLS, tokens=100) as turn:
        assert turn.offers_search
        assert turn.begin_round() == ()


def test_reveal_upfront_uses_the_words_of_the_user() -> None:
    with disclosure(reveal_upfront=2).open("ann", TOOLS, text="play some music") as turn:
        assert set(turn.begin_round()) == {"play_music", "stop_music"}
        assert turn.revealed == list(turn.begin_round())


def test_restore_ignores_unknown_names() -> None:
    machine = disclosure()
    machine.restore("ann", ["play_music", "no_such_tool", "send_mail"])
    with machine.open("ann", TOOLS) as turn:
        assert turn.begin_round() == ("play_music", "send_mail")


def test_unknown_revealed_names_are_appended_at_every_turn() -> None:
    machine = disclosure()
    with machine.open("ann", TOOLS, revealed=["add_event", "gone"]) as turn:
        assert turn.begin_round() == ("add_event",)
    with machine.open("ann", TOOLS, revealed=["send_mail", "add_event"]) as turn:
        assert turn.begin_round() == ("add_event", "send_mail")


@pytest.mark.parametrize("options", [{"keep_revealed": False}, {"max_revealed": 1}, {}])
def test_name_that_left_stays_out_until_it_is_found_again(options: dict[str, object]) -> None:
    machine = disclosure(max_results=1, **options)
    with machine.open("ann", TOOLS) as turn:
        turn.begin_round()
        turn.search("send_mail")
    if not options:  # the tool is removed for one turn
        with machine.open("ann", [tool for tool in TOOLS if tool.name != "send_mail"]) as turn:
            turn.begin_round()
            turn.search("get_weather")
    with machine.open("ann", TOOLS, revealed=["send_mail"]) as turn:
        turn.begin_round()
        turn.search("get_weather")
    with machine.open("ann", TOOLS, revealed=["send_mail", "get_weather"]) as turn:
        assert turn.begin_round() == ("get_weather",)
        turn.search("send_mail")
        assert turn.begin_round()[-1] == "send_mail"


def test_withheld_tool_keeps_its_place() -> None:
    machine = disclosure(max_results=1)
    with machine.open("ann", TOOLS) as turn:
        turn.search("send_mail")
        turn.search("get_weather")
    fewer = [tool for tool in TOOLS if tool.name != "send_mail"]
    with machine.open("ann", fewer, withheld=[tool.identity for tool in TOOLS]) as turn:
        assert turn.begin_round() == ("get_weather",)
    with machine.open("ann", TOOLS) as turn:
        assert turn.begin_round() == ("send_mail", "get_weather")


def test_max_revealed_hides_the_least_recently_used() -> None:
    """Tools that this turn revealed stay."""
    machine = disclosure(max_revealed=2, max_results=1)
    with machine.open("ann", TOOLS) as turn:
        turn.search("send_mail")
        turn.search("read_mail")
    with machine.open("ann", TOOLS, pinned=["list_files"]) as turn:
        turn.begin_round()
        assert turn.call("send_mail") is None  # a use
        turn.search("get_weather")
        assert turn.begin_round() == ("list_files", "send_mail", "get_weather")
        for query in ("play_music", "stop_music", "add_event"):
            turn.search(query)
        assert turn.begin_round() == ("list_files", "get_weather", "play_music", "stop_music", "add_event")


def test_max_revealed_limits_restored_tools() -> None:
    machine = disclosure(max_revealed=2)
    with machine.open("ann", TOOLS, revealed=NAMES[:5]) as turn:
        assert turn.begin_round() == NAMES[3:5]
    machine.restore("bob", NAMES[:4])
    with machine.open("bob", TOOLS) as turn:
        assert turn.begin_round() == NAMES[2:4]


def test_repeated_search_does_not_name_rejected_tools() -> None:
    admitted = set(TOOLS.names)
    with disclosure().open("ann", TOOLS, allows=admitted.__contains__) as turn:
        turn.search("mail")
        admitted.discard("send_mail")
        assert "send_mail" not in turn.search("mail")


class OddIndex:
    """Index that returns or raises `answer` for every query."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def build(self, tools: Sequence[ToolReference]) -> OddIndex:
        return self

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "error"), [([], ConfigurationError), (IndexingError("down"), IndexingError), (KeyError("x"), KeyError)]
)
def test_failed_search_is_logged_with_its_place(
    answer: object, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    machine = Disclosure(SessionToolIndex(OddIndex(answer)))  # type: ignore[arg-type]  # wrong on purpose
    with machine.open("ann", TOOLS) as turn, pytest.raises(error):
        turn.search("mail")
    (record,) = caplog.records
    assert record.getMessage().startswith(f"toolsearch.search_failed error_type={error.__name__} ")


@pytest.mark.parametrize(
    "text", ["thank you", "and the others?", "Sing to me about the purple moon, some day, not now"]
)
def test_reveal_upfront_ignores_weak_matches(text: str) -> None:
    """Revealed tools stay, and cost tokens in every round."""
    with disclosure(reveal_upfront=2).open("ann", TOOLS, text=text) as turn:
        assert turn.offers_search
        assert turn.begin_round() == ()


def test_reveal_upfront_survives_a_failed_index() -> None:
    settings = DisclosureSettings(reveal_upfront=2)
    machine = Disclosure(SessionToolIndex(OddIndex(IndexingError("down"))), settings)  # type: ignore[arg-type]
    with machine.open("ann", TOOLS, text="mail") as turn:
        assert turn.begin_round() == ()


def test_tool_named_twice_by_an_index_is_found_once() -> None:
    response = ToolSearchResponse(hits=(ToolHit("send_mail"), ToolHit("send_mail")), total_matches=2)
    with Disclosure(SessionToolIndex(OddIndex(response))).open("ann", TOOLS) as turn:  # type: ignore[arg-type]
        assert turn.search("mail").startswith("Found 1 tool,")


def test_parallel_turns_of_a_session_lose_no_tool() -> None:
    machine = disclosure()
    barrier = threading.Barrier(4)

    def search(queries: Sequence[str]) -> None:
        with machine.open("ann", TOOLS) as turn:
            barrier.wait()
            for query in queries:
                turn.search(query, 1)

    threads = [threading.Thread(target=search, args=(NAMES[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with machine.open("ann", TOOLS) as turn:
        assert sorted(turn.begin_round()) == sorted(NAMES)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_results": 0},
        {"max_results": 11},
        {"reveal_upfront": -1},
        {"max_revealed": 0},
        {"max_searches": 0},
        {"reveal_all_below": 0},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        DisclosureSettings(**wrong)  # type: ignore[arg-type]  # wrong on purpose


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("search"), st.sampled_from(NAMES)),
        st.tuples(st.just("call"), st.sampled_from((*NAMES, "unknown"))),
        st.tuples(st.just("turn"), st.just("")),
    ),
    max_size=25,
)


@given(STEPS, st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
def test_sent_tools_only_grow_at_their_end(steps: list[tuple[str, str]], pinned: list[str]) -> None:
    machine = disclosure(max_results=2, max_searches=None)

    def opened() -> DisclosureTurn:
        return machine.open("ann", TOOLS, pinned=pinned)

    turn = opened()
    before = turn.begin_round()
    assert before == tuple(pinned)
    for kind, value in steps:
        if kind == "search":
            turn.search(value)
        elif kind == "call":
            turn.call(value)
        else:
            turn.close()
            turn = opened()
        after = turn.begin_round()
        assert after[: len(before)] == before
        assert len(set(after)) == len(after)
        before = after
    turn.close()


def test_disclosure_options_are_the_fields_of_the_settings() -> None:
    assert DisclosureOptions.__annotations__.keys() == {field.name for field in fields(DisclosureSettings)}


def grown(count: int, source: str | None = None) -> ToolSet:
    return ToolSet(
        ToolReference(name=f"tool_{number}", description="Can work.", source=source) for number in range(count)
    )


def test_catalog_that_has_grown_many_times_over_is_searched(caplog: pytest.LogCaptureFixture) -> None:
    """A session that began under `reveal_all_below` is not sent thousands of tools, and stays with search then."""
    caplog.set_level("INFO", "toolsearch")
    machine = disclosure(reveal_all_below=1_000)
    with machine.open("ann", grown(3), tokens=30) as turn:
        assert not turn.offers_search
    with machine.open("ann", grown(200), tokens=2_000, continues=True) as turn:
        assert not turn.offers_search  # not in the middle of a turn
    with machine.open("ann", grown(200), tokens=2_000) as turn:
        assert turn.offers_search
        assert turn.begin_round() == ()
    with machine.open("ann", grown(3), tokens=30) as turn:
        assert turn.offers_search
    assert [record.getMessage() for record in caplog.records] == [
        "toolsearch.offer_revised reason=grown tools=200 searches=True",
        "toolsearch.offer_revised reason=shrunk tools=3 searches=True",
    ]


def test_growth_below_the_factor_keeps_the_prefix() -> None:
    machine = disclosure(reveal_all_below=1_000)
    with machine.open("ann", grown(90), tokens=900) as turn:
        assert not turn.offers_search
    with machine.open("ann", grown(350), tokens=3_500) as turn:
        assert not turn.offers_search
    with machine.open("ann", grown(360), tokens=3_600) as turn:
        assert turn.offers_search


def test_description_is_revised_when_the_catalog_has_grown_many_times_over() -> None:
    machine = disclosure()
    with machine.open("ann", grown(2, "mail")) as turn:
        assert "the 2 that" in turn.offer.description
    with machine.open("ann", grown(7, "mail")) as turn:
        assert "the 2 that" in turn.offer.description
    with machine.open("ann", grown(8, "mail")) as turn:
        assert "the 8 that" in turn.offer.description


def test_description_never_tells_of_tools_that_the_session_may_not_have() -> None:
    """It is revised for every turn with fewer permissions, and does not grow again with more."""
    secret = ToolReference(name="buy", description="Can buy.", source="mergers")
    machine = disclosure()
    with machine.open("ann", [*TOOLS, secret]) as admin:
        assert "mergers" in admin.offer.description
        with machine.open("ann", TOOLS) as turn:  # at the same time
            assert "mergers" not in turn.offer.description
            assert f"the {len(TOOLS)} that" in turn.offer.description
        assert "mergers" in admin.offer.description
    with machine.open("ann", [*TOOLS, secret]) as turn:
        assert "mergers" not in turn.offer.description
    with machine.open("ann", TOOLS.tools[:-1]) as turn:  # one tool less of a source
        assert f"the {len(TOOLS) - 1} that" in turn.offer.description


def test_replay_asks_the_filter_once_for_each_tool() -> None:
    """A slow filter must not cost a long conversation its square."""
    asked: list[str] = []
    results: list[Message] = [ToolMessage(str(at), "search", "Found.", revealed=[NAMES[at % 8]]) for at in range(80)]
    conversation = [message for result in results for message in (UserMessage("x"), result)]

    def allows(name: str) -> bool:
        asked.append(name)
        return True

    replay_reveals(conversation, DisclosureSettings(max_revealed=2), TOOLS, allows=allows)
    assert len(asked) <= len(NAMES)
