"""Validation of arguments, and the feedback that the model gets about them.

Nothing is imported here, because jsonschema and pydantic are only needed once a tool is called.
"""

__all__: list[str] = []
