"""Streamed text: from the model through every advisor to the caller."""

from .chunk_path import ChunkPath
from .model_stream import AsyncModelStream, ModelStream

__all__ = ["AsyncModelStream", "ChunkPath", "ModelStream"]
