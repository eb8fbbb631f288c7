"""The conformance suite of chat models, for the models of this library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from toolsearch.chat.model import ChatModel
from toolsearch.messages import AssistantMessage
from toolsearch.models import OpenAIChatModel
from toolsearch.testing import ChatModelSuite, OpenAIWireServer, ScriptedChatModel


def test_importing_the_suite_does_not_import_pytest() -> None:
    code = "import sys; from toolsearch.testing import ChatModelSuite; assert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestScriptedChatModel(ChatModelSuite):
    def make_model(self, answers: Sequence[AssistantMessage]) -> ChatModel:
        return ScriptedChatModel(answers)


class TestOpenAIChatModel(ChatModelSuite):
    @pytest.fixture(autouse=True)
    def _stack(self) -> Iterator[None]:
        pytest.importorskip("openai")
        with ExitStack() as self.stack:
            yield

    def make_model(self, answers: Sequence[AssistantMessage]) -> ChatModel:
        server = self.stack.enter_context(OpenAIWireServer(answers))
        model = OpenAIChatModel("gpt-test", base_url=server.base_url, api_key="secret", max_retries=0)
        return self.stack.enter_context(model)
