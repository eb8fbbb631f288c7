"""Sessions under threads: one build for all who ask, nobody waits for another's set, nobody waits for ever."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock, Semaphore
from typing import Any

import pytest

from toolsearch.disclosure.sessions.searcher_cache import SearcherCache, SearcherHandle
from toolsearch.disclosure.sessions.session_index import SessionLease, SessionToolIndex, ToolSearchRequest
from toolsearch.disclosure.sessions.tool_set import ToolSet
from toolsearch.errors import IndexingError
from toolsearch.eviction import AlwaysEvict, CompositeEviction, LruEviction, TtlEviction
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.response import ToolHit, ToolSearchResponse
from toolsearch.testing import FakeClock

PATIENCE = 30  # seconds until a test that hangs fails


class Killed(BaseException):
    """What stops a thread without being an error, as KeyboardInterrupt does."""


class Gate:
    """An index whose builds of sets with a tool named ``slow`` wait until the test opens it."""

    def __init__(self, failures: Sequence[BaseException] = ()) -> None:
        self.entered = Event()
        self.open = Event()
        self.failures = list(failures)
        self.builds: Counter[tuple[str, ...]] = Counter()
        self.running: Counter[tuple[str, ...]] = Counter()
        self.most_at_once = 0
        self.lock = Lock()

    def build(self, tools: Sequence[ToolReference]) -> Found:
        names = tuple(tool.name for tool in tools)
        with self.lock:
            self.builds[names] += 1
            self.running[names] += 1
            self.most_at_once = max(self.most_at_once, self.running[names])
            failure = self.failures.pop(0) if self.failures else None
        if "slow" in names:
            self.entered.set()
            assert self.open.wait(PATIENCE)
        with self.lock:
            self.running[names] -= 1
        if failure is not None:
            raise failure
        return Found(names)


class Found:
    """Answers every query with all of its names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        return ToolSearchResponse(hits=tuple(map(ToolHit, self.names)), total_matches=len(self.names))


def tools(*names: str) -> ToolSet:
    return ToolSet(ToolReference(name=name) for name in names)


def search(sessions: SessionToolIndex, session_id: Any) -> tuple[str, ...]:
    return sessions.search(ToolSearchRequest(session_id=session_id, query="")).names


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Lets threads interrupt each other far more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(pool: ThreadPoolExecutor, count: int, work: Callable[[int], Any]) -> list[Future[Any]]:
    """Start `work` in `count` threads at one moment; returns when all have started."""
    start = Barrier(count + 1)

    def run(worker: int) -> Any:
        start.wait(PATIENCE)
        return work(worker)

    futures = [pool.submit(run, worker) for worker in range(count)]
    start.wait(PATIENCE)
    return futures


def test_all_who_ask_for_a_set_at_once_wait_for_one_build(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate)
    futures = together(pool, 8, lambda worker: sessions.index(worker, tools("slow", "a")))
    assert gate.entered.wait(PATIENCE)
    gate.open.set()
    for future in futures:
        future.result(PATIENCE)
    assert gate.builds == {("a", "slow"): 1}
    assert all(search(sessions, worker) == ("a", "slow") for worker in range(8))


def test_a_slow_build_holds_up_no_other_set_session_or_search(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, LruEviction(3))
    sessions.index("slow one", tools("old"))
    build = pool.submit(sessions.index, "slow one", tools("slow"))
    assert gate.entered.wait(PATIENCE)
    for number in range(5):
        with sessions.lease(number, tools(f"set_{number}")) as turn:
            assert turn.search("").names == (f"set_{number}",)
        assert search(sessions, number) == (f"set_{number}",)
    assert search(sessions, "slow one") == ("old",)
    sessions.evict(4)
    assert not build.done()
    gate.open.set()
    build.result(PATIENCE)
    assert search(sessions, "slow one") == ("slow",)


def test_a_session_is_not_evicted_while_its_new_set_is_built(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, LruEviction(1))
    with sessions.lease("ann", tools("a")) as turn:
        turn.session.reveal(["a"])
    build = pool.submit(sessions.lease, "ann", tools("a", "slow"))
    assert gate.entered.wait(PATIENCE)
    sessions.index("bob", tools("b"))
    gate.open.set()
    with build.result(PATIENCE) as turn:
        assert turn.session.revealed == ("a",)
    assert sessions.session_ids() == ("ann",)


