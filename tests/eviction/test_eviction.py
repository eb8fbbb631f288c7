"""Tests of the eviction strategies: the contract, comparison with naive models, and each strategy's own promises."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError
from toolsearch.eviction import (
    AlwaysEvict,
    CompositeEviction,
    EvictionStrategy,
    LruEviction,
    NeverEvict,
    TtlEviction,
)
from toolsearch.testing import EvictionSuite, FakeClock


class TestLruContract(EvictionSuite):
    def make_strategy(self) -> EvictionStrategy:
        return LruEviction(3)


class TestLruWithQuotaContract(EvictionSuite):
    def make_strategy(self) -> EvictionStrategy:
        return LruEviction(4, per_tenant=2)


class TestLruOfOneContract(EvictionSuite):
    spares_other_tenants = False

    def make_strategy(self) -> EvictionStrategy:
        return LruEviction(1)


class TestTtlContract(EvictionSuite):
    def make_strategy(self) -> EvictionStrategy:
        self.clock = FakeClock()
        return TtlEviction(10, clock=self.clock)

    def pass_time(self, strategy: EvictionStrategy) -> None:
        self.clock.advance(4)


class TestCompositeContract(TestTtlContract):
    def make_strategy(self) -> EvictionStrategy:
        self.clock = FakeClock()
        return CompositeEviction(LruEviction(5), TtlEviction(10, clock=self.clock))


class TestAlwaysContract(EvictionSuite):
    proposes_current = True
    spares_other_tenants = False

    def make_strategy(self) -> EvictionStrategy:
        return AlwaysEvict()


class TestNeverContract(EvictionSuite):
    def make_strategy(self) -> EvictionStrategy:
        return NeverEvict()


class NaiveLru:
    """Model of `LruEviction` made of two lists."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[Hashable] = []
        self.proposed: list[Hashable] = []

    def touch(self, session_id: Hashable) -> list[Hashable]:
        self.forget(session_id)
        self.kept.append(session_id)
        excess = len(self.kept) - self.limit
        if excess > 0:
            self.proposed += self.kept[:excess]
            self.kept = self.kept[excess:]
        return list(self.proposed)

    def forget(self, session_id: Hashable) -> None:
        self.kept = [other for other in self.kept if other != session_id]
        self.proposed = [other for other in self.proposed if other != session_id]


class NaiveFairLru:
    """Model of `LruEviction` with tenants: a list of sessions in order of use, counted again at every step."""

    def __init__(self, limit: int, per_tenant: int | None) -> None:
        self.limit, self.per_tenant = limit, per_tenant
        self.kept: list[tuple[str, str]] = []
        self.proposed: list[Hashable] = []
        self.tenants: list[str] = []  # by their last use or loss, oldest first

    def touch(self, session_id: Any) -> list[Hashable]:
        self.forget(session_id)
        self.kept.append(session_id)
        self.note(session_id[0])
        if self.per_tenant is not None and self.number(session_id[0]) > self.per_tenant:
            self.drop(session_id[0])
        if len(self.kept) > self.limit:
            self.drop(max(self.tenants, key=self.number))  # the first of equals
        return list(self.proposed)

    def forget(self, session_id: Any) -> None:
        if session_id in self.kept:
            self.kept.remove(session_id)
            self.note(session_id[0])
        self.proposed = [other for other in self.proposed if other != session_id]

    def drop(self, tenant: str) -> None:
        oldest = next(session for session in self.kept if session[0] == tenant)
        self.kept.remove(oldest)
        self.note(tenant)
        self.proposed.append(oldest)

    def number(self, tenant: str) -> int:
        return sum(session[0] == tenant for session in self.kept)

    def note(self, tenant: str) -> None:
        self.tenants = [other for other in self.tenants if other != tenant] + [tenant]


class NaiveTtl:
    """Model of `TtlEviction` without a cap: proposes every idle session but the current one."""

    def __init__(self, ttl: float, clock: FakeClock) -> None:
        self.ttl, self.clock = ttl, clock
        self.last_use: dict[Hashable, float] = {}

    def touch(self, session_id: Hashable) -> list[Hashable]:
        self.forget(session_id)
        self.last_use[session_id] = self.clock()
        return [other for other, used in self.last_use.items() if self.clock() - used >= self.ttl]

    def forget(self, session_id: Hashable) -> None:
        self.last_use.pop(session_id, None)


