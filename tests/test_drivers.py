"""The drivers: four ways to run a turn that behave alike."""

from __future__ import annotations

from toolsearch import ChatClient
from toolsearch.testing import ScriptedChatModel


def test_a_turn_answers_in_every_driver(ask):
    outcome = ask(ChatClient(ScriptedChatModel(["Hello there"])), "Hi")
    assert outcome.response.text == outcome.text_shown == "Hello there"
