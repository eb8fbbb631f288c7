"""Memory of an index, measured in a separate process: ``python -m toolsearch.benchmarks.retrieval.memory``.

tantivy, faiss and the peers allocate memory that `tracemalloc` does not see. So the growth of the resident set is
measured: a new process loads everything, indexes a few tools, and then the catalog. The growth in the last step is the
index with its caches, accurate to about 1 MB, since allocators keep free pages.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import subprocess
import sys
from pathlib import Path

from ...errors import ToolSearchError
from ...tools.catalog_file import load_catalog

__all__ = ["measure_memory", "resident_bytes"]

_STATUS = Path("/proc/self/status")
_WARM_UP_TOOLS = 20
_TIMEOUT_SECONDS = 600.0


def resident_bytes() -> int | None:
    """Return the resident set of this process in bytes after freeing unused pages, or None if it cannot be read."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # only glibc has it
    try:
        lines = _STATUS.read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)


def measure_memory(catalog: Path, contender: str, embedder: str | None = None) -> int | None:
    """Return the memory in bytes of a contender that has indexed a catalog, or None if it cannot be measured.

    Args:
        catalog: File of the catalog.
        contender: Name of an index or a peer.
        embedder: Name or folder of the embedding model of ``vector`` and ``hybrid``.
    """
    if not _STATUS.exists():
        return None
    request = json.dumps({"catalog": str(catalog), "contender": contender, "embedder": embedder})
    command = [sys.executable, "-m", "toolsearch.benchmarks.retrieval.memory"]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, check=True, timeout=_TIMEOUT_SECONDS
        )
        return int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def main() -> int:
    """Measure the contender of a JSON request on standard input and print its bytes."""
    from .contenders import find_contender

    request = json.load(sys.stdin)
    try:
        contender = find_contender(request["contender"], request["embedder"])
        tools = [tool.reference for tool in load_catalog(request["catalog"])]
        kept = contender.prepare(tools[:_WARM_UP_TOOLS])()
        kept("warm", 1)
        build = contender.prepare(tools)
        before = resident_bytes()
        kept = build()
        after = resident_bytes()
    except ToolSearchError as error:
        print(error, file=sys.stderr)
        return 2
    if before is None or after is None:
        return 1
    print(max(0, after - before))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
