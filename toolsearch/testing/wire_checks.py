"""Checks of requests for chat completions: what a provider rejects, by its profile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..models.profiles import ProviderProfile
from .schema_checks import schema_rejections

__all__ = ["rejections"]

_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")


def rejections(body: Mapping[str, Any], profile: ProviderProfile) -> list[str]:
    """Return what a provider with this profile rejects in the body of a request, empty if it accepts the request.

    The checks share no code with the adapters that change requests to fit a profile, so each tests the other.

    Example:
        >>> from toolsearch.models.profiles import PROFILES
        >>> rejections({"messages": [{"role": "tool", "tool_call_id": "c1", "content": "4"}]}, PROFILES["openai"])
        ['messages[0]: a result without its call']
    """
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        return [f"not JSON: {error}"]
    try:
        return [
            *_tools(body.get("tools"), profile),
            *_options(body, profile),
            *_Conversation(profile).problems(body.get("messages") or []),
        ]
    except (KeyError, TypeError, AttributeError) as error:
        return [f"not a request for chat completions: {error!r}"]


def _tools(tools: Sequence[Mapping[str, Any]] | None, profile: ProviderProfile) -> Iterator[str]:
    if tools is not None and not tools:
        yield "tools: empty"
    names: set[str] = set()
    for index, tool in enumerate(tools or []):
        function = tool["function"]
        name, description = function["name"], function.get("description", "")
        problems = list(schema_rejections(function["parameters"], profile))
        if not _NAME.fullmatch(name):
            problems.append(f"the name {name!r}")
        if name in names:
            problems.append(f"{name!r} is a name of two tools")
        if len(description) > profile.max_description:
            problems.append(f"a description of {len(description)} characters")
        names.add(name)
        yield from (f"tools[{index}]: {problem}" for problem in problems)


def _options(body: Mapping[str, Any], profile: ProviderProfile) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    if not names:
        yield from (f"{option}: without tools" for option in ("tool_choice", "parallel_tool_calls") if option in body)
        return
    choice = body.get("tool_choice", "auto")
    if choice in ("auto", "none"):
        return
    if not profile.forced_tool_choice:
        yield "tool_choice: a call cannot be forced"
    if isinstance(choice, Mapping):
        demanded = [choice, *choice.get("allowed_tools", {}).get("tools", [])]
        for function in (one["function"] for one in demanded if "function" in one):
            if function["name"] not in names:
                yield f"tool_choice: {function['name']!r} is not one of the tools"
    elif choice != "required":
        yield f"tool_choice: {choice!r}"


class _Conversation:
    """The checks of messages in order: each depends on those before it."""

    def __init__(self, profile: ProviderProfile) -> None:
        self._profile = profile
        self._open: list[str] = []
        self._ids: set[str] = set()
        self._before = ""

    def problems(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Yield what is wrong with the messages."""
        for index, message in enumerate(messages):
            for problem in (*self._order(message), *self._content(message), *self._calls(message)):
                yield f"messages[{index}]: {problem}"
            self._before = message["role"]
        if self._open:
            yield f"messages: the calls {self._open} have no results"

    def _order(self, message: Mapping[str, Any]) -> Iterator[str]:
        profile, role, before = self._profile, message["role"], self._before
        if role not in _ROLES:
            yield f"the role {role!r}"
        if role == "tool":
            call_id = message["tool_call_id"]
            if call_id in self._open:
                self._open.remove(call_id)
            else:
                yield "a result without its call"
        elif self._open:
            yield f"the calls {self._open} before it have no results"
            self._open = []
        if role == "system" and before and not profile.several_system_messages:
            yield "a system message that is not the first message"
        if role == "user" and before == "tool" and not profile.user_after_tool:
            yield "a user message after a result"
        if profile.alternating:
            if role == before and role in ("user", "assistant"):
                yield f"two {role} messages in a row"
            if role == "assistant" and before in ("", "system"):
                yield "a conversation that begins with an answer"

    def _content(self, message: Mapping[str, Any]) -> Iterator[str]:
        content, role = message.get("content"), message["role"]
        if isinstance(content, list):
            if not content:
                yield "an empty list of parts"
            for part in content:
                yield from self._part(part, role)
        elif isinstance(content, str) and content.strip():
            return
        elif role != "assistant" or not message.get("tool_calls"):
            yield "no content"
        elif content is not None and not isinstance(content, str):
            yield "content that is neither text nor parts"
        else:
            form = "omit" if "content" not in message else "null" if content is None else "text"
            # A server that takes null also takes a message without the key.
            if form != self._profile.empty_content and (form, self._profile.empty_content) != ("omit", "null"):
                yield f"empty content as {form}"

    def _part(self, part: Mapping[str, Any], role: str) -> Iterator[str]:
        match part["type"]:
            case "text":
                if not part["text"].strip():
                    yield "a part with an empty text"
            case "image_url" if role == "user":
                yield from self._image(part["image_url"]["url"])
            case "input_audio" if role == "user":
                if not part["input_audio"]["data"] or part["input_audio"]["format"] not in ("wav", "mp3"):
                    yield "audio without data or of another format than wav and mp3"
            case "file" if role == "user":
                if not re.match("data:application/pdf;base64,.", part["file"]["file_data"]):
                    yield "a file that is not a PDF"
            case kind:
                yield f"a part of the type {kind!r} in a {role} message"

    def _image(self, url: str) -> Iterator[str]:
        scheme, _, rest = url.partition(":")
        kind, _, data = rest.partition(";base64,")
        if scheme == "data" and (kind not in self._profile.image_types or not data):
            yield f"an image of the type {kind!r}, or without data"
        if scheme not in ("data", "http", "https"):
            yield f"an image at {url[:30]!r}"

    def _calls(self, message: Mapping[str, Any]) -> Iterator[str]:
        if "tool_calls" in message and not message["tool_calls"]:
            yield "an empty list of calls"
        for call in message.get("tool_calls") or []:
            call_id, function = call["id"], call["function"]
            if not re.fullmatch(self._profile.call_ids, call_id):
                yield f"the id {call_id!r}"
            if call_id in self._ids:
                yield f"the id {call_id!r} of an earlier call"
            if not _NAME.fullmatch(function["name"]):
                yield f"the name {function['name']!r}"
            if not _is_object(function["arguments"]):
                yield f"arguments that are not a JSON object: {function['arguments'][:50]!r}"
            self._ids.add(call_id)
            self._open.append(call_id)


def _is_object(text: str) -> bool:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)
