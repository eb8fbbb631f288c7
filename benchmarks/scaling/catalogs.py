"""Catalogues of any size and requests for them: real tools repeated where they are at hand, made-up ones elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from ...errors import ConfigurationError
from ...indexes.reference import ToolReference
from ...tools.catalog_file import load_catalog
from ..retrieval.queries import CATALOGS, QUERIES, catalog_in
from ..savings.tasks import load_tasks

__all__ = ["Material", "bundled_material", "grown", "made_up_tools", "material_from"]

_DATA = Path(__file__).parents[1] / "data"
_SERVERS = Path(__file__).resolve().parents[3] / "shared" / "data" / "mcp_servers"
_SHORT_WORDS = 6
_LONG_WORDS = 50

_VERBS = {
    "create": "Create a new {thing}",
    "list": "List the {thing}s that match a filter, newest first",
    "get": "Return one {thing} by its id",
    "update": "Change some fields of a {thing} and leave the others",
    "delete": "Delete a {thing} for good",
    "search": "Search {thing}s by free text",
    "export": "Export {thing}s to a file for download",
    "share": "Share a {thing} with a person or a team",
    "archive": "Put a {thing} away without deleting it",
    "approve": "Approve a {thing} that waits for a decision",
}
_SERVICES = {
    "billing": ("invoice", "refund", "subscription", "payment method"),
    "calendar": ("meeting", "reminder", "holiday", "room booking"),
    "code": ("pull request", "branch", "release", "code review"),
    "mail": ("draft", "mailbox rule", "newsletter", "attachment"),
    "shop": ("order", "shipment", "discount code", "product page"),
    "people": ("applicant", "contract", "leave request", "salary slip"),
}
_PARAMETERS = {
    "limit": ("integer", "How many to return at most"),
    "since": ("string", "Only what changed after this date, as in 2024-05-31"),
    "format": ("string", "One of csv, json or pdf"),
    "owner": ("string", "The person in charge, by e-mail address"),
    "note": ("string", "A sentence to keep with it, shown in the history"),
    "notify": ("boolean", "Whether to tell everybody concerned"),
}


@dataclass(frozen=True, slots=True)
class Material:
    """Tools to repeat and requests to search them with.

    Args:
        name: where they come from, for reports.
        tools: distinct tools.
        short: requests of up to six words.
        long: requests with several intents, of about fifty words.
    """

    name: str
    tools: tuple[ToolReference, ...]
    short: tuple[str, ...]
    long: tuple[str, ...]


def bundled_material() -> Material:
    """Return the tools of real MCP servers if a checkout of them lies beside this one, else made-up tools."""
    if not _SERVERS.is_dir():
        return _made_up_material()
    return replace(material_from(_SERVERS), name="tools of MCP servers")


def material_from(place: Path) -> Material:
    """Read the tools of a catalogue, or of every one in a folder; requests are those of the bundled tasks.

    Of a folder for ``toolsearch bench retrieval``, which holds queries too, the catalogue is read.

    Raises:
        ConfigurationError: there is no catalogue, or one cannot be read.
    """
    found: dict[str, ToolReference] = {}
    for path in _catalogues(place):
        for tool in load_catalog(path):
            reference = replace(tool.reference, source=tool.reference.source or path.stem)
            name = reference.name if reference.name not in found else f"{path.stem}_{reference.name}"
            found[name] = replace(reference, name=name)
    if not found:
        raise ConfigurationError(f"{place}: holds no catalogue (*.json, *.jsonl)")
    tasks = load_tasks(_DATA / "tasks.jsonl")
    phrasings = [text for task in tasks for step in task.steps for text in step.phrasings]
    sentences = [task.prompt for task in tasks]
    return Material(f"tools of {place.resolve().name}", tuple(found.values()), _short(phrasings), _long(sentences))


def _catalogues(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    files = sorted(path for pattern in ("*.json", "*.jsonl") for path in place.glob(pattern))
    names = {path.name for path in files}
    return [catalog_in(place)] if QUERIES in names and not names.isdisjoint(CATALOGS) else files


def grown(tools: Sequence[ToolReference], size: int, *, salt: str = "") -> tuple[ToolReference, ...]:
    """Repeat the tools until there are `size` of them, the copies under names of their own.

    Args:
        tools: what to repeat.
        size: how many to return.
        salt: added to every name; two catalogues with different salts have no tool in common, so nothing that is
            remembered by content helps to build the second.
    """
    ending = f"_{salt}" if salt else ""

    def copies() -> Iterator[ToolReference]:
        for number in range(-(-size // len(tools))):
            for tool in tools:
                yield replace(tool, name=f"{tool.name}{f'_{number}' if number else ''}{ending}")

    return tuple(tool for tool, _ in zip(copies(), range(size), strict=False))


def made_up_tools(count: int = 400, seed: int = 7) -> tuple[ToolReference, ...]:
    """Make `count` different tools of six services, the same ones every time.

    Raises:
        ConfigurationError: there are not that many different ones.

    Example:
        >>> made_up_tools(2)[0].source in ("billing", "calendar", "code", "mail", "shop", "people")
        True
    """
    dice = random.Random(seed)
    kinds = [(service, thing) for service, things in _SERVICES.items() for thing in things]
    every = [
        _made_up(verb, service, thing, other, dice)
        for verb, (service, thing), other in product(_VERBS, kinds, ("", "team"))
    ]
    if count > len(every):
        raise ConfigurationError(f"there are {len(every)} made-up tools, not {count}")
    dice.shuffle(every)
    return tuple(every[:count])


def _made_up(verb: str, service: str, thing: str, owner: str, dice: random.Random) -> ToolReference:
    words = [verb, *filter(None, [owner]), *thing.split()]
    whose = f" of the whole {owner}" if owner else ""
    name = "_".join(words) if dice.random() < 0.5 else words[0] + "".join(map(str.title, words[1:]))
    properties = {f"{thing.replace(' ', '_')}_id": {"type": "string", "description": f"Which {thing} is meant"}}
    for parameter in dice.sample(sorted(_PARAMETERS), dice.randint(2, 5)):
        kind, description = _PARAMETERS[parameter]
        properties[parameter] = {"type": kind, "description": f"{description}."}
    return ToolReference(
        name=f"{service}_{name}",
        description=f"{_VERBS[verb].format(thing=thing)}{whose}. Part of {service}.",
        parameters={"type": "object", "properties": properties},
        source=service,
    )


def _made_up_material() -> Material:
    phrases = [
        f"{verb} {thing} {word}" for verb, (word, things) in product(_VERBS, _SERVICES.items()) for thing in things
    ]
    random.Random(11).shuffle(phrases)
    sentences = [f"{_VERBS[p.split()[0]].format(thing=' '.join(p.split()[1:-1]))}." for p in phrases]
    return Material("made-up tools", made_up_tools(), _short(phrases[:60]), _long(sentences[:60]))


def _short(phrasings: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in phrasings if len(text.split()) <= _SHORT_WORDS))


def _long(sentences: Sequence[str]) -> tuple[str, ...]:
    """Requests of about fifty words, each of the sentences that follow one another."""
    requests: list[str] = []
    words: list[str] = []
    for sentence in sentences:
        words += sentence.split()
        if len(words) >= _LONG_WORDS:
            requests.append(" ".join(words))
            words = []
    return tuple(requests)
