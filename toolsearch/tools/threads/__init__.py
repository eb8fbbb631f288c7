"""Worker threads: for sync tools, and apart from them for the library's own short work."""

from .tool_threads import ToolThreads, run_in_worker_thread, run_library_work

__all__ = ["ToolThreads", "run_in_worker_thread", "run_library_work"]
