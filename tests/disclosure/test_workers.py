"""Several workers over one store of conversations: each sends what one process would send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolsearch import (
    ChatClient,
    ChatMemory,
    ChatRequest,
    InMemoryRepository,
    MemoryAdvisor,
    Message,
    ProviderError,
    Tool,
    ToolSearchAdvisor,
)
from toolsearch.disclosure import SEARCH_TOOL
from toolsearch.memory import SessionKey, TurnWindow
from toolsearch.memory.encoding import decode_message, encode_message
from toolsearch.testing import ScriptedChatModel

NAMES = ("send_mail", "read_mail", "get_weather", "play_music", "stop_music", "add_event", "open_file")

ROUND = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(lambda name: (name, {})),
        st.sampled_from(("mail", "music", *NAMES)).map(lambda query: (SEARCH_TOOL, {"query": query})),
    ),
    min_size=1,
    max_size=3,
)
TURN = st.tuples(
    st.integers(0, 2),  # the worker
    st.sampled_from(("hello", "play some music", "mail", "add an event to the calendar")),
    st.lists(ROUND, max_size=3),
    st.sampled_from(("answer", "answer", "answer", "fail")),
    st.sampled_from((None, None, "send_mail", "play_music")),  # a tool that this turn's catalog lacks
    st.sampled_from((None, None, "read_mail", "stop_music")),  # a tool that this turn's permissions exclude
    st.sampled_from((0, 0, 0, 2, 40)),  # tools that a server lists in this turn only
)
OPTIONS = st.sampled_from(
    (
        {},
        {"keep_revealed": False},
        {"max_revealed": 2},
        {"reveal_upfront": 2},
        {"max_revealed": 3, "reveal_upfront": 1},
        {"reveal_all_below": 300},
    )
)


class Store(InMemoryRepository):
    """A store outside the process: messages go through their stored form."""

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        super().append(key, [decode_message(encode_message(message)) for message in messages])


class Workers:
    """Workers with clients of their own over one repository. The script of a turn is set before it runs."""

    def __init__(self, count: int, options: dict[str, Any], order: int, window: TurnWindow | None) -> None:
        self.memory = ChatMemory(Store(), window)
        self.steps: list[Any] = []
        self.sent: list[list[str]] = []
        self.clients = [self.client(options, order) for _ in range(count)]

    def client(self, options: dict[str, Any], order: int) -> ChatClient:
        search = ToolSearchAdvisor("regex", tool_filter=lambda tool, ctx: tool.name != ctx.get("refused"), **options)
        return ChatClient(ScriptedChatModel(self.answer), advisors=[search, MemoryAdvisor(self.memory, order=order)])

    def answer(self, request: ChatRequest) -> Any:
        self.sent.append([f"{tool.name}: {tool.description}" for tool in request.tools])
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def run(
        self, worker: int, text: str, rounds: list[Any], end: str, missing: str | None, refused: str | None, more: int
    ) -> None:
        self.steps = [*rounds, "Done." if end == "answer" else ProviderError("down")]
        tools = [Tool(name, f"Can {name.replace('_', ' ')}.", fn=lambda: "ok") for name in NAMES if name != missing]
        tools += [Tool(f"more_{number}", "Can do more.", fn=lambda: "ok", source="server") for number in range(more)]
        try:
            self.clients[worker % len(self.clients)].call(
                text, tools=tools, session_id="s", context={"refused": refused}
            )
        except ProviderError:
            assert end == "fail"


@given(st.lists(TURN, min_size=1, max_size=8), OPTIONS, st.sampled_from((None, TurnWindow(1), TurnWindow(2))))
def test_random_workers_send_what_one_process_sends(
    turns: list[Any], options: dict[str, Any], window: TurnWindow | None
) -> None:
    """The same tools in the same order in every round, also after failed turns, removals and refusals."""
    one, several = Workers(1, options, 400, window), Workers(3, options, 400, window)
    for turn in turns:
        one.run(*turn)
        several.run(*turn)
        assert several.sent == one.sent
    restarted = Workers(1, options, 400, window)
    restarted.memory.append("s", several.memory.messages("s"))
    for workers in (one, restarted):
        workers.sent.clear()
        workers.run(0, "hello", [], "answer", None, None, 0)
    assert restarted.sent == one.sent
