"""Sessions with threads: parallel requests share one build, and other sets do not wait for it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock, Semaphore
from typing import Any

import pytest

from toolsearch.disclosure.sessions import SessionLease, SessionToolIndex, ToolSearchRequest
from toolsearch.disclosure.sessions.searcher_cache import SearcherCache, SearcherHandle
from toolsearch.disclosure.sessions.tool_set import ToolSet
from toolsearch.errors import IndexingError
from toolsearch.eviction import AlwaysEvict, CompositeEviction, LruEviction, TtlEviction
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.response import ToolHit, ToolSearchResponse
from toolsearch.testing import FakeClock

TIMEOUT_SECONDS = 30  # until a test that hangs fails


class Killed(BaseException):
    """Stops a thread without being an `Exception`, like KeyboardInterrupt."""


class Gate:
    """Index whose builds of sets with a tool named ``slow`` wait until the test opens it."""

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
            assert self.open.wait(TIMEOUT_SECONDS)
        with self.lock:
            self.running[names] -= 1
        if failure is not None:
            raise failure
        return Found(names)


class Found:
    """Searcher that finds all of its tools for every query."""

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
    """Switch between threads far more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(pool: ThreadPoolExecutor, count: int, work: Callable[[int], Any]) -> list[Future[Any]]:
    """Start `work` in `count` threads at the same moment."""
    start = Barrier(count + 1)

    def run(worker: int) -> Any:
        start.wait(TIMEOUT_SECONDS)
        return work(worker)

    futures = [pool.submit(run, worker) for worker in range(count)]
    start.wait(TIMEOUT_SECONDS)
    return futures


def test_parallel_sessions_share_one_build(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate)
    futures = together(pool, 8, lambda worker: sessions.index(worker, tools("slow", "a")))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    gate.open.set()
    for future in futures:
        future.result(TIMEOUT_SECONDS)
    assert gate.builds == {("a", "slow"): 1}
    assert all(search(sessions, worker) == ("a", "slow") for worker in range(8))


def test_slow_build_delays_no_other_session(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, LruEviction(3))
    sessions.index("slow one", tools("old"))
    build = pool.submit(sessions.index, "slow one", tools("slow"))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    for number in range(5):
        with sessions.lease(number, tools(f"set_{number}")) as turn:
            assert turn.search("").names == (f"set_{number}",)
        assert search(sessions, number) == (f"set_{number}",)
    assert search(sessions, "slow one") == ("old",)
    sessions.evict(4)
    assert not build.done()
    gate.open.set()
    build.result(TIMEOUT_SECONDS)
    assert search(sessions, "slow one") == ("slow",)


def test_session_is_not_evicted_during_a_build(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, LruEviction(1))
    with sessions.lease("ann", tools("a")) as turn:
        turn.session.reveal(["a"])
    build = pool.submit(sessions.lease, "ann", tools("a", "slow"))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    sessions.index("bob", tools("b"))
    gate.open.set()
    with build.result(TIMEOUT_SECONDS) as turn:
        assert turn.session.revealed == ("a",)
    assert sessions.session_ids() == ("ann",)


def test_session_evicted_during_a_build_starts_from_nothing(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    sessions = SessionToolIndex(gate, AlwaysEvict())
    with sessions.lease("ann", tools("a")) as earlier:
        earlier.session.reveal(["a"])
        build = pool.submit(sessions.lease, "ann", tools("a", "slow"))
        assert gate.entered.wait(TIMEOUT_SECONDS)
        sessions.evict("ann")
        gate.open.set()
        with build.result(TIMEOUT_SECONDS) as turn:
            assert turn.session.revealed == ()
            assert "ann" in sessions
        assert len(sessions) == 0


class Announced(Event):
    """Event that counts each thread before it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals = Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.arrivals.release()
        return super().wait(timeout)


def join_the_build(
    pool: ThreadPoolExecutor, cache: SearcherCache, tool_set: ToolSet, count: int
) -> list[Future[SearcherHandle]]:
    """Make `count` threads wait for the build of a set."""
    done = cache._flights[tool_set.digest].done = Announced()
    waiting = [pool.submit(cache.get, tool_set) for _ in range(count)]
    for _ in range(count):
        assert done.arrivals.acquire(timeout=TIMEOUT_SECONDS)
    return waiting


def test_waiting_threads_get_the_same_searcher(pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    cache = SearcherCache(gate)
    builder = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    assert {id(future.result(TIMEOUT_SECONDS)) for future in waiting} == {id(builder.result(TIMEOUT_SECONDS))}
    assert gate.builds == {("slow",): 1}


def test_failed_build_fails_all_waiting_threads(pool: ThreadPoolExecutor) -> None:
    """The next call builds again."""
    gate = Gate([IndexingError("out of memory")])
    cache = SearcherCache(gate)
    builder = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    for future in [builder, *waiting]:
        with pytest.raises(IndexingError, match="out of memory"):
            future.result(TIMEOUT_SECONDS)
    assert gate.builds == {("slow",): 1}
    assert cache.get(tools("slow")).searcher.search("").names == ("slow",)


def test_waiting_thread_builds_if_the_builder_is_killed(pool: ThreadPoolExecutor) -> None:
    gate = Gate([Killed()])
    cache = SearcherCache(gate)
    killed = pool.submit(cache.get, tools("slow"))
    assert gate.entered.wait(TIMEOUT_SECONDS)
    waiting = join_the_build(pool, cache, tools("slow"), 6)
    gate.open.set()
    with pytest.raises(Killed):
        killed.result(TIMEOUT_SECONDS)
    assert len({id(future.result(TIMEOUT_SECONDS)) for future in waiting}) == 1
    assert gate.builds == {("slow",): 2}
    assert gate.most_at_once == 1


@pytest.mark.usefixtures("eager_switching")
def test_threads_see_only_their_own_tools(pool: ThreadPoolExecutor) -> None:
    """Nothing is left after their sessions are evicted."""
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
        future.result(TIMEOUT_SECONDS)
    sessions.index("last", sets[0])
    assert len(sessions) <= 5
    assert gate.most_at_once == 1
    for session_id in sessions.session_ids():
        sessions.evict(session_id)
    assert len(sessions._cache) == 0


def close_one(leases: list[SessionLease], worker: int) -> None:
    leases[worker].close()


@pytest.mark.usefixtures("eager_switching")
def test_parallel_closes_end_a_turn_once(pool: ThreadPoolExecutor) -> None:
    sessions = SessionToolIndex(Gate(), LruEviction(1))
    for _ in range(50):
        with sessions.lease("ann", tools("a")):
            closing = [sessions.lease("ann", tools("a"))] * 4
            sessions.index("bob", tools("b"))
            for future in together(pool, 4, partial(close_one, closing)):
                future.result(TIMEOUT_SECONDS)
            assert "ann" in sessions  # the other lease still holds it
        assert sessions.session_ids() == ("bob",)
