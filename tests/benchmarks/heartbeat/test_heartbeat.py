"""The heartbeat benchmark runs turns and reports pauses. Times are published, not tested."""

import anyio
import pytest

from toolsearch.benchmarks.heartbeat import Pause, longest_pause
from toolsearch.benchmarks.heartbeat.case import Case
from toolsearch.benchmarks.heartbeat.command import pause_json
from toolsearch.benchmarks.heartbeat.hostile import hostile_cases
from toolsearch.benchmarks.reports.readme import rewrite_page

QUICK = ("references with 2^40 ways", "slow pattern, 400 kB", "answer with 10,000 open code fences")
REPORT = {
    "commit": "abc",
    "date": "2026-01-01",
    "machine": {"python": "3.11", "processor": "CPU", "cpus": 2},
    "pauses": [pause_json(Pause("hostile", "a case", backend, 0.0123, 1.5)) for backend in ("asyncio", "trio")],
}


@pytest.mark.parametrize("case", [case for case in hostile_cases() if case.name in QUICK], ids=lambda case: case.name)
def test_a_hostile_turn_ends(case: Case) -> None:
    pause, taken = longest_pause(case.prepare(), "asyncio")
    assert 0 < pause <= taken + 1


def test_a_pause_is_measured_on_every_event_loop() -> None:
    for backend in ("asyncio", "trio"):
        pause, taken = longest_pause(lambda: anyio.sleep(0.01), backend)
        assert pause > 0
        assert taken > 0.005


def test_the_table_has_a_column_for_each_event_loop() -> None:
    page = rewrite_page("<!-- heartbeat -->\n<!-- /heartbeat -->\n", REPORT)
    assert "| a case | 12.3 | 12.3 |" in page
    assert "| longest pause, ms | asyncio | trio |" in page
