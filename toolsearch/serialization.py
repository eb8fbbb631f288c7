"""Values as plain JSON data and back: the form of messages, events and responses outside the process."""

from __future__ import annotations

import dataclasses
import math
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ConfigurationError
from .text import short_repr

__all__ = ["FORMAT", "NOT_SERIALIZED", "Serializable", "decode_tagged"]

FORMAT = 3
"""The format that this version writes.

It rises only if an older version would misread what is written. A field that an older version does not know is ignored
there, so a new field needs no new format.
"""

NOT_SERIALIZED: Mapping[str, bool] = types.MappingProxyType({"serialized": False})
"""Metadata of a dataclass field that the plain form leaves out."""

_Reader = Callable[[Any, str], Any]
_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


class Serializable:
    """Base class of dataclasses with a plain form: dicts, lists, strings, numbers, booleans and None.

    The plain form follows the fields and their type hints. Bytes are base64 text. Fields with the default value None,
    False or ``()`` are left out.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class City(Serializable):
        ...     name: str
        ...     people: int | None = None
        >>> City("Gouda").to_dict()
        {'format': 3, 'name': 'Gouda'}
        >>> City.from_dict({"name": "Gouda", "people": 75000})
        City(name='Gouda', people=75000)
    """

    __slots__ = ()

    _tag: ClassVar[str | None] = None
    """The key that tells the classes of a union apart: ``"role"`` or ``"type"``. Its value is a class attribute."""

    def to_dict(self) -> dict[str, Any]:
        """Return the plain form, which `json.dumps` accepts. Its key ``format`` is the version of the form.

        Raises:
            ConfigurationError: If a value cannot be expressed in JSON.
        """
        try:
            return {"format": FORMAT, **_encode_fields(self)}
        except RecursionError:
            raise ConfigurationError(f"{type(self).__name__} must not contain itself or deeply nested values") from None

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], /) -> Self:
        """Return the object of a plain form. Unknown keys are ignored; null stands for a missing key.

        Raises:
            ConfigurationError: If the form is wrong, or a newer version wrote it. The message names the place.
        """
        check_format(value, cls.__name__)
        _check_kind(cls, value)
        result: Self = decode_fields(cls, value, cls.__name__)
        return result


def check_format(value: object, place: str) -> None:
    """Validate the outermost mapping of a plain form: its type and its version."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{place} must be a mapping, got {short_repr(value)}; write what to_dict() returned")
    version = value.get("format", FORMAT)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ConfigurationError(
            f"{place} must have a format from 1 to {FORMAT}, got {short_repr(version)}; "
            "if a newer version of toolsearch wrote it, upgrade"
        )


def _check_kind(cls: Any, value: Mapping[str, Any]) -> None:
    """Reject the form of another class, which would be read as an object with nothing but defaults."""
    names = {field.name for field in _fields_of(cls)} | {cls._tag}
    others = value.keys() - {"format"}
    if others and others.isdisjoint(names):
        raise ConfigurationError(
            f"{cls.__name__} must be what its to_dict() returned, got {short_repr(dict(value))}; "
            "read messages with message_from_dict and events with event_from_dict"
        )


def decode_tagged(classes: Sequence[type[Serializable]], value: Mapping[str, Any], place: str) -> Any:
    """Return the object of a plain form that names its class.

    Args:
        classes: The possible classes. They share a tag.
        value: The plain form.
        place: Where the value stands, for messages.

    Raises:
        ConfigurationError: If the form is wrong, or a newer version wrote it.
    """
    check_format(value, place)
    return _tagged_reader(tuple(classes))(value, place)


def decode_fields(cls: Any, value: Any, place: str) -> Any:
    """Return an object of the dataclass `cls` from the mapping of its fields."""
    if not isinstance(value, Mapping):
        raise _wrong(place, "a mapping", value)
    if cls._tag is not None and value.get(cls._tag, expected := getattr(cls, cls._tag)) != expected:
        raise _wrong(f"{place}.{cls._tag}", repr(expected), value[cls._tag])
    decoded: dict[str, Any] = {}
    for field in _fields_of(cls):
        given = value.get(field.name)
        if given is not None:
            decoded[field.name] = field.read(given, f"{place}.{field.name}")
        elif field.required:
            raise ConfigurationError(f"{place} must have the key {field.name!r}, got {short_repr(dict(value))}")
    return cls(**decoded)


class _Field(NamedTuple):
    name: str
    read: _Reader
    required: bool


@cache
def _fields_of(cls: type[Any]) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    missing = dataclasses.MISSING
    return tuple(
        _Field(field.name, _reader(hints[field.name]), field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(cls)
        if field.init and field.metadata.get("serialized", True)
    )


def _encode_fields(value: Any) -> dict[str, Any]:
    encoded = {} if value._tag is None else {value._tag: getattr(value, value._tag)}
    for field in dataclasses.fields(value):
        if not field.metadata.get("serialized", True):
            continue
        member = getattr(value, field.name)
        if (member is None or member is False or member == ()) and member == field.default:
            continue
        encoded[field.name] = _encode(member, f"{type(value).__name__}.{field.name}")
    return encoded


def _encode(value: Any, place: str) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Serializable):
        return _encode_fields(value)
    if isinstance(value, list | tuple):
        return [_encode(member, place) for member in value]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _encode(member, place) for key, member in value.items()}
    return _encode_other(value, place)


def _encode_other(value: object, place: str) -> Any:
    """Return the JSON form of an output, such as a pydantic model or a dataclass."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="strings")
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{place} must be a value that JSON can express, got {type(value).__name__}; replace it before to_dict()"
        ) from error


