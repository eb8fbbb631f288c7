"""From what a tool returned to what the model reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .messages import Media

if TYPE_CHECKING:
    from .tool import Tool


def convert_result(value: Any, tool: Tool) -> tuple[str, tuple[Media, ...]]:
    if value is None:
        return "Done", ()
    return (value if isinstance(value, str) else json.dumps(value)), ()
