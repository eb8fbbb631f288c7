"""Requests with several intents: the best tool for each is among the first five hits."""

import random

import pytest

from toolsearch.indexes import Bm25ToolIndex, HybridToolIndex, ToolReference, VectorToolIndex
from toolsearch.indexes.protocols import Embedder, ToolIndex

WANTED = {
    "check tomorrow's weather in Paris": ("get_weather_forecast", "Returns the weather forecast for a city."),
    "email the report to Bob": ("send_email", "Sends an email message with attachments."),
    "put a meeting with Ann in my calendar": ("create_calendar_event", "Adds a meeting to the calendar."),
    "convert 100 dollars to euros": ("convert_currency", "Converts money from one currency to another."),
    "translate this letter into French": ("translate_text", "Translates a text into another language."),
    "book a flight to Rome": ("book_flight", "Searches and books plane tickets between airports."),
    "play my favorite album": ("play_music", "Plays a song, an album or a playlist."),
    "set an alarm for seven": ("set_alarm", "Sets an alarm clock for a time of day."),
    "find a hotel room for two nights": ("search_hotels", "Finds hotel rooms in a city for given nights."),
    "refund the customer's order": ("refund_order", "Gives a customer the money back for an order."),
    "delete the old file": ("delete_file", "Removes a file from the disk for good."),
    "turn the lights off": ("turn_on_lights", "Switches the lamps in a room on or off."),
}
OTHERS = ("get_news", "get_recipe", "track_parcel", "find_route", "resize_image", "query_database", "create_invoice")
TOOLS = [ToolReference(name=name, description=text) for name, text in WANTED.values()]
TOOLS += [ToolReference(name=name) for name in OTHERS]


def requests(intents: int) -> list[tuple[str, set[str]]]:
    """Return requests with a number of intents, joined in different ways, and the tools they ask for."""
    choose = random.Random(intents)
    made: list[tuple[str, set[str]]] = []
    for number in range(12):
        parts = choose.sample(sorted(WANTED), intents)
        text = (
            ", ".join(parts[:-1]) + " and " + parts[-1],
            "Please " + ", then ".join(parts) + ".",
            ". ".join(part.capitalize() for part in parts) + ".",
        )[number % 3]
        made.append((text, {WANTED[part][0] for part in parts}))
    return made


def served(index: ToolIndex, intents: int) -> float:
    """Return the share of intents whose tool is among the first five hits."""
    searcher = index.build(TOOLS)
    found = sum(len(wanted & set(searcher.search(text).names)) for text, wanted in requests(intents))
    return found / (intents * len(requests(intents)))


@pytest.mark.parametrize("intents", [2, 3, 4])
def test_words_find_a_tool_for_every_intent(intents: int) -> None:
    assert served(Bm25ToolIndex(), intents) == 1.0


def test_words_find_nearly_all_of_five_intents() -> None:
    """Five intents leave no place for other tools."""
    assert served(Bm25ToolIndex(), 5) >= 0.95


@pytest.mark.parametrize(("intents", "share"), [(2, 1.0), (3, 1.0), (4, 0.97), (5, 0.95)])
def test_a_hybrid_finds_a_tool_for_nearly_every_intent(intents: int, share: float, minilm: Embedder) -> None:
    """The single vector of the request lies between its intents; words keep a place for each."""
    assert served(HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(minilm)]), intents) >= share
