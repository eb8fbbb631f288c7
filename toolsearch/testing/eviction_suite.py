"""`EvictionSuite`: conformance tests for eviction strategies."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ..eviction.protocols import EvictionStrategy

__all__ = ["EvictionSuite"]


class EvictionSuite:
    """Conformance tests for an `EvictionStrategy`.

    Subclass it under a name that starts with ``Test`` and override `make_strategy`, and `pass_time` if the strategy
    depends on time. pytest collects the subclass.

    Example:
        >>> from toolsearch.eviction import LruEviction
        >>> class TestMyStrategy(EvictionSuite):
        ...     def make_strategy(self):
        ...         return LruEviction(3)
        >>> TestMyStrategy().test_proposes_a_session_until_it_is_forgotten()

    Attributes:
        proposes_current: Whether a touch may propose the touched session itself, as `AlwaysEvict` does.
        spares_other_tenants: Whether many sessions of one tenant leave the only session of another alone. The keys of
            sessions are pairs of tenant and session. A strategy that keeps a single session cannot do this.
        sessions: The number of sessions that the tests use. It must be large enough for some to be proposed.
    """

    proposes_current = False
    spares_other_tenants = True
    sessions = 20

    def make_strategy(self) -> EvictionStrategy:
        """Return a new strategy, preferably with small limits; subclasses override this."""
        raise NotImplementedError("override make_strategy to return the strategy under test")

    def pass_time(self, strategy: EvictionStrategy) -> None:
        """Advance the clock of `strategy` so far that it proposes all sessions unused since."""

    def test_implements_the_protocol(self) -> None:
        """The strategy is an `EvictionStrategy`."""
        assert isinstance(self.make_strategy(), EvictionStrategy)

    def test_single_session_is_not_proposed(self) -> None:
        """A session that is the only one is not proposed for eviction."""
        strategy = self.make_strategy()
        for _ in range(3):
            proposed = list(strategy.touch("one"))
            assert proposed == (["one"] if self.proposes_current else []), f"proposed {proposed}"
            self.pass_time(strategy)

    def test_proposes_each_used_session_once(self) -> None:
        """A proposal contains only used sessions, without repetition and without the current one."""
        strategy = self.make_strategy()
        used: set[Hashable] = set()
        for session_id in [*range(self.sessions), *range(0, self.sessions, 3)]:
            used.add(session_id)
            proposed = list(strategy.touch(session_id))
            assert len(proposed) == len(set(proposed)), f"a session is proposed twice: {proposed}"
            assert set(proposed) <= used, f"never used: {set(proposed) - used}"
            assert self.proposes_current or session_id not in proposed, f"the current session {session_id} is proposed"
            self.pass_time(strategy)

    def test_proposes_a_session_until_it_is_forgotten(self) -> None:
        """A proposed session is proposed again at every touch of another one until `forget`."""
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

    def test_forgotten_session_is_not_proposed(self) -> None:
        """A forgotten session is not proposed until it is used again."""
        strategy = self.make_strategy()
        strategy.touch("gone")
        strategy.forget("gone")
        for session_id in range(self.sessions):
            self.pass_time(strategy)
            assert "gone" not in strategy.touch(session_id)

    def test_forget_of_an_unknown_session_does_nothing(self) -> None:
        """`forget` has no effect on a session that was never used or already forgotten."""
        strategy = self.make_strategy()
        strategy.forget("never used")
        strategy.touch("a")
        strategy.forget("a")
        strategy.forget("a")
        assert list(strategy.touch("b")) == (["b"] if self.proposes_current else [])

    def test_sessions_of_a_tenant_do_not_evict_those_of_another(self) -> None:
        """A tenant with many sessions loses its own ones, whichever tenant was there first."""
        if not self.spares_other_tenants:
            return
        for quiet in ("globex", None):
            strategy = self.make_strategy()
            strategy.touch((quiet, "only"))
            for number in range(self.sessions):
                for session_id in strategy.touch(("acme", number)):
                    assert session_id != (quiet, "only"), f"proposed after {number + 1} sessions of another tenant"
                    strategy.forget(session_id)

    def test_session_id_can_be_any_hashable(self) -> None:
        """Tuples, numbers, None in a tuple and lone surrogates are valid ids."""
        strategy = self.make_strategy()
        ids: list[Hashable] = [("tenant", "session"), (None, "session"), 7, "\ud800", frozenset({1}), ""]
        for session_id in ids * 2:
            assert set(strategy.touch(session_id)) <= set(ids)
            self.pass_time(strategy)
        for session_id in ids:
            strategy.forget(session_id)

    def test_concurrent_use(self) -> None:
        """Concurrent touches and removals do not raise, and no removal is lost."""
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
