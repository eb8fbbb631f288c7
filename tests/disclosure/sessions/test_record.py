"""`SessionRecord`: revealed tools in order, also with threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.disclosure.sessions.record import SessionRecord

NAMES = st.sampled_from("abcdef")


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("reveal"), st.lists(NAMES, max_size=5)),
            st.tuples(st.just("use"), st.lists(NAMES, min_size=1, max_size=1)),
            st.tuples(st.just("hide"), st.lists(NAMES, max_size=2)),
        ),
        max_size=30,
    )
)
def test_record_behaves_like_two_lists(steps: list[tuple[str, list[str]]]) -> None:
    """One list is in order of revelation, the other in order of use."""
    record = SessionRecord()
    found: list[str] = []
    by_use: list[str] = []
    for action, names in steps:
        if action == "reveal":
            new = [name for name in dict.fromkeys(names) if name not in found]
            assert record.reveal(iter(names)) == tuple(new)
            found += new
        elif action == "use":
            record.touch_tool(names[0])
            names = [name for name in names if name in found]
        else:
            record.hide(iter(names))
            found = [name for name in found if name not in names]
            by_use = [name for name in by_use if name not in names]
            names = []
        for name in names:
            by_use = [other for other in by_use if other != name] + [name]
        assert record.revealed == tuple(found)
        assert record.least_recently_used == tuple(by_use)


def test_parallel_reveals_return_each_name_once() -> None:
    record = SessionRecord()
    workers, each = 8, 50
    start = Barrier(workers)

    def find(worker: int) -> list[str]:
        start.wait()
        return [name for n in range(each) for name in record.reveal([f"shared_{n}", f"own_{worker}_{n}"])]

    with ThreadPoolExecutor(workers) as pool:
        claimed = [name for names in pool.map(find, range(workers)) for name in names]
    expected = {f"shared_{n}" for n in range(each)} | {f"own_{w}_{n}" for w in range(workers) for n in range(each)}
    assert len(claimed) == len(set(claimed))
    assert set(claimed) == set(record.revealed) == expected


def test_first_frozen_value_is_kept() -> None:
    record = SessionRecord()
    assert record.frozen is None
    workers = 8
    start = Barrier(workers)

    def freeze(worker: int) -> object:
        start.wait()
        return record.freeze(f"description {worker}")

    with ThreadPoolExecutor(workers) as pool:
        kept = set(pool.map(freeze, range(workers)))
    assert kept == {record.frozen}
    assert record.freeze("later") == record.frozen != "later"
