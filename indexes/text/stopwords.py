"""Stop words of a request. They apply to queries only; an index keeps every word."""

from __future__ import annotations

__all__ = ["COURTESIES", "FUNCTION_WORDS"]

FUNCTION_WORDS: frozenset[str] = frozenset(
    """
    a an the this that these those here there
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    who whom whose which what when where why how
    am is are was were be been being do does did doing have has had having
    can will shall may might must could should would just now then than also too very so same own only once
    of in on at to from for with by into onto about through during before after above below
    up down out off over under again further
    and or but if as not no nor
    all any both each few more most other some such
    s t d ll m re ve don
    """.split()  # noqa: SIM905, easier to read than a list of strings
)
"""English function words: articles, pronouns, auxiliaries, prepositions, conjunctions. They have no weight."""

COURTESIES: frozenset[str] = frozenset(
    """
    please kindly thank thanks hi hello hey
    want need like wish try trying look looking help give get got let make know tell think
    able sure interested going go would could provide use used using
    im id ive really much lot thing something anything me
    """.split()  # noqa: SIM905, easier to read than a list of strings
)
"""Words of polite requests ("could you please help me get ..."). They have a small weight: some occur in tool names."""
