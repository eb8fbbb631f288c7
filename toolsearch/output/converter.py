"""Output converters: they describe the format of an answer to the model and parse the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from ..errors import ConfigurationError

__all__ = ["NamedOutputConverter", "OutputConverter", "TextOutputConverter", "converter_for"]


@runtime_checkable
class OutputConverter(Protocol):
    """Describes the format of an answer to the model and parses the answer. Write one for formats other than JSON.

    A converter can also implement `NamedOutputConverter`.

    Example:
        >>> isinstance(TextOutputConverter(), OutputConverter)
        True
    """

    @property
    def instructions(self) -> str:
        """Instructions for the model. An empty string gives none."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of an object that a provider can enforce, or None if the answer is not JSON."""
        ...

    def parse(self, text: str) -> Any:
        """Return the value of an answer. It is called between two rounds, so it must not block.

        Raises:
            OutputError: If the answer cannot be parsed; any other `ValueError` works too. The message tells the model
                what to change.
        """
        ...


@runtime_checkable
class NamedOutputConverter(Protocol):
    """Optional part of an `OutputConverter`: a name for the schema.

    Attributes:
        name: Name that is sent to the provider with the schema. Without it, the name is ``"answer"``.
    """

    @property
    def name(self) -> str:
        """The name of the schema."""
        ...


class TextOutputConverter:
    """A converter that accepts any answer and returns its text. ``output_type=str`` selects it.

    Example:
        >>> TextOutputConverter().parse("Hello!")
        'Hello!'
    """

    instructions = ""
    schema: Mapping[str, Any] | None = None

    def parse(self, text: str) -> str:
        """Return `text`."""
        return text


def converter_for(output: object) -> OutputConverter:
    """Return the converter for a type. A converter is returned as it is.

    Args:
        output: A type that pydantic reads, a JSON Schema, or an `OutputConverter`.

    Raises:
        ConfigurationError: If it is none of these, or if JSON cannot express the type.

    Example:
        >>> converter_for(list[int]).parse("Here you are: [1, 2]")
        [1, 2]
    """
    if isinstance(output, OutputConverter):
        if isinstance(output, type):
            raise ConfigurationError(f"output must be an instance of a converter, got the class {output.__name__}")
        return output
    if output is str:
        return TextOutputConverter()
    try:
        return _schema_converter(json.dumps(output)) if isinstance(output, Mapping) else _json_converter(output)
    except TypeError:  # an unhashable type, such as one annotated with a list, or a schema that is not JSON
        return _json_converter.__wrapped__(output)


@lru_cache(maxsize=256)
def _json_converter(output: object) -> OutputConverter:
    """Return the converter for a type. Cached, because it takes longer to create than the rest of a call."""
    from .json_converter import JsonOutputConverter

    return JsonOutputConverter(output)


@lru_cache(maxsize=256)
def _schema_converter(schema: str) -> OutputConverter:
    from .json_converter import JsonOutputConverter

    return JsonOutputConverter(json.loads(schema))
