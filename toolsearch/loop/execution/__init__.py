"""Execution of a batch of tool calls, with threads or with tasks."""

from .batch import arun_batch, run_batch
from .results import convert_result, media_placeholder

__all__ = ["arun_batch", "convert_result", "media_placeholder", "run_batch"]
