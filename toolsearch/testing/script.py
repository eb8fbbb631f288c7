"""Steps of a script, taken one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any

from ..errors import ToolSearchError
from ..shared import new_lock

__all__ = ["Script", "ScriptExhaustedError"]


class ScriptExhaustedError(ToolSearchError, AssertionError):
    """A request to a `ScriptedChatModel` after the last step of its script.

    Example:
        >>> from toolsearch import ChatRequest
        >>> from toolsearch.testing import ScriptedChatModel
        >>> ScriptedChatModel([]).call(ChatRequest(messages=()))
        Traceback (most recent call last):
        toolsearch.testing.script.ScriptExhaustedError: the script has 0 steps, but request 1 was received
    """


class Script:
    """The steps of a script. An iterator is read step by step, so it may be endless.

    Args:
        steps: The steps, or one callable that is every step.
    """

    def __init__(self, steps: Iterable[Any] | Callable[..., Any]) -> None:
        self._endless = steps if callable(steps) else None
        listed: Iterable[Any] = () if callable(steps) else tuple(steps) if isinstance(steps, Sized) else steps
        self._size: int | None = len(listed) if isinstance(listed, tuple) else None
        self._steps = iter(listed)
        self._taken = 0
        self._lock = new_lock()

    @property
    def remaining(self) -> int:
        """The number of unused steps. An iterator counts as one step until its end."""
        return 1 if self._size is None else max(0, self._size - self._taken)

    def take(self) -> Any:
        """Return the next step.

        Raises:
            ScriptExhaustedError: If there is none.
        """
        if self._endless is not None:
            return self._endless
        with self._lock:
            self._taken += 1
            for step in self._steps:
                return step
            if self._size is None:
                self._size = self._taken - 1
            steps = f"{self._size} step{'' if self._size == 1 else 's'}"
            raise ScriptExhaustedError(f"the script has {steps}, but request {self._taken} was received")
