"""Names that providers accept, and suggestions for wrong names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError
from toolsearch.tools.names import closest_names, is_wire_name, wire_name, words_of

PROVIDER = re.compile(r"^[a-zA-Z0-9_-]{1,64}\Z")
any_name = st.text(st.characters(), min_size=1, max_size=120)  # lone surrogates too
valid_name = st.from_regex(PROVIDER, fullmatch=True)


@given(any_name | valid_name)
def test_wire_names_are_valid_and_valid_names_unchanged(name):
    sent = wire_name(name)
    assert PROVIDER.match(sent)
    assert (sent == name) == bool(PROVIDER.match(name))
    assert is_wire_name(name) == bool(PROVIDER.match(name))
    assert wire_name(sent) == sent


@given(st.sets(any_name | valid_name, min_size=1, max_size=30))
def test_wire_names_are_unique(names):
    sent = [wire_name(name) for name in sorted(names)]
    assert len(set(sent)) == len(names)


@pytest.mark.parametrize(
    "names", [["notion.search", "notion_search", "notion/search"], ["天気", "予報"], ["a b", "a  b"]]
)
def test_names_that_differ_in_replaced_characters_stay_different(names):
    assert len({wire_name(name) for name in names}) == len(names)


def test_long_names_with_a_common_prefix_stay_different():
    first, second = wire_name("x" * 70 + "1"), wire_name("x" * 70 + "2")
    assert first != second
    assert len(first) == len(second) == 64


def test_a_replaced_name_is_readable_and_stable():
    assert wire_name("café.préparer") == wire_name("café.préparer", ["other"])
    assert wire_name("café.préparer").startswith("cafe_preparer_")
    assert wire_name("notion.search") == "notion_search_d74d0a31"


def test_a_taken_name_gets_a_longer_hash():
    free = wire_name("notion.search")
    longer = wire_name("notion.search", {free})
    assert longer.startswith(free)
    assert len(longer) == len(free) + 4


def test_a_trailing_newline_is_invalid():
    assert not is_wire_name("weather\n")


def test_an_empty_name_is_rejected():
    with pytest.raises(ConfigurationError, match="empty"):
        wire_name("")


def test_words_are_split_at_separators_and_case():
    assert words_of("getHTTPStatus_for-host.v2") == ["get", "http", "status", "for", "host", "v2"]
    assert words_of("___") == []


KNOWN = ["get_weather", "get_weather_alerts", "send_mail", "list_files", "github_search_issues", "search_code"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("getWeather", "get_weather"),
        ("GET-WEATHER", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("weather_server::get_weather", "get_weather"),
        ("mcp__files__list_files", "list_files"),
        ("mcp__files__listFiles", "list_files"),
        ("search_issues", "github_search_issues"),
        ("weather_get", "get_weather"),
        ("send_male", "send_mail"),
        ("gett_wether", "get_weather"),
    ],
)
def test_the_intended_name_comes_first(wrong, meant):
    assert closest_names(wrong, KNOWN)[0] == meant


def test_a_known_name_is_found_without_its_prefix():
    assert closest_names("search", ["mcp__notion__search", "notion_create"]) == ["mcp__notion__search"]


def test_dissimilar_names_are_not_suggested():
    assert closest_names("quantum_flux", KNOWN) == []
    assert closest_names("", KNOWN) == []
    assert closest_names("::", KNOWN) == []
    assert closest_names("get_weather", []) == []


@given(st.lists(st.sampled_from(["ping", "pong", "pang", "bang", "pingpong", "ring_ping"]), max_size=12))
def test_suggestions_do_not_depend_on_the_order_of_names(names):
    found = closest_names("pin", names, 3)
    assert found == closest_names("pin", list(reversed(names)), 3)
    assert len(found) == len(set(found)) <= 3


@given(any_name, st.lists(any_name, max_size=5))
def test_suggestions_are_known_names(name, names):
    assert set(closest_names(name, names)) <= set(names)
