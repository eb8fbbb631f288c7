"""The typed advisor of `docs/how-to/advisors.md`, checked by mypy. `tests/test_docs.py` compares the two."""

from toolsearch import ChatClient, ChatRequest, ChatResponse
from toolsearch.loop import AdvisorFlow
from toolsearch.testing import ScriptedChatModel


class Signed:
    """Add a name below each answer."""

    order = 100

    def __init__(self, name: str) -> None:
        self.name = name

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        response: ChatResponse = yield request
        return response.with_text(f"{response.text}\n{self.name}")


client = ChatClient(ScriptedChatModel(["Hello."]), advisors=[Signed("Ann")])
assert client.call("Hi").text == "Hello.\nAnn"
