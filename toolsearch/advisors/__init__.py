"""Advisors for applications: retries, other models as a fallback, and progress."""

from .fallback import Fallback
from .progress import Progress
from .retry import Retry

__all__ = ["Fallback", "Progress", "Retry"]
