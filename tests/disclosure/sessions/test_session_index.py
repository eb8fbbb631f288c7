"""`SessionToolIndex`: searches, shared searchers, leases and eviction."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import Any
from weakref import ref

import pytest

from toolsearch.disclosure.sessions import (
    SessionLease,
    SessionRecord,
    SessionToolIndex,
    ToolSearchRequest,
)
from toolsearch.disclosure.sessions.tool_set import ToolSet
from toolsearch.errors import ConfigurationError, DuplicateToolError, IndexingError
from toolsearch.eviction import AlwaysEvict, CompositeEviction, LruEviction, NeverEvict, TtlEviction
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.response import SearchMetadata, ToolHit, ToolSearchResponse
from toolsearch.testing import FakeClock


class NameSearcher:
    """Finds the tools whose name contains the query."""

    def __init__(self, tools: Sequence[ToolReference]) -> None:
        self.tools = tuple(tools)

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        found = [tool for tool in self.tools if query in tool.name and (not category or category in tool.categories)]
        hits = tuple(ToolHit(tool.name, tool.description) for tool in found[:max_results])
        return ToolSearchResponse(hits=hits, total_matches=len(found))


class NameIndex:
    """Index that builds `NameSearcher`, counts the builds, and raises `failure` if it is set."""

    def __init__(self) -> None:
        self.built: list[tuple[str, ...]] = []
        self.searchers: list[ref[NameSearcher]] = []
        self.failure: BaseException | None = None

    def build(self, tools: Sequence[ToolReference]) -> NameSearcher:
        if self.failure is not None:
            raise self.failure
        searcher = NameSearcher(tools)
        self.built.append(tuple(tool.name for tool in tools))
        self.searchers.append(ref(searcher))
        return searcher

    @property
    def alive(self) -> int:
        return sum(searcher() is not None for searcher in self.searchers)


def tools(*names: str) -> ToolSet:
    """Make a new set of tools with these names."""
    return ToolSet(ToolReference(name=name) for name in names)


def names_for(sessions: SessionToolIndex, session_id: Hashable, query: str = "") -> tuple[str, ...]:
    return sessions.search(ToolSearchRequest(session_id=session_id, query=query)).names


@pytest.fixture
def index() -> NameIndex:
    return NameIndex()


# Searching


def test_each_session_searches_its_own_tools(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    sessions.index("ann", tools("get_weather", "get_time"))
    sessions.index("bob", [ToolReference(name="get_mail")])
    assert names_for(sessions, "ann", "get") == ("get_time", "get_weather")
    assert names_for(sessions, "bob", "get") == ("get_mail",)


def test_request_options_reach_the_searcher(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    sessions.index("ann", [ToolReference(name=f"tool_{n}", tags=("odd",) if n % 2 else ()) for n in range(20)])
    by_default = sessions.search(ToolSearchRequest(session_id="ann", query="tool"))
    narrowed = sessions.search(ToolSearchRequest(session_id="ann", query="tool", max_results=7, category="odd"))
    assert (len(by_default.hits), by_default.total_matches) == (5, 20)
    assert (len(narrowed.hits), narrowed.total_matches) == (7, 10)


def test_unknown_session_has_no_hits_and_a_reason(index: NameIndex) -> None:
    """A search does not create the session."""
    sessions = SessionToolIndex(index, LruEviction(1))
    sessions.index("ann", tools("a"))
    response = sessions.search(ToolSearchRequest(session_id="bob", query="weather"))
    assert (response.hits, response.total_matches, response.reason_code) == ((), 0, "unknown_session")
    assert "'bob'" in response.reason
    assert response.metadata == SearchMetadata("NameIndex", "weather")
    assert sessions.session_ids() == ("ann",)


def test_session_without_tools_is_known(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    sessions.index("ann", [])
    assert sessions.search(ToolSearchRequest(session_id="ann", query="x")).reason_code is None
    assert "ann" in sessions


@pytest.mark.parametrize("session_id", [None, "", " \t", ["a", "list"], ("tenant", [])])
def test_invalid_session_ids_are_refused(index: NameIndex, session_id: Any) -> None:
    sessions = SessionToolIndex(index)
    with pytest.raises(ConfigurationError, match="session_id must be"):
        sessions.index(session_id, tools("a"))
    with pytest.raises(ConfigurationError, match="session_id must be"):
        sessions.search(ToolSearchRequest(session_id=session_id, query="a"))
    with pytest.raises(ConfigurationError, match="session_id must be"):
        sessions.evict(session_id)
    if session_id is not None:
        with pytest.raises(ConfigurationError, match="session_id must be"):
            sessions.lease(session_id, tools("a"))
    assert (len(sessions), index.built) == (0, [])


def test_query_must_be_a_string(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    sessions.index("ann", tools("a"))
    not_a_query: Any = None
    with pytest.raises(ConfigurationError, match="query must be a string, got NoneType"):
        sessions.search(ToolSearchRequest(session_id="ann", query=not_a_query))


def test_sessions_are_isolated_per_tenant(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    with sessions.lease(("acme", "1"), tools("a")) as acme, sessions.lease(("umbrella", "1"), tools("a")) as umbrella:
        acme.session.reveal(["a"])
        acme.session.freeze("acme's")
        assert (umbrella.session.revealed, umbrella.session.frozen) == ((), None)
    sessions.evict(("acme", "1"))
    assert sessions.session_ids() == (("umbrella", "1"),)


@pytest.mark.parametrize("not_an_index", [NameIndex, None, 3, "no such index"])
def test_other_objects_are_refused_as_index(not_an_index: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"not an index|unknown index|is a class"):
        SessionToolIndex(not_an_index)


@pytest.mark.parametrize("not_a_strategy", [LruEviction, 1000, "lru"])
def test_other_objects_are_refused_as_eviction_strategy(index: NameIndex, not_a_strategy: Any) -> None:
    with pytest.raises(ConfigurationError, match="an eviction strategy must be"):
        SessionToolIndex(index, not_a_strategy)


@pytest.mark.parametrize("name", ["regex", "bm25"])
def test_built_in_indexes_are_named(name: str) -> None:
    """Sessions find the same as an index of their own."""
    catalog = [
        ToolReference(name="get_weather", description="Forecast for a city", source="meteo"),
        ToolReference(name="send_mail", description="Send a message", source="mail"),
    ]
    sessions, alone = SessionToolIndex(name), SessionToolIndex(name)
    for number in range(100):
        sessions.index(number, catalog if number % 2 else reversed(catalog))
        sessions.index(("other", number), [ToolReference(name=f"weather_{number % 3}", description="weather " * 9)])
    alone.index("me", catalog)
    for query in ["weather", "send message", "nothing fits this"]:
        expected = alone.search(ToolSearchRequest(session_id="me", query=query))
        for number in (0, 99):
            found = sessions.search(ToolSearchRequest(session_id=number, query=query))
            assert (found.hits, found.total_matches, found.reason) == (
                expected.hits,
                expected.total_matches,
                expected.reason,
            )
    assert "200 sessions, 4 searchers" in repr(sessions)


def test_repr_counts_sessions_and_searchers(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(7))
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("a"))
    assert repr(sessions) == "<SessionToolIndex over NameIndex, LruEviction(7): 2 sessions, 1 searchers>"


def test_reading_a_record_is_not_a_use(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(2))
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("a"))
    with sessions.lease("ann", tools("a")) as turn:
        assert sessions.record("ann") is turn.session
    assert sessions.record("bob") is not None
    assert sessions.record("eve") is None
    sessions.index("eve", tools("a"))
    assert sessions.session_ids() == ("ann", "eve")
    no_id: Any = None
    with pytest.raises(ConfigurationError, match="session_id must be"):
        sessions.record(no_id)


# Sharing


def test_equal_sets_share_one_searcher(index: NameIndex) -> None:
    """The searcher is freed with the last session that uses it."""
    sessions = SessionToolIndex(index)
    for number in range(100):
        sessions.index(number, tools(*["abc", "bca", "cab"][number % 3]))
    assert (index.built, index.alive) == ([("a", "b", "c")], 1)
    for number in range(99):
        sessions.evict(number)
    assert (names_for(sessions, 99), index.alive) == (("a", "b", "c"), 1)
    sessions.evict(99)
    assert index.alive == 0


def test_evicted_session_frees_its_searcher(index: NameIndex) -> None:
    """A session that returns builds it again."""
    sessions = SessionToolIndex(index, LruEviction(1))
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("b"))
    assert (index.alive, sessions.session_ids()) == (1, ("bob",))
    sessions.index("ann", tools("a"))
    assert index.built == [("a",), ("b",), ("a",)]


def test_results_do_not_depend_on_the_order_of_sessions(index: NameIndex) -> None:
    for first, second in [("cab", "bca"), ("bca", "cab")]:
        sessions = SessionToolIndex(index)
        sessions.index("first", tools(*first))
        sessions.index("second", tools(*second))
        assert names_for(sessions, "second") == ("a", "b", "c")


def test_new_set_replaces_the_old_one(index: NameIndex) -> None:
    """The old searcher is freed, and revealed tools stay revealed."""
    sessions = SessionToolIndex(index)
    with sessions.lease("ann", tools("a")) as turn:
        turn.session.reveal(["a"])
    with sessions.lease("ann", tools("a", "b")) as turn:
        assert turn.session.revealed == ("a",)
        assert turn.search("").names == ("a", "b")
    assert index.alive == 1


def test_equal_set_is_not_built_again(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    for _ in range(3):
        with sessions.lease("ann", tools("b", "a")) as turn:
            assert turn.tools.names == ("b", "a")
    assert len(index.built) == 1


def test_session_uses_less_than_a_kilobyte(index: NameIndex) -> None:
    count = 2000
    catalog = ToolSet(ToolReference(name=f"tool_{n}", description="x" * 100) for n in range(300))
    sessions = SessionToolIndex(index, LruEviction(2 * count))
    sessions.index("first", catalog)
    found = catalog.names[:5]
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(count):
            with sessions.lease(("tenant", f"session-{number}"), ToolSet(catalog)) as turn:
                turn.session.reveal(found)
                turn.session.freeze(catalog)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / count < 1024
    assert len(index.built) == 1


class DegradedOnce(NameIndex):
    """Index whose first searcher is degraded, like a hybrid whose embedder is unreachable."""

    def build(self, tools: Sequence[ToolReference]) -> NameSearcher:
        searcher = super().build(tools)
        searcher.degraded = len(self.built) == 1  # type: ignore[attr-defined]  # wrong on purpose
        return searcher


def test_degraded_searcher_is_not_shared() -> None:
    """A later session builds a new searcher."""
    index = DegradedOnce()
    sessions = SessionToolIndex(index)
    sessions.index("ann", tools("a"))
    assert names_for(sessions, "ann") == ("a",)
    sessions.index("bob", tools("a"))
    sessions.index("eve", tools("a"))
    assert len(index.built) == 2
    sessions.index("ann", tools("a"))  # ann changes to the complete searcher of bob
    assert (len(index.built), index.alive) == (2, 1)


def test_turn_after_a_degraded_searcher_builds_again() -> None:
    index = DegradedOnce()
    sessions = SessionToolIndex(index)
    for _ in range(3):
        with sessions.lease("ann", tools("a")) as turn:
            assert turn.search("a").names == ("a",)
    assert len(index.built) == 2


class Unreferable:
    """Searcher without weak references, like one written in C."""

    __slots__ = ()

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        return ToolSearchResponse()


class UnreferableIndex(NameIndex):
    def build(self, tools: Sequence[ToolReference]) -> Any:
        self.built.append(())
        return Unreferable()


def test_searchers_without_weak_references_are_shared() -> None:
    index = UnreferableIndex()
    sessions = SessionToolIndex(index)
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("a"))
    assert len(index.built) == 1


# Failure


def test_failed_build_keeps_the_old_set(index: NameIndex) -> None:
    """The next call builds again."""
    sessions = SessionToolIndex(index)
    sessions.index("ann", tools("a"))
    index.failure = IndexingError("the disk is full")
    for _ in range(2):
        with pytest.raises(IndexingError, match="disk is full"):
            sessions.index("ann", tools("b"))
        assert names_for(sessions, "ann") == ("a",)
    index.failure = None
    sessions.index("ann", tools("b"))
    assert names_for(sessions, "ann") == ("b",)


@pytest.mark.parametrize("failure", [IndexingError("no"), ValueError("a plug-in's own"), KeyboardInterrupt()])
def test_failed_build_does_not_affect_other_sessions(index: NameIndex, failure: BaseException) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    sessions.index("ann", tools("a"))
    index.failure = failure
    with pytest.raises(type(failure)):
        sessions.lease("bob", tools("b"))
    assert (sessions.session_ids(), names_for(sessions, "ann")) == (("ann",), ("a",))


def test_session_can_be_evicted_after_a_failed_build(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    sessions.index("ann", tools("a"))
    index.failure = IndexingError("no")
    with pytest.raises(IndexingError):
        sessions.lease("ann", tools("b"))
    index.failure = None
    sessions.index("bob", tools("b"))
    assert sessions.session_ids() == ("bob",)


def test_duplicate_names_are_refused_before_any_change(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    with pytest.raises(DuplicateToolError):
        sessions.lease("ann", [ToolReference(name="a"), ToolReference(name="a", source="s")])
    assert "ann" not in sessions


def test_index_without_a_searcher_is_named_in_the_error() -> None:
    class Forgetful:
        def build(self, tools: Sequence[ToolReference]) -> Any:
            return None

    with pytest.raises(IndexingError, match=r"Forgetful\.build returned None"):
        SessionToolIndex(Forgetful()).index("ann", tools("a"))


# Eviction and leases


def test_search_counts_as_a_use(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(2))
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("b"))
    names_for(sessions, "ann")
    sessions.index("eve", tools("c"))
    assert sessions.session_ids() == ("ann", "eve")


def test_last_1000_sessions_stay_by_default(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    one_set = tools("a")
    for number in range(1001):
        sessions.index(number, one_set)
    assert (len(sessions), 0 in sessions, 1 in sessions) == (1000, False, True)


def test_session_in_a_turn_is_evicted_at_its_end(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    with sessions.lease("ann", tools("a")) as turn:
        turn.session.reveal(["a"])
        sessions.index("bob", tools("b"))
        assert sessions.session_ids() == ("ann", "bob")
        assert turn.search("a").names == ("a",)
        assert names_for(sessions, "bob") == ("b",)
    assert (sessions.session_ids(), index.alive) == (("bob",), 1)
    with sessions.lease("ann", tools("a")) as turn:
        assert turn.session.revealed == ()


def test_session_is_evicted_after_the_last_parallel_turn(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    first = sessions.lease("ann", tools("a"))
    second = sessions.lease("ann", tools("a"))
    sessions.index("bob", tools("b"))
    first.close()
    first.close()
    assert "ann" in sessions
    second.close()
    assert sessions.session_ids() == ("bob",)


def test_new_use_cancels_the_eviction(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    with sessions.lease("ann", tools("a")):
        sessions.index("bob", tools("b"))
        names_for(sessions, "ann")
        assert sessions.session_ids() == ("ann",)
    assert sessions.session_ids() == ("ann",)


def test_turn_longer_than_the_idle_time_keeps_its_session(index: NameIndex) -> None:
    time = FakeClock()
    sessions = SessionToolIndex(index, TtlEviction(timedelta(minutes=5), clock=time))
    with sessions.lease("ann", tools("a")) as turn:
        time.advance(3600)
        sessions.index("bob", tools("b"))
        assert turn.search("a").names == ("a",)
        assert "ann" in sessions
    assert sessions.session_ids() == ("bob",)


def test_strategies_can_be_combined(index: NameIndex) -> None:
    time = FakeClock()
    sessions = SessionToolIndex(index, CompositeEviction(LruEviction(2), TtlEviction(10, clock=time)))
    for name in "abc":
        sessions.index(name, tools("x"))
    assert sessions.session_ids() == ("b", "c")
    time.advance(10)
    sessions.index("d", tools("x"))
    assert sessions.session_ids() == ("d",)


def test_always_evict_keeps_a_session_for_its_turn(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, AlwaysEvict())
    with sessions.lease("ann", tools("a")) as turn:
        assert turn.search("a").names == ("a",)
        assert "ann" in sessions
    assert (len(sessions), index.alive) == (0, 0)


def test_always_evict_keeps_a_session_until_another_is_used(index: NameIndex) -> None:
    """This holds for sessions that are used without turns."""
    sessions = SessionToolIndex(index, AlwaysEvict())
    sessions.index("ann", tools("a"))
    assert names_for(sessions, "ann") == names_for(sessions, "ann") == ("a",)
    sessions.index("bob", tools("b"))
    assert sessions.session_ids() == ("bob",)


def test_never_evict_keeps_all_sessions(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, NeverEvict())
    for number in range(50):
        sessions.index(number, tools("a"))
    assert len(sessions) == 50


def test_evicting_an_unknown_session_does_nothing(index: NameIndex) -> None:
    SessionToolIndex(index).evict("nobody")


def test_evicted_session_does_not_count_for_the_strategy(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(2))
    sessions.index("ann", tools("a"))
    sessions.index("bob", tools("b"))
    sessions.evict("ann")
    sessions.index("eve", tools("c"))
    assert sessions.session_ids() == ("bob", "eve")


def test_turn_goes_on_after_its_session_was_evicted(index: NameIndex) -> None:
    """The next turn of the session starts from nothing."""
    sessions = SessionToolIndex(index, LruEviction(1))
    with sessions.lease("ann", tools("a")) as turn:
        turn.session.reveal(["a"])
        sessions.evict("ann")
        assert "ann" not in sessions
        assert turn.search("a").names == ("a",)
        assert turn.session.revealed == ("a",)
        with sessions.lease("ann", tools("b")) as next_turn:
            assert next_turn.session.revealed == ()
            turn.close()
            assert sessions.session_ids() == ("ann",)
    assert names_for(sessions, "ann") == ("b",)


def test_turn_of_an_evicted_session_holds_only_its_own_searcher(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    with sessions.lease("ann", tools("a")) as turn:
        sessions.index("ann", tools("b"))
        sessions.evict("ann")
        assert index.alive == 1
        assert turn.search("").names == ("a",)


def test_turn_keeps_its_tool_set(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    with sessions.lease("ann", tools("a")) as turn:
        sessions.index("ann", tools("b"))
        assert turn.search("").names == ("a",)
        assert names_for(sessions, "ann") == ("b",)
    assert index.alive == 1


def test_parallel_turns_share_revealed_tools(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    with sessions.lease("ann", tools("a")) as one, sessions.lease("ann", tools("b")) as other:
        one.session.reveal(["a"])
        assert other.session is one.session
        assert other.session.revealed == ("a",)


def test_turn_without_a_session_id_shares_only_the_searcher(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, LruEviction(1))
    sessions.index("ann", tools("a"))
    with sessions.lease(None, tools("a")) as one, sessions.lease(None, tools("a")) as other:
        one.session.reveal(["a"])
        assert other.session.revealed == ()
        assert one.searcher is other.searcher
        assert sessions.session_ids() == ("ann",)
    assert len(index.built) == 1
    sessions.evict("ann")
    assert index.alive == 0


def test_failed_turn_closes_its_lease(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, AlwaysEvict())

    def turn() -> None:
        with sessions.lease("ann", tools("a")):
            raise RuntimeError("the model is down")

    with pytest.raises(RuntimeError, match="model is down"):
        turn()
    assert len(sessions) == 0


def test_abandoned_stream_closes_its_lease(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, AlwaysEvict())

    def stream() -> Any:
        with sessions.lease("ann", tools("a")) as turn:
            yield from turn.search("a").names

    abandoned = stream()
    assert next(abandoned) == "a"
    assert "ann" in sessions
    del abandoned
    gc.collect()
    assert (len(sessions), index.alive) == (0, 0)


def test_dropped_lease_is_closed(index: NameIndex) -> None:
    sessions = SessionToolIndex(index, AlwaysEvict())
    lease: SessionLease | None = sessions.lease("ann", tools("a"))
    assert lease is not None
    assert "ann" in sessions
    del lease
    gc.collect()
    assert len(sessions) == 0


def test_closed_lease_frees_its_searcher_and_refuses_searches(index: NameIndex) -> None:
    sessions = SessionToolIndex(index)
    lease = sessions.lease("ann", tools("a"))
    assert not lease.closed
    lease.close()
    sessions.evict("ann")
    assert (lease.closed, index.alive) == (True, 0)
    with pytest.raises(ConfigurationError, match="turn is over"):
        lease.search("a")
    assert isinstance(lease.session, SessionRecord)
    assert lease.tools == tools("a")


class ClosesALease(LruEviction):
    """Strategy that closes a lease during `touch`, like the garbage collector could."""

    victim: SessionLease | None = None

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        proposed = super().touch(session_id)
        if self.victim is not None:
            self.victim.close()
        return proposed


def test_lease_closed_inside_the_lock_does_not_hang(index: NameIndex) -> None:
    """The garbage collector can close a lease at any moment."""
    eviction = ClosesALease(1)
    sessions = SessionToolIndex(index, eviction)
    eviction.victim = sessions.lease("ann", tools("a"))
    sessions.index("bob", tools("b"))
    assert (sessions.session_ids(), index.alive) == (("bob",), 1)


class Broken(LruEviction):
    """Strategy that raises while `failing` is set."""

    failing = False

    def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
        if self.failing:
            raise OSError("the strategy's store is gone")
        return super().touch(session_id)

    def forget(self, session_id: Hashable) -> None:
        super().forget(session_id)
        if self.failing:
            raise OSError("the strategy's store is gone")


def test_error_in_touch_leaves_no_lease_open(index: NameIndex) -> None:
    eviction = Broken(1)
    sessions = SessionToolIndex(index, eviction)
    sessions.index("ann", tools("a"))
    eviction.failing = True
    with pytest.raises(OSError, match="store is gone"):
        sessions.lease("ann", tools("b"))
    with pytest.raises(OSError, match="store is gone"):
        sessions.lease("bob", tools("b"))
    assert sessions.session_ids() == ("ann",)
    eviction.failing = False
    assert names_for(sessions, "ann") == ("a",)
    sessions.index("bob", tools("b"))
    assert sessions.session_ids() == ("bob",)


def test_error_in_forget_leaves_no_lease_open(index: NameIndex) -> None:
    class FailsToForget(Broken):
        def touch(self, session_id: Hashable) -> tuple[Hashable, ...]:
            return LruEviction.touch(self, session_id)

    eviction = FailsToForget(1)
    sessions = SessionToolIndex(index, eviction)
    sessions.index("ann", tools("a"))
    eviction.failing = True
    with pytest.raises(OSError, match="store is gone"):
        sessions.lease("bob", tools("b"))
    eviction.failing = False
    sessions.index("eve", tools("c"))
    assert sessions.session_ids() == ("eve",)
