"""Validation of arguments, and the feedback that the model gets about them.

The validator itself is imported from `schema_validator` when a tool is called.
"""

from .feedback import conversion_problems, invalid_arguments, signature_of, unknown_argument, violation_problems
from .patterns import matches

__all__ = [
    "conversion_problems",
    "invalid_arguments",
    "matches",
    "signature_of",
    "unknown_argument",
    "violation_problems",
]