def _reader(hint: Any) -> _Reader:
    """Return the function that reads a value of a type from its plain form."""
    if hint in _NAMES:
        return _scalar_reader(hint)
    if hint is bytes:
        return _read_bytes
    if isinstance(hint, type) and issubclass(hint, Serializable):
        return lambda value, place: decode_fields(hint, value, place)
    origin, members = get_origin(hint), get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Serializable):
        return _reader(origin)
    if origin in (tuple, list) or (isinstance(origin, type) and origin is not Mapping and issubclass(origin, Sequence)):
        return _sequence_reader(_reader(members[0]), list if origin is list else tuple)
    if origin in (dict, Mapping):
        return _mapping_reader(_reader(members[1]))
    if origin is Literal:
        return _literal_reader(members)
    if origin in (Union, types.UnionType):
        return _union_reader([member for member in members if member is not type(None)])
    if hint is Any or isinstance(hint, TypeVar):
        return lambda value, _place: value
    raise TypeError(f"no plain form for {hint!r}")


def _scalar_reader(kind: type[Any]) -> _Reader:
    def read(value: Any, place: str) -> Any:
        # True is an int in Python, and a whole number is a valid float.
        if type(value) is kind or (kind is float and type(value) is int) or (kind is str and isinstance(value, str)):
            return value
        raise _wrong(place, _NAMES[kind], value)

    return read


def _read_bytes(value: Any, place: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise _wrong(place, "base64 text", value) from None


def _sequence_reader(read_member: _Reader, kind: type[Any]) -> _Reader:
    def read(value: Any, place: str) -> Any:
        if not isinstance(value, list | tuple):
            raise _wrong(place, "a list", value)
        return kind(read_member(member, f"{place}[{number}]") for number, member in enumerate(value))

    return read


def _mapping_reader(read_member: _Reader) -> _Reader:
    def read(value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(place, "a mapping", value)
        return {str(key): read_member(member, f"{place}.{key}") for key, member in value.items()}

    return read


def _literal_reader(values: tuple[Any, ...]) -> _Reader:
    def read(value: Any, place: str) -> Any:
        if value not in values:
            raise _wrong(place, f"one of {', '.join(map(repr, values))}", value)
        return value

    return read


def _union_reader(members: Sequence[Any]) -> _Reader:
    if len(members) == 1:
        return _reader(members[0])
    if all(isinstance(member, type) and issubclass(member, Serializable) for member in members):
        return _tagged_reader(tuple(members))
    readers = [_reader(member) for member in members]

    def read(value: Any, place: str) -> Any:
        for reader in readers[:-1]:
            try:
                return reader(value, place)
            except ConfigurationError:
                continue
        return readers[-1](value, place)

    return read


def _tagged_reader(classes: tuple[type[Serializable], ...]) -> _Reader:
    tag = classes[0]._tag or "type"
    by_tag = {getattr(cls, tag): cls for cls in classes}

    def read(value: Any, place: str) -> Any:
        if not isinstance(value, Mapping):
            raise _wrong(place, "a mapping", value)
        found = value.get(tag)
        if not isinstance(found, str) or found not in by_tag:
            raise _wrong(f"{place}.{tag}", f"one of {', '.join(map(repr, by_tag))}", found)
        return decode_fields(by_tag[found], value, place)

    return read


def _wrong(place: str, expected: str, value: object) -> ConfigurationError:
    return ConfigurationError(f"{place} must be {expected}, got {short_repr(value)}")
