"""`ChatMemoryRepositorySuite`: conformance tests for repositories of conversations."""

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
    ToolMessage("2", "search", "The arguments are not JSON.", is_error=True),
    AssistantMessage("lone \ud800 and two in a row \ud83d\ude00 but 😀"),
    UserMessage(""),
    AssistantMessage(),
)


class ChatMemoryRepositorySuite:
    """Conformance tests for a `ChatMemoryRepository`.

    Subclass it under a name that starts with ``Test`` and override `make_repository`. pytest collects the subclass.

    Example:
        >>> from toolsearch import InMemoryRepository
        >>> class TestMyRepository(ChatMemoryRepositorySuite):
        ...     def make_repository(self):
        ...         return InMemoryRepository()
        >>> TestMyRepository().test_loads_appended_messages_in_order()
    """

    def make_repository(self) -> ChatMemoryRepository:
        """Return a new, empty repository; subclasses override this."""
        raise NotImplementedError("override make_repository to return the repository under test")

    def test_implements_the_protocol(self) -> None:
        """The repository is a `ChatMemoryRepository`."""
        assert isinstance(self.make_repository(), ChatMemoryRepository)

    def test_unknown_session_is_an_empty_conversation(self) -> None:
        """Loading an unknown session returns nothing, and deleting it is not an error."""
        repository = self.make_repository()
        assert tuple(repository.load(_KEY)) == ()
        repository.delete(_KEY)
        repository.append(_KEY, [])
        repository.replace(_KEY, [])
        assert tuple(repository.sessions()) == ()

    def test_loads_appended_messages_in_order(self) -> None:
        """Several appends form one conversation."""
        repository = self.make_repository()
        repository.append(_KEY, [UserMessage("1"), AssistantMessage("one")])
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(repository.load(_KEY)) == (UserMessage("1"), AssistantMessage("one"), UserMessage("2"))

    def test_loads_every_kind_of_message_unchanged(self) -> None:
        """Messages of every kind are equal after loading: media, raw arguments, and any string."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        assert tuple(repository.load(_KEY)) == _EVERY_KIND

    def test_keeps_equal_messages(self) -> None:
        """Equal messages of a conversation are all kept."""
        repository = self.make_repository()
        repository.append(_KEY, [UserMessage("yes"), UserMessage("yes")])
        repository.append(_KEY, [UserMessage("yes")])
        assert tuple(repository.load(_KEY)) == (UserMessage("yes"),) * 3

    def test_sessions_and_tenants_are_isolated(self) -> None:
        """Similar keys are different conversations."""
        repository = self.make_repository()
        pairs = [("a", None), ("a", "b"), ("b", "a"), ("ab", None), ("", "ab"), ("a", ""), ("A", None), ("a ", None)]
        odd = [("\x00", None), ("a\x00", None), ("\ud800", "\udfff"), ("é", None), ("e\u0301", None), ("a:b", "a|b")]
        keys = [SessionKey(session, tenant_id) for session, tenant_id in (*pairs, *odd)]
        for number, key in enumerate(keys):
            repository.append(key, [UserMessage(str(number))])
        for number, key in enumerate(keys):
            assert tuple(repository.load(key)) == (UserMessage(str(number)),), f"{key} is mixed up with another key"
        assert set(repository.sessions()) == set(keys)
        repository.delete(keys[0])
        assert set(repository.sessions()) == set(keys[1:])

    def test_lists_sessions_by_tenant_and_session(self) -> None:
        """Sessions are sorted by tenant and session, those without a tenant first."""
        repository = self.make_repository()
        keys = [SessionKey("a"), SessionKey("b"), SessionKey("a", "t"), SessionKey("b", "t"), SessionKey("a", "u")]
        for key in reversed(keys):
            repository.append(key, [UserMessage("Hi")])
        assert list(repository.sessions()) == keys

    def test_replace_replaces_all_messages(self) -> None:
        """A replacement replaces all messages, and later appends follow it."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        repository.replace(_KEY, [SystemMessage("In short")])
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(repository.load(_KEY)) == (SystemMessage("In short"), UserMessage("2"))

    def test_replace_upto_keeps_later_messages(self) -> None:
        """A replacement of the first messages keeps the later ones, after the new ones."""
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

    def test_delete_removes_the_conversation(self) -> None:
        """A deleted conversation starts again without its old messages."""
        repository = self.make_repository()
        repository.append(_KEY, _EVERY_KIND)
        repository.delete(_KEY)
        assert tuple(repository.load(_KEY)) == ()
        repository.append(_KEY, [UserMessage("Hi")])
        assert tuple(repository.load(_KEY)) == (UserMessage("Hi"),)

    def test_loaded_messages_are_a_copy(self) -> None:
        """Loaded messages and the appended list are independent of the stored messages."""
        repository = self.make_repository()
        given: list[Message] = [UserMessage("1")]
        repository.append(_KEY, given)
        loaded = repository.load(_KEY)
        given.append(UserMessage("never given"))
        repository.append(_KEY, [UserMessage("2")])
        assert tuple(loaded) == (UserMessage("1"),)
        assert tuple(repository.load(_KEY)) == (UserMessage("1"), UserMessage("2"))

    def test_concurrent_appends_are_atomic(self) -> None:
        """Appends of several threads are stored whole, and each thread's appends stay in order."""
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

    def test_concurrent_loads_see_whole_appends(self) -> None:
        """A load returns all messages of an append or none."""
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