def test_a_session_cleared_while_its_set_is_built_starts_from_nothing(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, AlwaysEvict())
    with sessions.lease("ann", tools("a")) as earlier:
        earlier.session.reveal(["a"])
        build = pool.submit(sessions.lease, "ann", tools("a", "slow"))
        assert gate.entered.wait(PATIENCE)
        sessions.evict("ann")
        gate.open.set()
        with build.result(PATIENCE) as turn:
            assert turn.session.revealed == ()
            assert "ann" in sessions
        assert len(sessions) == 0


class Announced(Event):
    """Tells of every thread that waits for it, before it does."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals = Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.arrivals.release()
        return super().wait(timeout)


def join_the_build(
    pool: ThreadPoolExecutor, cache: SearcherCache, tool_set: ToolSet, count: int
) -> list[Future[SearcherHandle]]:
    """Let `count` threads ask for a set that is being built; returns when all of them wait for that build."""
    done = cache._flights[tool_set.digest].done = Announced()
    waiting = [pool.submit(cache.get, tool_set) for _ in range(count)]
    for _ in range(count):
        assert done.arrivals.acquire(timeout=PATIENCE)
    return waiting


def test_all_who_wait_get_what_was_built(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    cache = SearcherCache(gate)
    builder = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(PATIENCE)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    assert {id(future.result(PATIENCE)) for future in waiting} == {id(builder.result(PATIENCE))}
    assert gate.builds == {("slow",): 1}


def test_a_failed_build_fails_all_who_wait_and_can_be_repeated(pool: ThreadPoolExecutor) -> None:
    gate = Gate([IndexingError("out of memory")])
    cache = SearcherCache(gate)
    builder = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(PATIENCE)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    for future in [builder, *waiting]:
        with pytest.raises(IndexingError, match="out of memory"):
            future.result(PATIENCE)
    assert gate.builds == {("slow",): 1}
    assert cache.get(tools("slow")).searcher.search("").names == ("slow",)


def test_when_the_builder_is_killed_one_of_those_who_wait_builds(pool: ThreadPoolExecutor) -> None:
    gate = Gate([Killed()])
    cache = SearcherCache(gate)
    killed = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(PATIENCE)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    with pytest.raises(Killed):
        killed.result(PATIENCE)
    assert len({id(future.result(PATIENCE)) for future in waiting}) == 1
    assert gate.builds == {("slow",): 2}
    assert gate.most_at_once == 1


@pytest.mark.usefixtures("eager_switching")
def test_many_threads_see_only_their_own_tools_and_leave_nothing_behind(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    clock = FakeClock()
    sessions = SessionToolIndex(gate, CompositeEviction(LruEviction(5), TtlEviction(3, clock=clock)))
    sets = [tools("shared", f"own_{number}") for number in range(4)]

    def use(worker: int) -> None:
        for turn in range(60):
            session_id = (worker % 3, turn % 8)  # several workers meet in each session
            own = sets[turn % 4]
            with sessions.lease(session_id, own) as lease:
                assert lease.session.reveal([f"{worker}_{turn}"]) == (f"{worker}_{turn}",)
                assert set(lease.search("").names) == set(own.names)
                assert f"{worker}_{turn}" in lease.session.revealed
            if turn % 10 == worker:
                sessions.evict(session_id)
            assert set(search(sessions, session_id)) in ({"shared", f"own_{turn % 4}"}, set())
            clock.advance(0.1)

    for future in together(pool, 8, use):
        future.result(PATIENCE)
    sessions.index("last", sets[0])
    assert len(sessions) <= 5
    assert gate.most_at_once == 1
    for session_id in sessions.session_ids():
        sessions.evict(session_id)
    assert len(sessions._cache) == 0


def close_one(leases: list[SessionLease], worker: int) -> None:
    leases[worker].close()


@pytest.mark.usefixtures("eager_switching")
def test_of_many_closers_one_ends_the_turn(pool: ThreadPoolExecutor) -> None:
    sessions = SessionToolIndex(Gate(), LruEviction(1))
    for _ in range(50):
        with sessions.lease("ann", tools("a")):
            closing = [sessions.lease("ann", tools("a"))] * 4
            sessions.index("bob", tools("b"))
            for future in together(pool, 4, partial(close_one, closing)):
                future.result(PATIENCE)
            assert "ann" in sessions  # the other lease still holds it
        assert sessions.session_ids() == ("bob",)
