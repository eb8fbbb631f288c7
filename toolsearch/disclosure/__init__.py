"""Progressive disclosure: the tool search advisor, and the engine below it for other frameworks."""

from ..messages import SearchScope
from ..tools.revealing import RevealingText
from .advisor import SearchOptions, ToolSearchAdvisor
from .disclosure import Disclosure
from .offers import Offer
from .pins import Pin
from .sentences import DEFAULT_INSTRUCTIONS, SEARCH_TOOL
from .sessions import SearcherHandle, SessionLease, SessionRecord, SessionToolIndex, ToolSearchRequest, ToolSet
from .settings import DisclosureOptions, DisclosureSettings
from .turn import DisclosureTurn

__all__ = [
    "DEFAULT_INSTRUCTIONS",
    "SEARCH_TOOL",
    "Disclosure",
    "DisclosureOptions",
    "DisclosureSettings",
    "DisclosureTurn",
    "Offer",
    "Pin",
    "RevealingText",
    "SearchOptions",
    "SearchScope",
    "SearcherHandle",
    "SessionLease",
    "SessionRecord",
    "SessionToolIndex",
    "ToolSearchAdvisor",
    "ToolSearchRequest",
    "ToolSet",
]
