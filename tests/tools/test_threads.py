"""Worker threads: limits, order, and the rule by which tenants and sources share them."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ConfigurationError, NoFreeThreadError
from toolsearch.tools import ToolThreads
from toolsearch.tools.threads import run_in_worker_thread, run_library_work
from toolsearch.tools.threads.slots import FairSlots, Slot


def ignore() -> None:
    """Do nothing."""


@pytest.mark.parametrize("options", [{"max_threads": 0}, {"per_tenant": 0}, {"per_source": True}, {"max_threads": 2.5}])
def test_numbers_are_positive_integers(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(options))} must be an integer of at least 1"):
        ToolThreads(**options)


@pytest.mark.parametrize(
    ("limits", "of_one_source", "of_one_tenant"),
    [
        ((256, None, None), 75, 112),
        ((9, None, None), 3, 4),
        ((9, 4, None), 2, 4),
        ((9, 4, 1), 1, 4),
        ((1, None, None), 1, 1),
    ],
)
def test_shares_of_one_source_and_one_tenant_alone(
    limits: tuple[int, int | None, int | None], of_one_source: int, of_one_tenant: int
) -> None:
    slots = FairSlots(*limits)
    assert sum(slots.request("a", "x", ignore).held for _ in range(300)) == of_one_source
    slots = FairSlots(*limits)
    assert sum(slots.request("a", number, ignore).held for number in range(300)) == of_one_tenant


def test_a_tenant_without_threads_gets_one_beside_busy_tenants() -> None:
    slots = FairSlots(256)
    for tenant in range(12):  # each takes all that it can get
        for source in range(256):
            slots.request(tenant, source, ignore)
    assert all(slots.request(f"new {number}", "x", ignore).held for number in range(20))


def test_tenants_take_turns_and_their_calls_stay_in_order() -> None:
    slots = FairSlots(1)
    order: list[str] = []
    held = slots.request("z", None, ignore)
    waiting: dict[str, Slot] = {}
    for name in ("a1", "a2", "a3", "b1", "c1", "b2"):
        waiting[name] = slots.request(name[0], None, lambda name=name: order.append(name))
    for _ in range(6):
        held.release()
        held = waiting[order[-1]]
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.sampled_from("ab"), st.sampled_from(["x", "y", None])),
        st.tuples(st.sampled_from(["release", "begin", "abandon"]), st.integers(0, 30), st.none()),
    ),
    max_size=60,
)


@given(ACTIONS, st.integers(1, 10), st.none() | st.integers(1, 4), st.none() | st.integers(1, 3))
def test_slots_match_a_naive_model(
    actions: list[tuple[str, Any, Any]], number: int, per_tenant: int | None, per_source: int | None
) -> None:
    """No slot is lost or given twice, and nobody waits who could run."""
    slots = FairSlots(number, per_tenant, per_source)
    asked: list[Slot] = []
    begun: set[Slot] = set()
    abandoned: set[Slot] = set()

    def admitted(tenant: object, source: object, held: list[Slot]) -> bool:
        of_tenant = sum(slot.tenant == tenant for slot in held)
        of_source = sum((slot.tenant, slot.source) == (tenant, source) for slot in held)
        if len(held) == number or not of_tenant:
            return len(held) < number
        left = number - len(held) - number // 8 - of_tenant
        if per_tenant is not None:
            left = min(number - len(held), per_tenant - of_tenant)
        return left > 0 and (source is None or of_source < (left if per_source is None else per_source))

    for action, value, source in actions:
        if action == "request":
            asked.append(slots.request(value, source, ignore))
        elif asked:
            slot = asked[value % len(asked)]
            if action == "release":
                slot.release() if slot.held else slot.abandon()
            elif action == "begin":
                assert slot.begin() == slot.held
                begun |= {slot} if slot.held else set()
            else:
                slot.abandon()
                abandoned |= {slot} if slot in begun else set()
        held = [slot for slot in asked if slot.held]
        waiting = [slot for slot in asked if not slot.settled]
        assert (slots.running, slots.waiting) == (len(held), len(waiting))
        assert len(held) <= number
        assert not any(admitted(slot.tenant, slot.source, held) for slot in waiting)
        live = [slot for slot in held if slot in abandoned]
        assert all(admitted(slot.tenant, slot.source, live) for slot in waiting)  # nobody waits in vain
    for slot in asked:
        slot.release() if slot.held else slot.abandon()
    assert (slots.running, slots.waiting) == (0, 0)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_call_is_refused_once_everything_before_it_was_abandoned(backend: str) -> None:
    begun, release = threading.Event(), threading.Event()
    threads = ToolThreads(1)
    errors: list[BaseException] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:

            async def wait_in_vain() -> None:
                try:
                    await run_in_worker_thread(lambda: None, threads=threads)
                except NoFreeThreadError as error:
                    errors.append(error)

            with anyio.CancelScope() as scope:

                async def give_up() -> None:
                    group.start_soon(wait_in_vain)
                    while not (threads.waiting and begun.is_set()):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                group.start_soon(give_up)
                await run_in_worker_thread(lambda: begun.set() or release.wait(), threads=threads)

    anyio.run(main, backend=backend)
    release.set()
    assert len(errors) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_library_work_does_not_wait_for_tools(backend: str) -> None:
    threads = ToolThreads(1)

    async def main() -> str:
        return await run_in_worker_thread(
            lambda: anyio.from_thread.run(run_library_work, lambda: "done"), threads=threads
        )

    assert anyio.run(main, backend=backend) == "done"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_host_can_be_called_from_a_thread(backend: str) -> None:
    """`anyio.from_thread` works in tools, although anyio did not start their threads."""

    async def main() -> tuple[int, int]:
        def tool() -> tuple[int, int]:
            return anyio.from_thread.run_sync(threading.get_ident), threading.get_ident()

        return await run_in_worker_thread(tool)

    on_loop, in_thread = anyio.run(main, backend=backend)
    assert on_loop == threading.get_ident() != in_thread


def test_threads_are_daemons_and_are_used_again() -> None:
    async def main() -> list[threading.Thread]:
        return [await run_in_worker_thread(threading.current_thread) for _ in range(3)]

    threads = anyio.run(main)
    assert all(thread.daemon for thread in threads)
    assert len(set(threads)) <= 2  # a thread may not be back yet when the next call starts
