"""`EvictionSuite`: the contract of an eviction strategy as tests."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ..eviction.protocols import EvictionStrategy

__all__ = ["EvictionSuite"]


class EvictionSuite:
    """Tests that any eviction strategy passes. Subclass it with a name that starts with ``Test``.

    Override `make_strategy`; also `pass_time` if the strategy goes by the time.

    Example:
        >>> from toolsearch.eviction import LruEviction
        >>> class TestMyStrategy(EvictionSuite):
        ...     def make_strategy(self):
        ...         return LruEviction(3)
        >>> TestMyStrategy().test_it_stays_proposed_until_forgotten()

    Attributes:
        proposes_current: whether a touch may propose the very session it reports, as `AlwaysEvict` does.
        sessions: how many sessions the tests use; enough to make the strategy propose some.
    """

    proposes_current = False
    sessions = 20

    def make_strategy(self) -> EvictionStrategy:
        """Return a new strategy; small limits test more."""
        raise NotImplementedError("override make_strategy to return the strategy under test")

    def pass_time(self, strategy: EvictionStrategy) -> None:
        """Let so much time pass that a strategy that goes by the time proposes what was not used since."""

    def test_it_has_the_methods_of_the_protocol(self) -> None:
        """It can be passed where an `EvictionStrategy` is expected."""
        assert isinstance(self.make_strategy(), EvictionStrategy)

    def test_a_single_session_is_not_proposed(self) -> None:
        """One session, used again and again, is never in its own way."""
        strategy = self.make_strategy()
        for _ in range(3):
            proposed = list(strategy.touch("one"))
            assert proposed == (["one"] if self.proposes_current else []), f"proposed {proposed}"
            self.pass_time(strategy)

    def test_it_proposes_used_sessions_only_each_once(self) -> None:
        """A proposal names sessions that were touched, without repetition, and not the current one."""
        strategy = self.make_strategy()
        used: set[Hashable] = set()
        for session_id in [*range(self.sessions), *range(0, self.sessions, 3)]:
            used.add(session_id)
            proposed = list(strategy.touch(session_id))
            assert len(proposed) == len(set(proposed)), f"a session is proposed twice: {proposed}"
            assert set(proposed) <= used, f"never used: {set(proposed) - used}"
            assert self.proposes_current or session_id not in proposed, f"the current session {session_id} is proposed"
            self.pass_time(strategy)

    def test_it_stays_proposed_until_forgotten(self) -> None:
        """What was proposed is proposed again by every touch of another session until `forget`."""
        strategy = self.make_strategy()
        before: set[Hashable] = set()
        for session_id in range(self.sessions):
            now = set(strategy.touch(session_id))
            assert before <= now, f"no longer proposed, though not forgotten: {before - now}"
            before = now
            self.pass_time(strategy)
        for proposed in before:
            strategy.forget(proposed)
        after = set(strategy.touch("another"))
        assert not before & after, f"proposed, though forgotten: {before & after}"

    def test_a_forgotten_session_is_not_proposed_until_used_again(self) -> None:
        """Whoever removed a session, it is gone for the strategy too."""
        strategy = self.make_strategy()
        strategy.touch("gone")
        strategy.forget("gone")
        for session_id in range(self.sessions):
            self.pass_time(strategy)
            assert "gone" not in strategy.touch(session_id)

    def test_forgetting_the_unknown_is_ignored(self) -> None:
        """`forget` of a session never used, or forgotten already, changes nothing."""
        strategy = self.make_strategy()
        strategy.forget("never used")
        strategy.touch("a")
        strategy.forget("a")
        strategy.forget("a")
        assert list(strategy.touch("b")) == (["b"] if self.proposes_current else [])

    def test_any_hashable_value_names_a_session(self) -> None:
        """Tuples, numbers, None inside a tuple and broken Unicode are ids like any other."""
        strategy = self.make_strategy()
        ids: list[Hashable] = [("tenant", "session"), (None, "session"), 7, "\ud800", frozenset({1}), ""]
        for session_id in ids * 2:
            assert set(strategy.touch(session_id)) <= set(ids)
            self.pass_time(strategy)
        for session_id in ids:
            strategy.forget(session_id)

    def test_many_threads_may_use_it_at_once(self) -> None:
        """Concurrent uses and removals raise nothing and lose no removal."""
        strategy = self.make_strategy()
        workers = 4
        start = Barrier(workers)

        def use(worker: int) -> None:
            start.wait()
            for turn in range(100):
                for session_id in strategy.touch((worker, turn % 7)):
                    strategy.forget(session_id)

        with ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(use, worker) for worker in range(workers)]:
                future.result()
        for worker in range(workers):
            for turn in range(7):
                strategy.forget((worker, turn))
        assert list(strategy.touch("last")) == (["last"] if self.proposes_current else [])
