"""What an index takes of memory, measured in a process of its own: ``python -m toolsearch.benchmarks.retrieval.memory``.

Much of an index is not Python's: tantivy, faiss and the peers allocate by themselves, where `tracemalloc` sees nothing.
So this is the growth of the resident set: a fresh process loads everything, builds over a few tools, then over the
catalogue, and what it holds more after that is the index, with what was remembered to make it. To a MB or so, since
allocators keep spare pages.
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
_FEW = 20
_PATIENCE = 600.0


def resident_bytes() -> int | None:
    """Return the resident set of this process after giving spare pages back, or None where it cannot be read."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # glibc only
    try:
        lines = _STATUS.read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)


def measure_memory(catalog: Path, rival: str, embedder: str | None = None) -> int | None:
    """Return the bytes that a fresh process holds more once `rival` has indexed a catalogue; None if not to be had.

    Args:
        catalog: the catalogue's file.
        rival: the name of an index or of a peer.
        embedder: the model of vector and hybrid.
    """
    if not _STATUS.exists():
        return None
    request = json.dumps({"catalog": str(catalog), "rival": rival, "embedder": embedder})
    command = [sys.executable, "-m", "toolsearch.benchmarks.retrieval.memory"]
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, check=True, timeout=_PATIENCE)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def main() -> int:
    """Answer one request from standard input with a number of bytes on standard output."""
    from .contenders import find_rival

    request = json.load(sys.stdin)
    try:
        rival = find_rival(request["rival"], request["embedder"])
        tools = [tool.reference for tool in load_catalog(request["catalog"])]
        kept = rival.prepare(tools[:_FEW])()
        kept("warm", 1)
        build = rival.prepare(tools)
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
