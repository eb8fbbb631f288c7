"""Heartbeat benchmark: how long hostile inputs and blocking work hold up an event loop."""

from .measure import Pause, longest_pause, run_heartbeat

__all__ = ["Pause", "longest_pause", "run_heartbeat"]
