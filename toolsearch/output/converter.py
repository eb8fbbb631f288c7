"""`OutputConverter`: what an answer has to look like, and how its text becomes a value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from ..errors import ConfigurationError

__all__ = ["OutputConverter", "TextOutputConverter", "converter_for"]


@runtime_checkable
class OutputConverter(Protocol):
    """Says what an answer has to look like and reads it. Write one for a format other than JSON.

    It may also have a ``name``, of the form for providers that are sent the schema.
    """

    @property
    def instructions(self) -> str:
        """What the model is told in words; empty to tell it nothing."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """A JSON Schema of an object that a provider can hold the answer to; None where the answer is not JSON."""
        ...

    def parse(self, text: str) -> Any:
        """Return what an answer says. It runs between two rounds, so it should not wait for anything.

        Raises:
            OutputError: (or another `ValueError`) if it cannot be read; the text tells the model what to change.
        """
        ...


class TextOutputConverter:
    """Any answer will do, and its value is its text: what ``output_type=str`` means.

    Example:
        >>> TextOutputConverter().parse("Hello!")
        'Hello!'
    """

    instructions = ""
    schema: Mapping[str, Any] | None = None

    def parse(self, text: str) -> str:
        """Return the text."""
        return text


def converter_for(output: object) -> OutputConverter:
    """Return the converter of a type, or a converter itself.

    Raises:
        ConfigurationError: for what is neither, and for types that JSON cannot express.

    Example:
        >>> converter_for(list[int]).parse("Here you are: [1, 2]")
        [1, 2]
    """
    if isinstance(output, OutputConverter):
        if isinstance(output, type):
            raise ConfigurationError(f"{output.__name__} is a class of converters; pass an instance of it")
        return output
    if output is str:
        return TextOutputConverter()
    try:
        return _json_converter(output)
    except TypeError:  # a type that cannot be hashed, such as one annotated with a list
        return _json_converter.__wrapped__(output)


@lru_cache(maxsize=256)
def _json_converter(output: object) -> OutputConverter:
    """Kept, as reading a type takes longer than everything else in a call."""
    from .json_converter import JsonOutputConverter

    return JsonOutputConverter(output)
