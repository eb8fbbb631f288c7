"""From the text a model wrote to arguments that fit the tool's schema, or to a text that says what to change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

    from .tool import Tool


class ArgumentError(ValueError):
    """The model's arguments cannot be used; the message is for the model."""


def parse_arguments(tool: Tool, text: str) -> dict[str, Any]:
    return json.loads(text or "{}")


def conversion_problems(argument: str, error: ValidationError) -> list[str]:
    return [f"{argument}: {e['msg']}" for e in error.errors()]


def invalid_arguments(name: str, problems: Sequence[str], parameters: Mapping[str, Any]) -> str:
    return "; ".join(problems)
