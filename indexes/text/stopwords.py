"""Words of a request that say little of the tool wanted. Used on queries only: an index keeps every word."""

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
    """.split()  # noqa: SIM905, a list of words is best read as words
)
"""The closed classes of English: articles, pronouns, auxiliaries, prepositions, conjunctions. They count nothing."""

COURTESIES: frozenset[str] = frozenset(
    """
    please kindly thank thanks hi hello hey
    want need like wish try trying look looking help give get got let make know tell think
    able sure interested going go would could provide use used using
    im id ive really much lot thing something anything me
    """.split()  # noqa: SIM905, a list of words is best read as words
)
"""How requests are wrapped ("could you please help me get ..."). They count a little, for some are names of tools."""
