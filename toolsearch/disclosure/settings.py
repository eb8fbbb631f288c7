"""How tools are disclosed, and what a session is shown for good."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigurationError

__all__ = ["DisclosureSettings", "FrozenOffer"]

_OPTIONAL = ("reveal_all_below", "max_revealed", "max_searches")


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureSettings:
    """How tools are disclosed; the arguments of `ToolSearchAdvisor` of the same names explain each.

    Raises:
        ConfigurationError: for a value out of range.

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
        for name in ("max_results", "max_results_limit", "reveal_upfront", *_OPTIONAL):
            value, optional = getattr(self, name), name in _OPTIONAL
            if isinstance(value, bool) or not isinstance(value, int | None) or (value is None and not optional):
                kind = "a whole number or None" if optional else "a whole number"
                raise ConfigurationError(f"{name} must be {kind}, not {value!r}")
        if not 1 <= self.max_results <= self.max_results_limit:
            raise ConfigurationError(
                f"max_results must be from 1 to max_results_limit ({self.max_results_limit}), not {self.max_results}"
            )
        if self.reveal_upfront < 0:
            raise ConfigurationError(f"reveal_upfront must be 0 or more, not {self.reveal_upfront}")
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} must be 1 or more, or None, not {value}")


@dataclass(frozen=True, slots=True)
class FrozenOffer:
    """What a session is shown from its first turn on, so that the beginning of its requests never changes.

    Args:
        bypass: all tools are sent and none is searched.
        description: of the search tool.
        categories: the search tool takes a category.
        sources: those the description counts.
    """

    bypass: bool
    description: str = ""
    categories: bool = False
    sources: frozenset[str] = frozenset()
