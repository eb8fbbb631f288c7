"""StreamAssembler joins tool calls from any split into pieces."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.chat.responses import ChatResponse
from toolsearch.messages import ToolCall
from toolsearch.models.openai.stream import StreamAssembler

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
arguments = st.dictionaries(texts, texts | st.integers() | st.just({}), max_size=3)
names = st.from_regex(r"[a-z_]{1,10}", fullmatch=True)
calls = st.lists(st.tuples(names, arguments), min_size=1, max_size=4).map(
    lambda pairs: [ToolCall.from_dict(f"id{number}", name, given) for number, (name, given) in enumerate(pairs)]
)


def pieces_of(call: ToolCall, cuts: list[int], **fields: Any) -> list[SimpleNamespace]:
    """Return the fragments of a call: id and name in the first, arguments cut at `cuts`."""
    marks = [0, *sorted(cut % (len(call.arguments) + 1) for cut in cuts), len(call.arguments)]
    parts = [call.arguments[start:end] for start, end in pairwise(marks)]
    functions = [SimpleNamespace(name=None, arguments=text) for text in parts]
    functions[0].name = call.name
    return [
        SimpleNamespace(id=None if at else call.id, function=function, **fields)
        for at, function in enumerate(functions)
    ]


def assemble(fragments: list[SimpleNamespace]) -> ChatResponse:
    assembler = StreamAssembler(())
    for fragment in fragments:
        delta = SimpleNamespace(content=None, tool_calls=[fragment])
        assembler.add(SimpleNamespace(choices=[SimpleNamespace(index=0, delta=delta, finish_reason=None)]))
    assembler.add(SimpleNamespace(choices=[SimpleNamespace(index=0, delta=None, finish_reason="tool_calls")]))
    return assembler.finish()


@given(calls, st.lists(st.integers(0, 99), max_size=4), st.randoms(use_true_random=False))
def test_pieces_with_an_index_may_be_interleaved(calls, cuts, random):
    queues = [pieces_of(call, cuts, index=number) for number, call in enumerate(calls)]
    fragments = [queue.pop(0) for queue in queues]
    while waiting := [queue for queue in queues if queue]:
        fragments.append(random.choice(waiting).pop(0))
    assert assemble(fragments).tool_calls == tuple(calls)


@given(calls, st.lists(st.integers(0, 99), max_size=4))
def test_pieces_without_an_index_come_call_by_call(calls, cuts):
    fragments = [piece for call in calls for piece in pieces_of(call, cuts)]
    assert assemble(fragments).tool_calls == tuple(calls)
