"""Results of tools: their conversion for the model, limits on their size, and the rests of long ones."""

from .conversion import convert_result
from .limits import ResultLimits, TurnResults
from .store import ResultStore, StoredResult

__all__ = ["ResultLimits", "ResultStore", "StoredResult", "TurnResults", "convert_result"]
