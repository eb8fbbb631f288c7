"""Traces of tool search in a conversation: the tools that it revealed, and the tokens that searching cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from itertools import groupby, takewhile

from ..chat.tokens import TokenCounter
from ..messages import AssistantMessage, Message, ToolMessage, UserMessage
from ..tools.names import RESERVED_NAMES
from .reveals import Reveals
from .sentences import SEARCH_TOOL
from .sessions.record import SessionRecord
from .sessions.tool_set import ToolSet
from .settings import DisclosureSettings

__all__ = ["MessageTokens", "count_searches", "names_listed_in", "replay_reveals"]

MAX_COUNTED_CHARACTERS = 20_000
"""Maximum length of a text that is counted whole. Counting happens on the event loop."""

_RESULT_LIST = re.compile(r"(?:Found|Already)\b[^\n]*:\n((?:- [^\n]*(?:\n|$))+)")
_LISTED_NAME = re.compile(r"^- ([a-zA-Z0-9_-]{1,64})(?:$|: )", re.MULTILINE)


def replay_reveals(
    messages: Sequence[Message],
    settings: DisclosureSettings,
    tools: ToolSet,
    pinned: Collection[str] = (),
    allows: Callable[[str], bool] = lambda _name: True,
) -> SessionRecord:
    """Return the record that a session has after a conversation, in whatever processes its turns ran.

    `ToolMessage.revealed` says what a result revealed, and `AssistantMessage.revealed` which tools the session had
    then. A tool that was called and ran counts as revealed too. Within one batch of calls, tools that were called
    directly come first, as they do when it happens.

    `ToolMessage.tools` says which tools the names meant. A name without such an entry, in a conversation of an older
    version, counts for the tool that has exactly this name now.

    Args:
        messages: The conversation.
        settings: The options of disclosure.
        tools: The tools that exist now.
        pinned: The identities of the pinned tools, which are never in the record.
        allows: Decides by name which tools count for `max_revealed`.
    """

    @cache  # the filter of an application can be slow, and each event asks for all revealed tools
    def may_have(identity: str) -> bool:
        tool = tools.find(identity)
        return tool is not None and allows(tool.name)

    record = SessionRecord()
    reveals = Reveals(record, settings, pinned, may_have)
    in_turn = False
    for kind, group in groupby(messages, key=type):
        if kind is UserMessage and in_turn:
            reveals = Reveals(record, settings, pinned, may_have)
        in_turn = kind is not UserMessage
        if kind is AssistantMessage:
            for message in group:
                if isinstance(message, AssistantMessage) and message.revealed is not None:
                    record.set_revealed(one for one in message.revealed if one not in pinned)
        elif kind is ToolMessage:
            _replay_batch([message for message in group if isinstance(message, ToolMessage)], record, reveals, tools)
    return record


def _replay_batch(batch: Sequence[ToolMessage], record: SessionRecord, reveals: Reveals, tools: ToolSet) -> None:
    reveals.begin_round()
    for message in batch:
        if message.name in RESERVED_NAMES:
            continue
        called = _identities(message, (message.name,), tools)
        for identity in called:
            record.touch_tool(identity)
        if message.revealed is not None:
            reveals.add(_identities(message, message.revealed, tools))
        elif called and not message.is_error and not record.is_revealed(called[0]):
            reveals.add(called)
    for message in batch:
        names = _found_by(message) if message.name == SEARCH_TOOL else None
        if names is not None:
            reveals.add(_identities(message, names, tools))


def _identities(message: ToolMessage, names: Iterable[str], tools: ToolSet) -> list[str]:
    """Return the identities of the tools that names meant in a message. Names that mean no tool are left out."""
    meant = {version.name: version.identity for version in message.tools}
    present = {name: tool.identity for name in names if (tool := tools.get(name)) is not None}
    return [identity for name in names if (identity := meant.get(name, present.get(name))) is not None]


def _found_by(message: ToolMessage) -> tuple[str, ...] | None:
    """Return the tools that a search revealed, or None if it did not run."""
    if message.revealed is not None or message.is_error:
        return message.revealed
    return names_listed_in(message.text) or None


def count_searches(conversation: Sequence[Message]) -> int:
    """Return the number of searches that ran since the last message of the user."""
    turn = takewhile(lambda message: not isinstance(message, UserMessage), reversed(conversation))
    return sum(isinstance(message, ToolMessage) and message.name == SEARCH_TOOL and message.ran for message in turn)


def names_listed_in(text: str) -> tuple[str, ...]:
    """Return the tool names that the result of a search lists, if it comes from a version without markers.

    Its first line is the sentence above the list. No other result begins like this, whatever the model searched for:
    a result without hits begins with a sentence of the index, which quotes the query.
    """
    names: list[str] = []
    listed = _RESULT_LIST.match(text)
    while listed is not None:
        names += _LISTED_NAME.findall(listed[1])
        listed = _RESULT_LIST.match(text, listed.end())
    return tuple(dict.fromkeys(names))


class MessageTokens:
    """Token counts of a conversation that grows. Each message is counted once, and a very long text by a sample."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._counted: dict[int, tuple[Message, int, int]] = {}

    def count(self, messages: Iterable[Message]) -> tuple[int, int]:
        """Return the tokens of the messages, and of the part that only tool search put there."""
        total = overhead = 0
        for message in messages:
            entry = self._counted.get(id(message))
            if entry is None:
                # The entry holds the message, so that its id cannot become that of another one.
                entry = self._counted[id(message)] = (message, *self._measure(message))
            total += entry[1]
            overhead += entry[2]
        return total, overhead

    def _measure(self, message: Message) -> tuple[int, int]:
        if isinstance(message, ToolMessage):
            tokens = self._tokens(message.text)
            from_search = message.name == SEARCH_TOOL or message.revealed is not None
            return tokens, tokens if from_search else 0
        tokens, overhead = self._tokens(message.text), 0
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                size = self._tokens(f"{call.name}{call.arguments}")
                tokens += size
                overhead += size if call.name == SEARCH_TOOL else 0
        return tokens, overhead

    def _tokens(self, text: str) -> int:
        if len(text) <= MAX_COUNTED_CHARACTERS:
            return self._counter.count(text)
        half = MAX_COUNTED_CHARACTERS // 2
        sample = self._counter.count(text[:half]) + self._counter.count(text[-half:])
        return sample * len(text) // MAX_COUNTED_CHARACTERS
