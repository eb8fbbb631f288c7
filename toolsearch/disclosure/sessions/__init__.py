"""Sessions over any index: equal tool sets share a searcher, turns hold leases, idle sessions are evicted."""

from .lease import SessionLease
from .record import SessionRecord
from .request import ToolSearchRequest
from .searcher_cache import SearcherHandle
from .session_index import SessionToolIndex
from .tool_set import ToolSet

__all__ = ["SearcherHandle", "SessionLease", "SessionRecord", "SessionToolIndex", "ToolSearchRequest", "ToolSet"]
