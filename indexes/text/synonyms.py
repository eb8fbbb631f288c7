"""Synonyms of the verbs in tool names, such as "remove" and "delete"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .stemming import stem

__all__ = ["synonyms_of"]

# One group of synonyms per line. Verbs only: embeddings cover nouns better.
_VERBS = """
    create add make new insert
    delete remove erase destroy drop clear
    update change edit modify set alter
    get fetch retrieve obtain read show view
    list show enumerate
    search find query lookup
    send deliver
    start begin launch
    stop end halt terminate
    run execute invoke
    book reserve
    buy purchase order
    calculate compute
    convert transform
    check verify validate
    suggest recommend
    copy duplicate clone
    merge combine join
    enable activate
    disable deactivate
    cancel abort
"""


def synonyms_of(term: str) -> Mapping[str, str]:
    """Return the synonyms of a term, each with the verb it is the stem of.

    Example:
        >>> synonyms_of("remov")
        {'delet': 'delete', 'eras': 'erase', 'destroy': 'destroy', 'drop': 'drop', 'clear': 'clear'}
    """
    return _table().get(term, {})


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _VERBS.strip().splitlines():
        group = {stem(verb): verb for verb in line.split()}
        for term in group:
            found.setdefault(term, {}).update({other: verb for other, verb in group.items() if other != term})
    return found
