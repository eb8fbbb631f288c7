"""A Griffe extension for `make docs`: show the doctests in docstrings as code."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)  # up to the next blank line
HEADING = re.compile(r"^Examples:$", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Put code fences around doctests. Without them Markdown reads lists such as `[x][0]` as links."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object that Griffe just loaded."""
        if obj.docstring:
            # Griffe reads a section "Examples:" itself and does not expect fences there.
            text = HEADING.sub("Example:", obj.docstring.value)
            obj.docstring.value = DOCTEST.sub(lambda block: f"{block[1]}```pycon\n{block[0]}\n{block[1]}```", text)
