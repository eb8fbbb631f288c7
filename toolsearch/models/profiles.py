"""Profiles of providers and server families: one table of what each accepts in a request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["PROFILES", "ProviderProfile", "coerce_profile", "find_profile"]

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile:
    """Limits and choices of a provider, or a family of servers: what it accepts in a request.

    Requests are changed to fit on the wire only: memory keeps the original messages, and arguments are validated
    against the original schemas. The defaults are those of an unknown server: what every known one accepts. The values
    come from the documentation of the providers and from public reports of rejected requests.

    Attributes:
        name: The name of the profile.
        max_description: The longest description of a tool, in characters.
        call_ids: A pattern for the ids of tool calls. Other ids are replaced, in calls and results alike.
        image_types: The media types of images that are sent. Others are replaced by a note.
        several_system_messages: Whether system messages may stand anywhere. Otherwise they are joined in front.
        alternating: Whether messages of the user and the assistant must alternate. Neighbors are joined.
        user_after_tool: Whether a message of the user, such as one with the media of tool results, may follow tool
            results. Otherwise a short assistant message stands between.
        empty_content: What stands for the text of an assistant message that only calls tools: null, an empty text, or
            nothing.
        refused_keywords: Keywords of JSON Schema that are left out.
        references: Whether schemas may contain ``$ref``. Otherwise references are replaced by what they refer to.
        type_lists: Whether ``type`` may be a list. Otherwise it becomes ``nullable`` or ``anyOf``.
        text_enums_only: Whether an ``enum`` may contain only texts.
        patterns: Whether a ``pattern`` may be any regular expression, must be anchored, or is left out.
        property_names: A pattern for the names of properties. Optional properties with other names are left out.
        max_schema_depth: The largest nesting of a schema.
        max_schema_characters: The longest schema of a tool, as JSON.
        forced_tool_choice: Whether a tool call can be demanded.
        guided_decoding: Whether an output schema also binds rounds in which the model should call tools.

    Example:
        >>> from dataclasses import replace
        >>> strict = replace(PROFILES["openai"], name="my gateway", max_description=500)
        >>> strict.max_description, strict.call_ids
        (500, '[a-zA-Z0-9_-]{1,40}')
    """

    name: str = "default"
    max_description: int = 1024
    call_ids: str = "[a-zA-Z0-9_-]{1,40}"
    image_types: frozenset[str] = _IMAGES
    several_system_messages: bool = False
    alternating: bool = False
    user_after_tool: bool = False
    empty_content: Literal["null", "text", "omit"] = "omit"
    refused_keywords: frozenset[str] = frozenset()
    references: bool = True
    type_lists: bool = True
    text_enums_only: bool = False
    patterns: Literal["any", "anchored", "none"] = "any"
    property_names: str = ".+"
    max_schema_depth: int = 32
    max_schema_characters: int = 100_000
    forced_tool_choice: bool = True
    guided_decoding: bool = False
    models: str = field(default="", repr=False)
    hosts: str = field(default="", repr=False)


_GEMINI_REFUSES = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "additionalProperties", "patternProperties", "propertyNames", "not", "if"}
    | {"then", "else", "allOf", "dependentRequired", "dependentSchemas", "contains", "minContains", "maxContains"}
    | {"unevaluatedItems", "unevaluatedProperties", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"}
    | {"uniqueItems", "prefixItems", "deprecated", "readOnly", "writeOnly", "examples", "contentEncoding"}
    | {"contentMediaType", "$defs", "definitions"}
)

_LOCAL = {"empty_content": "text", "guided_decoding": True}


def _profile(name: str, **fields: object) -> ProviderProfile:
    return ProviderProfile(name=name, **fields)  # type: ignore[arg-type]  # names and values are those below


_LENIENT = {"several_system_messages": True, "user_after_tool": True}

PROFILES: dict[str, ProviderProfile] = {
    profile.name: profile
    for profile in (
        ProviderProfile(),
        _profile(
            "openai", **_LENIENT, empty_content="null", hosts=r"api\.openai\.com", models=r"(gpt|o\d|chatgpt)[-\d.].*"
        ),
        _profile("azure", **_LENIENT, empty_content="null", hosts=r".*\.azure\.com|.*\.azure-api\.net"),
        _profile(
            "deepseek",
            **_LENIENT,
            empty_content="text",
            hosts=r".*\.deepseek\.com",
            models=r"deepseek.*",
        ),
        _profile(
            "mistral",
            alternating=True,
            call_ids="[a-zA-Z0-9]{9}",
            empty_content="text",
            hosts=r".*\.mistral\.ai",
            models=r"(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral|open-mi[sx]tral).*",
        ),
        _profile("groq", **_LENIENT, empty_content="null", hosts=r".*\.groq\.com"),
        _profile(
            "gemini",
            alternating=True,
            user_after_tool=True,
            empty_content="omit",
            refused_keywords=_GEMINI_REFUSES,
            references=False,
            type_lists=False,
            text_enums_only=True,
            patterns="none",
            hosts=r".*\.googleapis\.com",
            models=r"(gemini|gemma).*",
        ),
        _profile(
            "anthropic",
            alternating=True,
            property_names="[a-zA-Z0-9_.-]{1,64}",
            user_after_tool=True,
            hosts=r".*\.anthropic\.com",
            models=r"(anthropic[./])?claude.*",
        ),
        _profile("openrouter", user_after_tool=True, hosts=r".*openrouter\.ai"),
        _profile("bedrock", alternating=True, property_names="[a-zA-Z0-9_.-]{1,64}", hosts=r".*\.amazonaws\.com"),
        _profile("ollama", **_LOCAL, references=False, user_after_tool=True, hosts=r".*:11434"),
        _profile("vllm", **_LOCAL, hosts=r".*:8000", models=r"(qwen|meta-llama|llama|zai-org|glm|moonshotai|kimi).*"),
        _profile("llama.cpp", **_LOCAL, patterns="anchored", hosts=r".*:8080"),
        _profile("lmstudio", **_LOCAL, patterns="anchored", hosts=r".*:1234"),
    )
}
"""The known profiles by name. ``"default"`` is for unknown servers."""


def find_profile(model: str, base_url: str | None) -> ProviderProfile:
    """Return the profile for a server's address, else for a model's name, else the default.

    Example:
        >>> find_profile("gpt-5-mini", None).name, find_profile("mistral-medium", "http://gateway/v1").name
        ('openai', 'mistral')
        >>> find_profile("m", "http://127.0.0.1:11434/v1").name, find_profile("m", "http://gateway/v1").name
        ('ollama', 'default')
    """
    if base_url is None:
        return PROFILES["openai"]
    try:
        parts = urlsplit(base_url)
        host = f"{(parts.hostname or '').lower()}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        host = ""
    named = model.rpartition("/")[2].lower()
    for profile in PROFILES.values():
        if profile.hosts and re.fullmatch(profile.hosts, host):
            return profile
    for profile in PROFILES.values():
        if profile.models and any(re.fullmatch(profile.models, name) for name in (named, model.lower())):
            return profile
    return PROFILES["default"]


def coerce_profile(profile: str | ProviderProfile | None, model: str, base_url: str | None) -> ProviderProfile:
    """Return a profile by its name, or the one for a server and model.

    Raises:
        ConfigurationError: If the name is unknown.
    """
    if profile is None:
        return find_profile(model, base_url)
    if isinstance(profile, ProviderProfile):
        return profile
    if isinstance(profile, str) and profile in PROFILES:
        return PROFILES[profile]
    raise ConfigurationError(
        f"profile must be a ProviderProfile or one of {', '.join(PROFILES)}, got {short_repr(profile)}"
    )
