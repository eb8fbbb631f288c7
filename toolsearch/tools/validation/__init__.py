"""Validation of arguments, and the feedback that the model gets about them.

The validator itself is imported from `schema_validator` when a tool is called, because it loads jsonschema.
"""

from .feedback import conversion_problems, invalid_arguments, schema_problems, signature_of, unknown_argument
from .patterns import matches

__all__ = [
    "conversion_problems",
    "invalid_arguments",
    "matches",
    "schema_problems",
    "signature_of",
    "unknown_argument",
]
