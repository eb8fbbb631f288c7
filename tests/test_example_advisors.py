"""The advisors of `docs/how-to/advisors.md`, run from the page in every driver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolsearch import ChatChunk, ChatClient, ToolMessage
from toolsearch.testing import ScriptedChatModel

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "advisors.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    """Return the names that the blocks of the page define."""
    namespace: dict[str, Any] = {"__name__": "docs.advisors"}
    for block in BLOCK.findall(PAGE.read_text("utf-8")):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), namespace)
    return SimpleNamespace(**namespace)


RAN: list[str] = []


def look_up(word: str) -> str:
    """Look a word up."""
    RAN.append(word)
    return f"{word} is a word"


def wipe(disk: str) -> str:
    """Wipe a disk."""
    RAN.append(disk)
    return f"{disk} is empty"


def test_every_class_of_the_page_is_tested(page: SimpleNamespace) -> None:
    defined = re.findall(r"^class (\w+)", PAGE.read_text("utf-8"), re.MULTILINE)
    own = Path(__file__).read_text("utf-8")
    assert [name for name in defined if f"page.{name}(" not in own and name != "Redactor"] == []


def test_a_typed_advisor_signs_each_answer(ask: Ask, page: SimpleNamespace) -> None:
    client = ChatClient(ScriptedChatModel(["Hello."]), advisors=[page.Signed("Ann")])
    assert ask(client, "Hi").response.text == "Hello.\nAnn"


def test_redaction_works_for_any_chunk_boundary(ask: Ask, page: SimpleNamespace) -> None:
    text = "Your key sk-abc123 and sk-9 remain."
    for cut in range(1, len(text)):
        answer = [ChatChunk(text[:cut]), ChatChunk(text[cut:])]
        outcome = ask(ChatClient(ScriptedChatModel([answer]), advisors=[page.Redact()]), "?")
        assert outcome.text_shown == outcome.response.text == "Your key *** and *** remain."
        assert not any("sk-" in chunk for chunk in outcome.chunks)


def test_audit_writes_a_line_for_each_round(ask: Ask, page: SimpleNamespace) -> None:
    lines: list[str] = []
    script = [[("look_up", {"word": "a"}), ("nothing", {})], "Done."]
    client = ChatClient(ScriptedChatModel(script), tools=[look_up], advisors=[page.Audit(lines.append)])
    ask(client, "Go", session_id="ann")
    first, second = map(json.loads, lines)
    assert [call["tool"] for call in first["calls"]] == ["look_up", "nothing"]
    assert json.loads(first["calls"][0]["arguments"]) == {"word": "a"}
    assert (first["session"], first["sent"], second["calls"]) == ("ann", 1, [])
    assert second["tokens"] > 0


def only_admins_wipe(call: Any, context: Any) -> bool:
    """Approve every tool except `wipe`, which needs an admin."""
    return call.name != "wipe" or context.get("admin", False)


def test_declined_calls_do_not_run(ask: Ask, page: SimpleNamespace) -> None:
    calls = [("look_up", {"word": "b"}), ("wipe", {"disk": "C"})]
    for gate, first in [
        (page.PlainApproval(only_admins_wipe), []),
        (page.Approval(only_admins_wipe, "regex"), [[("tool_search", {"query": "look wipe"})]]),
    ]:
        script = [*first, calls, "Done."]
        client = ChatClient(ScriptedChatModel([*script, *script]), tools=[look_up, wipe], advisors=[gate])
        RAN.clear()
        *_, word, disk = results(ask(client, "Go"))
        assert (word, disk) == ("b is a word", "Not run: the user declined. Continue without it.")
        assert RAN == ["b"]
        assert results(ask(client, "Go", context={"admin": True}))[-1] == "C is empty"


def results(outcome: Any) -> list[str]:
    """Return the texts of the tool results."""
    return [message.text for message in outcome.response.messages if isinstance(message, ToolMessage)]


def test_approval_is_not_asked_for_searches_and_invalid_calls(ask: Ask, page: SimpleNamespace) -> None:
    asked: list[str] = []

    def approve(call: Any, context: Any) -> bool:
        asked.append(call.name)
        return True

    script = [[("tool_search", {"query": "look"})], [("look_up", {"word": "a"}), ("wipe", {}), ("nowhere", {})], "ok"]
    client = ChatClient(ScriptedChatModel(script), tools=[look_up, wipe], advisors=[page.Approval(approve, "regex")])
    ask(client, "Go")
    assert asked == ["look_up"]


def test_approval_does_not_block_the_event_loop(ask: Ask, page: SimpleNamespace) -> None:
    """In the async drivers, a sync `approve` runs in another thread."""
    import threading

    threads: list[threading.Thread] = []

    def approve(call: Any, context: Any) -> bool:
        threads.append(threading.current_thread())
        return True

    client = ChatClient(
        ScriptedChatModel([[("look_up", {"word": "a"})], "ok"]),
        tools=[look_up],
        advisors=[page.PlainApproval(approve)],
    )
    ask(client, "Go")
    assert (threads[0] is threading.current_thread()) is not ask.is_async  # type: ignore[attr-defined]


def test_a_subclass_changes_late_requests(ask: Ask, page: SimpleNamespace) -> None:
    script = [*([("look_up", {"word": str(n)})] for n in range(6)), "Done."]
    model = ScriptedChatModel(script)
    client = ChatClient(model, tools=[look_up], advisors=[page.Reminding("regex", run_unrevealed=True)])
    ask(client, "Go")
    ends = [getattr(request.messages[-1], "text", "") for request in model.requests]
    assert ends[5:] == ["Finish now.", "Finish now."]
    assert "Finish now." not in ends[:5]