SESSIONS = st.sampled_from("abcdefg")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("touch"), SESSIONS),
        st.tuples(st.just("forget"), SESSIONS),
        st.tuples(st.just("advance"), st.integers(0, 6)),
        st.tuples(st.just("evict"), SESSIONS),
    ),
    max_size=60,
)


def replay(steps: Sequence[tuple[str, Any]], strategy: EvictionStrategy, naive: Any, clock: FakeClock) -> None:
    """Run the same steps on both and compare after every touch; ``evict`` touches and confirms the proposals."""
    for action, value in steps:
        if action == "advance":
            clock.advance(value)
        elif action == "forget":
            strategy.forget(value)
            naive.forget(value)
        else:
            proposed = strategy.touch(value)
            assert list(proposed) == list(naive.touch(value))
            for session_id in proposed if action == "evict" else ():
                strategy.forget(session_id)
                naive.forget(session_id)


@given(STEPS, st.integers(1, 5))
def test_lru_matches_naive_model(steps: Sequence[tuple[str, Any]], limit: int) -> None:
    replay(steps, LruEviction(limit), NaiveLru(limit), FakeClock())


TENANTS_AND_SESSIONS = st.tuples(st.sampled_from("abc"), st.sampled_from("1234"))


@given(
    st.lists(st.tuples(st.sampled_from(["touch", "touch", "forget", "evict"]), TENANTS_AND_SESSIONS), max_size=80),
    st.integers(1, 7),
    st.none() | st.integers(1, 3),
)
def test_lru_with_tenants_matches_naive_model(
    steps: Sequence[tuple[str, Any]], limit: int, per_tenant: int | None
) -> None:
    replay(steps, LruEviction(limit, per_tenant=per_tenant), NaiveFairLru(limit, per_tenant), FakeClock())


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60),
    st.integers(2, 6),
    st.integers(1, 3),
)
def test_a_tenant_within_its_share_loses_nothing(uses: Sequence[tuple[str, int]], limit: int, quiet: int) -> None:
    """A tenant that has no more than its share of the sessions keeps them, whatever two others do."""
    quiet = min(quiet, limit // 4)
    strategy = LruEviction(limit)
    for number in range(quiet):
        strategy.touch(("quiet", number))
    for use in uses:
        for session_id in strategy.touch(use):
            assert session_id[0] != "quiet"  # type: ignore[index]
            strategy.forget(session_id)


def test_tenants_of_other_keys_are_given_by_a_function() -> None:
    strategy = LruEviction(2, tenant_of=lambda key: str(key).partition(":")[0])
    for key in ("globex:1", "acme:1", "acme:2"):
        proposed = strategy.touch(key)
    assert proposed == ("acme:1",)


@given(STEPS, st.integers(1, 12))
def test_ttl_matches_naive_model(steps: Sequence[tuple[str, Any]], ttl: int) -> None:
    clock = FakeClock()
    replay(steps, TtlEviction(ttl, clock=clock), NaiveTtl(ttl, clock), clock)


@given(STEPS, st.integers(1, 5), st.integers(1, 12))
def test_composite_proposes_the_union(steps: Sequence[tuple[str, Any]], limit: int, ttl: int) -> None:
    clock = FakeClock()
    lru, idle = NaiveLru(limit), NaiveTtl(ttl, clock)

    class NaiveUnion:
        def touch(self, session_id: Hashable) -> list[Hashable]:
            return list(dict.fromkeys(lru.touch(session_id) + idle.touch(session_id)))

        def forget(self, session_id: Hashable) -> None:
            lru.forget(session_id)
            idle.forget(session_id)

    replay(steps, CompositeEviction(LruEviction(limit), TtlEviction(ttl, clock=clock)), NaiveUnion(), clock)


@given(STEPS)
def test_always_proposes_all_and_never_proposes_none(steps: Sequence[tuple[str, Any]]) -> None:
    alive: list[Hashable] = []

    class NaiveAlways:
        def touch(self, session_id: Hashable) -> list[Hashable]:
            self.forget(session_id)
            alive.append(session_id)
            return list(alive)

        def forget(self, session_id: Hashable) -> None:
            if session_id in alive:
                alive.remove(session_id)

    replay(steps, AlwaysEvict(), NaiveAlways(), FakeClock())
    never = NeverEvict()
    assert all(never.touch(value) == () for action, value in steps if action != "advance")


@given(st.integers(1, 5), st.integers(1, 40))
def test_max_per_touch_limits_each_touch_and_loses_no_session(cap: int, crowd: int) -> None:
    clock = FakeClock()
    ttl = TtlEviction(10, clock=clock, max_per_touch=cap)
    for number in range(crowd):
        ttl.touch(number)
    clock.advance(10)
    gone: list[Hashable] = []
    while len(gone) < crowd:
        proposed = ttl.touch("current")
        assert 1 <= len(proposed) <= cap
        gone += proposed
        for session_id in proposed:
            ttl.forget(session_id)
    assert gone == list(range(crowd))
    assert ttl.touch("current") == ()


def test_unconfirmed_proposals_do_not_count_toward_max_per_touch() -> None:
    clock = FakeClock()
    ttl = TtlEviction(10, clock=clock, max_per_touch=1)
    ttl.touch("in a long turn")
    ttl.touch("idle")
    clock.advance(10)
    assert ttl.touch("current") == ("in a long turn",)
    assert ttl.touch("current") == ("in a long turn", "idle")


def test_a_use_restarts_the_idle_time() -> None:
    clock = FakeClock()
    ttl = TtlEviction(timedelta(minutes=1), clock=clock)
    ttl.touch("busy")
    ttl.touch("idle")
    clock.advance(59)
    ttl.touch("busy")
    clock.advance(1)
    assert ttl.touch("other") == ("idle",)


def test_touch_renews_an_expired_session() -> None:
    clock = FakeClock()
    ttl = TtlEviction(10, clock=clock)
    ttl.touch("a")
    clock.advance(1000)
    assert ttl.touch("a") == ()
    clock.advance(9.5)
    assert ttl.touch("b") == ()


def test_a_held_back_session_that_is_used_or_forgotten_is_not_proposed() -> None:
    """`max_per_touch` holds back expired sessions; a use or a removal takes them off the waiting list."""
    clock = FakeClock()
    ttl = TtlEviction(10, clock=clock, max_per_touch=1)
    for session_id in ("a", "b", "c", "d"):
        ttl.touch(session_id)
    clock.advance(10)
    assert ttl.touch("current") == ("a",)
    ttl.forget("b")
    assert ttl.touch("c") == ("a", "d")


def test_a_use_withdraws_a_proposal() -> None:
    lru = LruEviction(1)
    lru.touch("a")
    assert lru.touch("b") == ("a",)
    assert lru.touch("a") == ("b",)


def test_always_in_a_composite_proposes_the_current_session() -> None:
    assert CompositeEviction(AlwaysEvict(), LruEviction(10)).touch("a") == ("a",)


def test_composite_of_one_strategy() -> None:
    composite = CompositeEviction(LruEviction(1))
    composite.touch("a")
    assert composite.touch("b") == ("a",)
    composite.forget("a")
    assert composite.touch("b") == ()


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "3", None, math.nan])
def test_lru_rejects_an_invalid_max_sessions(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"max_sessions.*at least 1"):
        LruEviction(limit)


