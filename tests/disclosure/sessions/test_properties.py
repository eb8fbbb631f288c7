"""Random histories of sessions compared with a naive model: sessions, results and searchers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import ref

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from toolsearch.disclosure.sessions import SessionLease, SessionToolIndex, ToolSearchRequest
from toolsearch.disclosure.sessions.tool_set import ToolSet
from toolsearch.eviction import LruEviction
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.response import ToolHit, ToolSearchResponse

NAMES = "abcd"
SESSIONS = st.sampled_from([("acme", "1"), ("acme", "2"), ("umbrella", "1"), "3", 4])
SETS = st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(tuple)  # few, so that many are equal


class Searcher:
    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        found = [name for name in self.names if query in name]
        return ToolSearchResponse(hits=tuple(map(ToolHit, found[:max_results])), total_matches=len(found))


class Index:
    def __init__(self) -> None:
        self.searchers: list[ref[Searcher]] = []

    def build(self, tools: Sequence[ToolReference]) -> Searcher:
        searcher = Searcher(tuple(tool.name for tool in tools))
        self.searchers.append(ref(searcher))
        return searcher

    def alive(self) -> list[tuple[str, ...]]:
        """Return the sets of the searchers in memory, one entry a searcher."""
        return sorted(searcher.names for each in self.searchers if (searcher := each()) is not None)


def tools(names: Sequence[str]) -> ToolSet:
    return ToolSet(ToolReference(name=name) for name in names)


@dataclass(eq=False)
class Session:
    """Session of the model."""

    names: tuple[str, ...] = ()
    revealed: list[str] = field(default_factory=list)
    leases: int = 0


class Model:
    """Naive model of sessions with an LRU limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.sessions: dict[object, Session] = {}
        self.kept: list[object] = []
        self.proposed: list[object] = []

    def use(self, key: object, names: tuple[str, ...] | None = None) -> Session:
        session = self.sessions.setdefault(key, Session())
        if names is not None:
            session.names = names
        self.forget(key)
        self.kept.append(key)
        while len(self.kept) > self.limit:
            self.proposed.append(self.kept.pop(0))
        session.leases += 1  # for this use
        self.sweep()
        session.leases -= 1
        return session

    def forget(self, key: object) -> None:
        for known in (self.kept, self.proposed):
            if key in known:
                known.remove(key)

    def sweep(self) -> None:
        for key in [key for key in self.proposed if not self.sessions[key].leases]:
            del self.sessions[key]
            self.forget(key)


@dataclass(eq=False)
class Turn:
    key: object
    lease: SessionLease
    names: tuple[str, ...]
    session: Session


class SessionHistories(RuleBasedStateMachine):
    """Uses, turns, searches and evictions in any order."""

    turns = Bundle("turns")

    @initialize(limit=st.integers(1, 4))
    def start(self, limit: int) -> None:
        self.index = Index()
        self.sessions = SessionToolIndex(self.index, LruEviction(limit, tenant_of=lambda _: None))
        self.model = Model(limit)
        self.open: list[Turn] = []

    @rule(key=SESSIONS, names=SETS)
    def index_tools(self, key: object, names: tuple[str, ...]) -> None:
        self.sessions.index(key, tools(names))
        self.model.use(key, names)

    @rule(target=turns, key=SESSIONS | st.none(), names=SETS)
    def begin_turn(self, key: object, names: tuple[str, ...]) -> Turn:
        lease = self.sessions.lease(key, tools(names))
        session = Session() if key is None else self.model.use(key, names)
        session.leases += 1
        turn = Turn(key, lease, names, session)
        self.open.append(turn)
        return turn

    @rule(turn=turns, query=st.sampled_from(["", *NAMES]))
    def search_in_turn(self, turn: Turn, query: str) -> None:
        if turn.lease.closed:
            return
        found = turn.lease.search(query).names
        assert found == tuple(name for name in sorted(turn.names) if query in name)
        new = tuple(name for name in found if name not in turn.session.revealed)
        assert turn.lease.session.reveal(found) == new
        turn.session.revealed += new
        assert turn.lease.session.revealed == tuple(turn.session.revealed)

    @rule(turn=consumes(turns))
    def end_turn(self, turn: Turn) -> None:
        turn.lease.close()
        self.open.remove(turn)
        turn.session.leases -= 1
        self.model.sweep()

    @rule(key=SESSIONS, query=st.sampled_from(["", *NAMES]))
    def search(self, key: object, query: str) -> None:
        response = self.sessions.search(ToolSearchRequest(session_id=key, query=query))
        if key not in self.model.sessions:
            assert response.reason_code == "unknown_session"
            return
        session = self.model.use(key)
        assert response.names == tuple(name for name in sorted(session.names) if query in name)

    @rule(key=SESSIONS)
    def evict(self, key: object) -> None:
        self.sessions.evict(key)
        self.model.sessions.pop(key, None)
        self.model.forget(key)

    @invariant()
    def sessions_are_those_of_the_model(self) -> None:
        assert set(self.sessions.session_ids()) == set(self.model.sessions)
        assert len(self.sessions) == len(self.model.sessions)
        for key, session in self.model.sessions.items():
            record = self.sessions.record(key)
            assert record is not None
            assert record.revealed == tuple(session.revealed)

    @invariant()
    def each_set_in_use_has_one_searcher_and_no_other_is_alive(self) -> None:
        in_use = [session.names for session in self.model.sessions.values()] + [turn.names for turn in self.open]
        assert self.index.alive() == sorted({tuple(sorted(names)) for names in in_use})


TestSessionHistories = SessionHistories.TestCase
TestSessionHistories.settings = settings(stateful_step_count=30)


@given(
    st.lists(st.tuples(st.integers(0, 9), SETS), min_size=1, max_size=30),
    SETS,
    st.sampled_from(["", *NAMES]),
)
def test_other_sessions_do_not_change_results(
    others: list[tuple[int, tuple[str, ...]]], names: tuple[str, ...], query: str
) -> None:
    alone = SessionToolIndex(Index())
    among_others = SessionToolIndex(Index())
    request = ToolSearchRequest(session_id="me", query=query)
    half = len(others) // 2
    alone.index("me", tools(names))
    for key, other in others[:half]:
        among_others.index(key, tools(other))
    among_others.index("me", tools(names))
    for key, other in others[half:]:
        among_others.index(key, tools(other))
    assert among_others.search(request) == alone.search(request)
