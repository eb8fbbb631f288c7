"""The delay that a provider asks for."""

from __future__ import annotations

from typing import Any

import pytest

from toolsearch import ChatClient, ProviderError
from toolsearch.models.retry_after import parse_retry_after
from toolsearch.testing import OpenAIWireServer, WireReply

DATE = "Tue, 01 Dec 2026 04:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e12"}, 86_400.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Tue, 01 Dec 2026 04:00:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Tue, 01 Dec 2026 03:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"}, 86_400.0),
        ({"retry-after": "Tue, 99 Dec 9999999 04:00:30 GMT"}, None),
    ],
)
def test_headers_are_read_and_bounded(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


@pytest.mark.parametrize("header", ["Retry-After", "RETRY-AFTER", "Retry-After-Ms"])
def test_the_error_of_a_provider_carries_it(ask_pair: Any, header: str) -> None:
    from toolsearch.models import OpenAIChatModel

    reply = WireReply(status=429, body={"error": {"message": "slow down"}}, headers={header: "20000"})
    with (
        OpenAIWireServer([reply]) as server,
        OpenAIChatModel("m", base_url=server.base_url, api_key="k", max_retries=0) as model,
        pytest.raises(ProviderError) as raised,
    ):
        ask_pair(ChatClient(model), "Hi")
    assert raised.value.retry_after == (20.0 if "ms" in header.casefold() else 20_000.0)
    assert (raised.value.retryable, raised.value.retried) == (True, False)
