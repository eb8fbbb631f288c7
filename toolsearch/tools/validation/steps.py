"""Budget of steps, so that untrusted schemas and arguments cannot cause unbounded work."""

from __future__ import annotations

__all__ = ["OutOfStepsError", "Steps"]


class OutOfStepsError(Exception):
    """Work that needs more steps than its budget."""


class Steps:
    """Counter of the steps that some work may still take. A step takes about a microsecond.

    Args:
        most: The number of steps.

    Attributes:
        left: The steps that are left.

    Example:
        >>> steps = Steps(3)
        >>> steps.spend(2)
        >>> steps.left
        1
    """

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, count: int = 1) -> None:
        """Count steps before they are taken.

        Raises:
            OutOfStepsError: If the budget is used up.
        """
        self.left -= count
        if self.left < 0:
            raise OutOfStepsError
