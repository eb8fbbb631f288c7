"""`ChatMemoryRepositorySuite`: the contract of a memory's repository as tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ..memory.repository import ChatMemoryRepository, SessionKey
from ..messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

__all__ = ["ChatMemoryRepositorySuite"]

_KEY = SessionKey("ann")

_EVERY_KIND: tuple[Message, ...] = (
    SystemMessage("A summary."),
    UserMessage("Look at this", media=(Media("image/png", bytes(range(256))), Media("image/png", url="https://x/y"))),
    AssistantMessage("", (ToolCall("1", "search", '{"q":  "naïve 天気 🚀"}'), ToolCall("2", "search", "not JSON {"))),
    ToolMessage("1", "search", "a\x00b\r\n\u2028c", media=(Media("audio/wav", b"\xff\xfe"),)),
    ToolMessage("2", "search", "The arguments are no JSON.", is_error=True),
    AssistantMessage("lone \ud800 and two in a row \ud83d\ude00 but 😀"),
    UserMessage(""),
    AssistantMessage(),
)


class ChatMemoryRepositorySuite:
    """Tests that any `ChatMemoryRepository` passes. Subclass it with a name that starts with ``Test``.

    Example:
        >>> from toolsearch import InMemoryRepository
        >>> class TestMyRepository(ChatMemoryRepositorySuite):
        ...     def make_repository(self):
        ...         return InMemoryRepository()
        >>> TestMyRepository().test_what_was_appended_is_loaded_in_order()
    """

    def make_repository(self) -> ChatMemoryRepository:
        """Return a new, empty repository."""
        raise NotImplementedError("override make_repository to return the repository under test")

    def test_it_has_the_methods_of_the_protocol(self) -> None:
        """It can be passed where a `ChatMemoryRepository` is expected."""
        assert isinstance(self.make_repository(), ChatMemoryRepository)

    def test_an_unknown_session_is_an_empty_conversation(self) -> None:
        """Nothing is stored: nothing is loaded, and to forget it is no error."""
        repository = self.make_repository()
        assert tuple(repository.load(_KEY)) == ()
        repository.delete(_KEY)
        repository.append(_KEY, [])
        repository.replace(_KEY, [])
        assert tuple(repository.sessions()) == ()

    def test_what_was_appended_is_loaded_in_order(self) -> None:
        """Several appends make one conversation."""
        repository = self.make_repository()
        repository.append(_KEY, [UserMessage("1"), AssistantMessage("one")])
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(repository.load(_KEY)) == (UserMessage("1"), AssistantMessage("one"), UserMessage("2"))

    def test_every_kind_of_message_comes_back_equal(self) -> None:
        """Media to the byte, arguments as the model wrote them, any text a str can hold."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        assert tuple(repository.load(_KEY)) == _EVERY_KIND

    def test_equal_messages_are_all_kept(self) -> None:
        """A conversation is a sequence, not a set."""
        repository = self.make_repository()
        repository.append(_KEY, [UserMessage("yes"), UserMessage("yes")])
        repository.append(_KEY, [UserMessage("yes")])
        assert tuple(repository.load(_KEY)) == (UserMessage("yes"),) * 3

    def test_sessions_and_tenants_do_not_mix(self) -> None:
        """Keys that look alike are different conversations."""
        repository = self.make_repository()
        pairs = [("a", None), ("a", "b"), ("b", "a"), ("ab", None), ("", "ab"), ("a", ""), ("A", None), ("a ", None)]
        odd = [("\x00", None), ("a\x00", None), ("\ud800", "\udfff"), ("é", None), ("e\u0301", None), ("a:b", "a|b")]
        keys = [SessionKey(session, tenant_id) for session, tenant_id in (*pairs, *odd)]
        for number, key in enumerate(keys):
            repository.append(key, [UserMessage(str(number))])
        for number, key in enumerate(keys):
            assert tuple(repository.load(key)) == (UserMessage(str(number)),), f"{key} mixes with another key"
        assert set(repository.sessions()) == set(keys)
        repository.delete(keys[0])
        assert set(repository.sessions()) == set(keys[1:])

    def test_sessions_are_listed_by_tenant_and_session(self) -> None:
        """The order is that of the keys, those without a tenant first, whatever the order of use."""
        repository = self.make_repository()
        keys = [SessionKey("a"), SessionKey("b"), SessionKey("a", "t"), SessionKey("b", "t"), SessionKey("a", "u")]
        for key in reversed(keys):
            repository.append(key, [UserMessage("Hi")])
        assert list(repository.sessions()) == keys

    def test_replace_puts_other_messages_in_the_place_of_all(self) -> None:
        """A compaction; what follows is appended to it."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        repository.replace(_KEY, [SystemMessage("In short")])
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(repository.load(_KEY)) == (SystemMessage("In short"), UserMessage("2"))

    def test_replace_leaves_what_came_after_those_it_replaces(self) -> None:
        """What was stored while the summary was written stays, after it."""
        repository = self.make_repository()
        for text in "1234":
            repository.append(_KEY, [UserMessage(text)])
        repository.replace(_KEY, [SystemMessage("1 to 3")], upto=3)
        repository.append(_KEY, [UserMessage("5")])
        assert [message.text for message in repository.load(_KEY) if not isinstance(message, ToolMessage)] == [
            "1 to 3",
            "4",
            "5",
        ]
        repository.replace(_KEY, [], upto=99)
        assert tuple(repository.load(_KEY)) == ()
        assert tuple(repository.sessions()) == ()

    def test_a_deleted_conversation_begins_anew(self) -> None:
        """Nothing of it comes back."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        repository.delete(_KEY)
        assert tuple(repository.load(_KEY)) == ()
        repository.append(_KEY, [UserMessage("Hi")])
        assert tuple(repository.load(_KEY)) == (UserMessage("Hi"),)

    def test_what_was_loaded_does_not_change(self) -> None:
        """It is a copy, and so is what was handed over."""
        repository = self.make_repository()
        given: list[Message] = [UserMessage("1")]
        repository.append(_KEY, given)
        loaded = repository.load(_KEY)
        given.append(UserMessage("never given"))
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(loaded) == (UserMessage("1"),)
        assert tuple(repository.load(_KEY)) == (UserMessage("1"), UserMessage("2"))

    def test_parallel_appends_are_not_interleaved(self) -> None:
        """Each turn of many threads is there, whole, and each thread's turns are in its order."""
        repository = self.make_repository()
        threads, turns = 8, 12
        start = Barrier(threads)

        def write(thread: int) -> None:
            start.wait()
            for turn in range(turns):
                name = f"{thread}.{turn}"
                repository.append(_KEY, [UserMessage(name), AssistantMessage(name), UserMessage(name)])
                repository.append(SessionKey(str(thread)), [UserMessage(name)])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(write, range(threads)))
        texts = [getattr(message, "text", "") for message in repository.load(_KEY)]
        assert len(texts) == threads * turns * 3
        assert all(len(set(texts[at : at + 3])) == 1 for at in range(0, len(texts), 3)), f"interleaved: {texts}"
        for thread in range(threads):
            expected = [f"{thread}.{turn}" for turn in range(turns)]
            assert [text for text in texts[::3] if text.startswith(f"{thread}.")] == expected
            assert [getattr(message, "text", "") for message in repository.load(SessionKey(str(thread)))] == expected

    def test_parallel_reads_see_whole_appends(self) -> None:
        """A reader sees all of an append or nothing of it."""
        repository = self.make_repository()
        start = Barrier(2)

        def write() -> None:
            start.wait()
            for turn in range(40):
                repository.append(_KEY, [UserMessage(str(turn)), AssistantMessage(str(turn))])

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            start.wait()
            while not writing.done():
                assert len(repository.load(_KEY)) % 2 == 0
            writing.result()
        assert len(repository.load(_KEY)) == 80
