"""Docstrings in three styles, and without sections."""

import pytest

from toolsearch.tools.definition.docstrings import parse_docstring

GOOGLE = """Find a forecast.

    More of it:
    in two lines.

    Args:
        city (str, optional): Where,
            e.g. Gouda: a town.
        days (dict[str, tuple(int)]): How many.

            With a second paragraph.
        *rest: Others.
        unknown

    Returns:
        The forecast.
    """

NUMPY = """Find a forecast.

    Parameters
    ----------
    city : str
        Where,
        e.g. Gouda.
    days, nights : int, optional
        How many.

    Returns
    -------
    str
        The forecast.
    """

SPHINX = """Find a forecast.

    :param str city: Where,
        e.g. Gouda.
    :param days: How many.
    :type days: int
    :returns: The forecast.
    """


def test_google_style():
    text, parameters = parse_docstring(GOOGLE)
    assert text == "Find a forecast.\n\nMore of it:\nin two lines.\n\nReturns:\n    The forecast."
    assert parameters["city"] == "Where, e.g. Gouda: a town."
    assert parameters["days"] == "How many. With a second paragraph."
    assert parameters["rest"].startswith("Others.")


def test_numpy_style():
    text, parameters = parse_docstring(NUMPY)
    assert text == "Find a forecast.\n\nReturns\n-------\nstr\n    The forecast."
    assert parameters == {"city": "Where, e.g. Gouda.", "days": "How many.", "nights": "How many."}


def test_sphinx_style():
    text, parameters = parse_docstring(SPHINX)
    assert text == "Find a forecast.\n\n:returns: The forecast."
    assert parameters == {"city": "Where, e.g. Gouda.", "days": "How many."}


@pytest.mark.parametrize(
    "text", ["", "One line.", "Args are great.\n\nNote: this", "Title\n-----\n\nText.", "Args:", "é\n\nx:\n  y"]
)
def test_other_docstrings_are_unchanged(text):
    kept, parameters = parse_docstring(text)
    assert kept in (text, "")
    assert (kept == "") == (text in ("", "Args:"))
    assert parameters == {}


def test_text_after_the_arguments_is_kept():
    assert parse_docstring("A.\n\nArgs:\n    x: y\n\nB.") == ("A.\n\nB.", {"x": "y"})
