"""Execution of a batch of tool calls with threads or tasks."""

__all__: list[str] = []
