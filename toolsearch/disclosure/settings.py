"""Options of progressive disclosure, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypedDict

from ..errors import ConfigurationError

__all__ = ["DisclosureOptions", "DisclosureSettings"]


class DisclosureOptions(TypedDict, total=False):
    """The fields of `DisclosureSettings` as keyword arguments, e.g. of `ToolSearchAdvisor`.

    Example:
        >>> options: DisclosureOptions = {"max_results": 3}
        >>> DisclosureSettings(**options).max_results
        3
    """

    max_results: int
    max_results_limit: int
    keep_revealed: bool
    reveal_all_below: int | None
    reveal_upfront: int
    max_revealed: int | None
    max_searches: int | None
    run_unrevealed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureSettings:
    """Options of progressive disclosure. Advisor, environment variables and gateway take theirs from here.

    Args:
        max_results: Tools that a search returns, unless the model asks for another number.
        max_results_limit: The largest number that the model may ask for. A larger one is clamped.
        keep_revealed: Whether a session keeps all tools it found. False keeps those of the latest round with a search.
        reveal_all_below: Send all tools, without search, if their definitions have fewer tokens than this when the
            session begins.
        reveal_upfront: Number of tools to reveal before the first round: those that match the user's words best.
            Weak matches are not revealed.
        max_revealed: Largest number of revealed tools. The least recently used are hidden first, but never a tool
            that this turn revealed. None sets no limit.
        max_searches: Largest number of searches in a turn. None sets no limit.
        run_unrevealed: Whether a call of a tool that is not revealed yet runs at once. By default the tool is
            revealed, and the model is asked to call it again.

    Raises:
        ConfigurationError: If a value is out of range.

    Example:
        >>> DisclosureSettings(max_results=3).max_results_limit
        10
    """

    max_results: int = 5
    max_results_limit: int = 10
    keep_revealed: bool = True
    reveal_all_below: int | None = None
    reveal_upfront: int = 0
    max_revealed: int | None = None
    max_searches: int | None = 10
    run_unrevealed: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value, optional = getattr(self, field.name), "None" in str(field.type)
            if field.type == "bool":
                if not isinstance(value, bool):  # "false" would count as true
                    raise ConfigurationError(f"{field.name} must be True or False, got {value!r}")
                continue
            if isinstance(value, bool) or not isinstance(value, int | None) or (value is None and not optional):
                kind = "an integer or None" if optional else "an integer"
                raise ConfigurationError(f"{field.name} must be {kind}, got {value!r}")
            if optional and value is not None and value < 1:
                raise ConfigurationError(f"{field.name} must be at least 1, or None, got {value}")
        if not 1 <= self.max_results <= self.max_results_limit:
            raise ConfigurationError(
                f"max_results must be from 1 to max_results_limit ({self.max_results_limit}), got {self.max_results}"
            )
        if self.reveal_upfront < 0:
            raise ConfigurationError(f"reveal_upfront must be at least 0, got {self.reveal_upfront}")