@pytest.mark.parametrize("ttl", [0, -1, timedelta(0), timedelta(seconds=-1), math.nan, math.inf, True, "60", None])
def test_ttl_rejects_an_invalid_time(ttl: Any) -> None:
    with pytest.raises(ConfigurationError, match="ttl must be"):
        TtlEviction(ttl)


@pytest.mark.parametrize("cap", [0, -3, 2.0, True, None])
def test_ttl_rejects_an_invalid_max_per_touch(cap: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_per_touch"):
        TtlEviction(1, max_per_touch=cap)


def test_ttl_rejects_an_invalid_clock() -> None:
    not_a_clock: Any = 12.5
    with pytest.raises(ConfigurationError, match="clock"):
        TtlEviction(1, clock=not_a_clock)


@pytest.mark.parametrize("strategies", [(), (LruEviction,), (LruEviction(1), None), ("lru",)])
def test_composite_rejects_invalid_strategies(strategies: Any) -> None:
    with pytest.raises(ConfigurationError):
        CompositeEviction(*strategies)


def test_repr() -> None:
    composite = CompositeEviction(LruEviction(5), TtlEviction(60), AlwaysEvict(), NeverEvict())
    assert repr(composite) == "CompositeEviction(LruEviction(5), TtlEviction(60.0), AlwaysEvict(), NeverEvict())"
