"""Savings benchmark: tokens per task with all tools sent and with tool search."""

from .cache_pricing import CachePrices
from .measure import Savings, Strategy, measure_savings
from .payload import PayloadCounter
from .tasks import Step, Task, load_tasks

__all__ = [
    "CachePrices",
    "PayloadCounter",
    "Savings",
    "Step",
    "Strategy",
    "Task",
    "load_tasks",
    "measure_savings",
]
