"""Definitions of tools: from functions and from the formats of other libraries to a name and a JSON Schema."""

from .decorator import ResultConverter, ToolMark, ToolOptions, mark_of, tool
from .docstrings import parse_docstring
from .foreign import Definition, is_definition, read_definition

__all__ = [
    "Definition",
    "ResultConverter",
    "ToolMark",
    "ToolOptions",
    "is_definition",
    "mark_of",
    "parse_docstring",
    "read_definition",
    "tool",
]
