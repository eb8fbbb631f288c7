"""Structured output: answers as values of a type, instead of text."""

from ..chat.errors import StructuredOutputError
from ..errors import OutputError
from .advisor import StructuredOutputAdvisor
from .converter import NamedOutputConverter, OutputConverter, TextOutputConverter, converter_for
from .extraction import fenced_blocks, unfenced
from .json_converter import JsonOutputConverter

__all__ = [
    "JsonOutputConverter",
    "NamedOutputConverter",
    "OutputConverter",
    "OutputError",
    "StructuredOutputAdvisor",
    "StructuredOutputError",
    "TextOutputConverter",
    "converter_for",
    "fenced_blocks",
    "unfenced",
]
