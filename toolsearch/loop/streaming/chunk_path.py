"""The path of streamed text: through every advisor, and equal to the text of the response at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ...chat.events import ChatChunk, TextReplaced
from ...errors import ConfigurationError
from ..advisor import Advisor, ChunkTransformer, ChunkTransformerFactory

__all__ = ["ChunkPath", "ShownText"]

ShownText: TypeAlias = ChatChunk | TextReplaced
"""An event that shows text to the caller of a stream."""


class ChunkPath:
    """Path of streamed text from the model to the caller, through every advisor from the innermost outwards.

    Each advisor can change a chunk (`ChunkTransformer`). If an advisor yielded a buffered request, its chunks are held
    back until it returns a response.

    When an advisor returns a response, its text is compared with the text that was streamed past this advisor since
    tools ran last. What the response has in addition is streamed. If it is not an extension, a `TextReplaced` event
    says what the text is now. So the text of a stream is always the text of the response.

    The methods take the depth of an advisor, i.e. the number of advisors outside it. The model has the largest depth.

    Args:
        advisors: The advisors of the chain, outermost first.
    """

    def __init__(self, advisors: Sequence[Advisor]) -> None:
        self._advisors = advisors
        self._transformers: list[ChunkTransformer | None] = [None] * len(advisors)
        self._has_unflushed: list[bool] = [False] * len(advisors)
        self._held: list[list[ChatChunk] | None] = [None] * len(advisors)
        self._passed: list[list[str]] = [[] for _ in range(len(advisors) + 1)]

    def begin_request(self, depth: int, *, buffered: bool) -> None:
        """Note that the advisor at `depth` runs the rest of the chain. It gets a new transformer.

        Args:
            depth: The depth of the advisor.
            buffered: Whether its chunks are held back until it returns a response.
        """
        self._held[depth] = [] if buffered else None
        self._renew(depth)
        for passed in self._passed[depth + 1 :]:  # further inside, each request has an answer of its own
            passed.clear()

    def begin_answer(self) -> None:
        """Note that the model is about to answer. What transformers keep of an answer that failed is dropped."""
        for at, unflushed in enumerate(self._has_unflushed):
            if unflushed:
                self._renew(at)

    def push(self, chunk: ChatChunk, depth: int) -> Iterator[ChatChunk]:
        """Pass a chunk outwards from `depth`. Yield it if it reaches the caller now."""
        passed: ChatChunk | None = chunk
        self._passed[depth].append(chunk.text)
        for at in range(depth - 1, -1, -1):
            transformer = self._transformers[at]
            if transformer is not None and passed is not None:
                self._has_unflushed[at] = True
                passed = self._validated(transformer.on_chunk(passed), at)
            if passed is None:
                return
            held = self._held[at]
            if held is not None:
                held.append(passed)
                return
            self._passed[at].append(passed.text)
        if passed is not None and passed.text:
            yield passed

    def end_request(self, depth: int) -> tuple[ChatChunk, ...]:
        """Note that the advisor at `depth` received a response. Return the chunks that its transformer kept back."""
        flush = getattr(self._transformers[depth], "flush", None)
        if not self._has_unflushed[depth] or flush is None:
            self._has_unflushed[depth] = False
            return ()
        self._has_unflushed[depth] = False
        tail = self._validated(flush(), depth)
        if tail is None:
            return ()
        held = self._held[depth]
        if held is not None:
            held.append(tail)
            return ()
        return tuple(self.push(tail, depth))

    def begin_tools(self) -> tuple[ChatChunk, ...]:
        """Note that tools are about to run, which ends an answer. Return the chunks that transformers kept back."""
        shown = [chunk for at in range(len(self._advisors) - 1, -1, -1) for chunk in self.end_request(at)]
        for passed in self._passed:
            passed.clear()
        return tuple(shown)

    def end_answer(self, depth: int, text: str) -> tuple[ShownText, ...]:
        """Note the whole text of an answer at `depth`. Return what the caller sees now."""
        passed = "".join(self._passed[depth])
        held: Sequence[ChatChunk] = ()
        if depth < len(self._advisors):
            held, self._held[depth] = self._held[depth] or (), None
        if text == passed:
            return ()
        if text.startswith(passed):
            chunks = _split(held, text[len(passed) :])
            return tuple(shown for chunk in chunks for shown in self.push(chunk, depth))
        return self._replace(depth, text)

    def _replace(self, depth: int, text: str) -> tuple[ShownText, ...]:
        """Show `text` in place of everything that was shown since tools ran last."""
        for at in range(depth):
            self._renew(at)
            self._passed[at].clear()
        self._passed[depth].clear()
        is_held = any(held is not None for held in self._held[:depth])
        shown = "".join(chunk.text for chunk in self.push(ChatChunk(text), depth))
        return () if is_held else (TextReplaced(shown),)

    def _renew(self, at: int) -> None:
        advisor: Any = self._advisors[at]
        self._has_unflushed[at] = False
        if isinstance(advisor, ChunkTransformerFactory):
            self._transformers[at] = advisor.chunk_transformer()
        elif hasattr(advisor, "on_chunk"):
            self._transformers[at] = advisor

    def _validated(self, chunk: object, at: int) -> ChatChunk | None:
        if chunk is None or isinstance(chunk, ChatChunk):
            return chunk
        name = type(self._advisors[at]).__name__
        raise ConfigurationError(
            f"{name}: on_chunk and flush must return a ChatChunk or None, got {type(chunk).__name__}"
        )


def _split(held: Sequence[ChatChunk], text: str) -> tuple[ChatChunk, ...]:
    """Return `text` in the chunks in which it arrived, or as one chunk if they do not end with it.

    Chunks before it, such as rejected answers and the text of earlier rounds, are left out.
    """
    surplus = sum(len(chunk.text) for chunk in held) - len(text)
    if surplus < 0 or not "".join(chunk.text for chunk in held).endswith(text):
        return (ChatChunk(text),)
    chunks = []
    for chunk in held:
        cut = min(surplus, len(chunk.text))
        surplus -= cut
        if cut < len(chunk.text):
            chunks.append(replace(chunk, text=chunk.text[cut:]) if cut else chunk)
    return tuple(chunks)
