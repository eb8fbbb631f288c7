"""Attacks on the sessions of a gateway: a header that a client writes is no proof of who it is."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp_types.version import LATEST_MODERN_VERSION

from toolsearch.mcp import McpServer
from toolsearch.mcp.server.change_notifier import MAX_SESSIONS, ChangeNotifier

MODERN, OLD = LATEST_MODERN_VERSION, "2025-06-18"
ACCEPT = {"accept": "application/json, text/event-stream"}
ids = itertools.count(1)


def delete_invoice(number: int) -> str:
    """Delete an invoice."""
    return f"deleted {number}"


def play_music(title: str) -> str:
    """Play a song."""
    return f"playing {title}"


def gateway(**options: Any) -> McpServer:
    return McpServer([delete_invoice, play_music], tool_search="regex", **options)


class Http:
    """Raw requests to a server, with whatever headers an attacker likes."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def post(self, method: str, params: dict[str, Any], headers: dict[str, str], *, id: int | None = -1) -> Any:
        body = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": next(ids)})
        return await self.http.post("/mcp", json=body, headers={**ACCEPT, **headers})

    async def answer(self, method: str, params: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        response = await self.post(method, params, headers)
        text = response.text
        if "data:" in text:
            text = next(line[5:] for line in reversed(text.splitlines()) if line.startswith("data:"))
        answer: dict[str, Any] = json.loads(text)
        return answer

    async def open(self) -> dict[str, str]:
        """Open a session of the old protocol and return the headers of its requests."""
        client = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
        response = await self.post("initialize", client, {})
        headers = {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": OLD}
        await self.post("notifications/initialized", {}, headers, id=None)
        return headers

    async def listed(self, headers: dict[str, str]) -> list[str]:
        answer = await self.answer("tools/list", _params(headers), _routed(headers, "tools/list"))
        return [tool["name"] for tool in answer["result"]["tools"]] if "result" in answer else ["error"]

    async def search(self, query: str, headers: dict[str, str]) -> Any:
        params = {"name": "tool_search", "arguments": {"query": query}, **_params(headers)}
        return await self.answer("tools/call", params, _routed(headers, "tools/call", "tool_search"))


def _params(headers: dict[str, str]) -> dict[str, Any]:
    if headers.get("mcp-protocol-version") != MODERN:
        return {}
    prefix = "io.modelcontextprotocol/"
    return {"_meta": {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": {}}}


def _routed(headers: dict[str, str], method: str, name: str = "") -> dict[str, str]:
    return {**headers, "mcp-method": method, **({"mcp-name": name} if name else {})}


@asynccontextmanager
async def serving(server: McpServer) -> AsyncIterator[Http]:
    app = server.asgi_app(host="example.test")
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://example.test") as http,
    ):
        yield Http(http)


ALL, SEARCH, FOUND = ["delete_invoice", "play_music"], ["tool_search"], ["tool_search", "delete_invoice"]


def test_a_session_of_the_transport_works() -> None:
    async def use() -> None:
        async with serving(gateway()) as http:
            ann, bob = await http.open(), await http.open()
            assert await http.listed(ann) == SEARCH
            await http.search("invoice", ann)
            assert (await http.listed(ann), await http.listed(bob)) == (FOUND, SEARCH)

    asyncio.run(use())


@pytest.mark.parametrize("header", ["mcp-session-id", "Mcp-Session-Id", "MCP-SESSION-ID"])
def test_modern_client_cannot_take_over_a_session_by_its_header(header: str) -> None:
    async def use() -> None:
        async with serving(gateway()) as http:
            ann = await http.open()
            await http.search("invoice", ann)
            thief = {header: ann["mcp-session-id"], "mcp-protocol-version": MODERN}
            assert await http.listed(thief) == ALL  # what every client without a session is shown
            await http.search("music", thief)
            assert await http.listed(ann) == FOUND

    asyncio.run(use())


@pytest.mark.parametrize("made_up", ["made-up", "stdio", "", "None", "a" * 5000])
def test_modern_client_gets_no_session_for_a_made_up_id(made_up: str) -> None:
    async def use() -> None:
        server = gateway()
        async with serving(server) as http:
            assert await http.listed({"mcp-session-id": made_up, "mcp-protocol-version": MODERN}) == ALL
            assert server._gateway is not None
            assert len(server._gateway._disclosure.sessions) == 0

    asyncio.run(use())


def test_invented_ids_do_not_evict_a_session() -> None:
    async def use() -> None:
        server = gateway()
        async with serving(server) as http:
            ann = await http.open()
            await http.search("invoice", ann)
            for number in range(50):
                await http.listed({"mcp-session-id": f"invented-{number}", "mcp-protocol-version": MODERN})
            assert server._gateway is not None
            assert len(server._gateway._disclosure.sessions) == 1
            assert await http.listed(ann) == FOUND

    asyncio.run(use())


def test_old_client_with_an_unknown_id_is_refused() -> None:
    async def use() -> None:
        async with serving(gateway()) as http:
            response = await http.post("tools/list", {}, {"mcp-session-id": "made-up", "mcp-protocol-version": OLD})
            assert response.status_code == 404

    asyncio.run(use())


def test_session_key_is_the_only_proof_if_there_is_one() -> None:
    async def use() -> None:
        async with serving(gateway(session_key=lambda headers: headers.get("x-user"))) as http:
            modern = {"mcp-protocol-version": MODERN}
            await http.search("invoice", modern | {"x-user": "ann"})
            assert await http.listed(modern | {"x-user": "ann"}) == FOUND
            assert await http.listed(modern | {"x-user": "bob"}) == SEARCH
            assert await http.listed(modern | {"mcp-session-id": "ann"}) == ALL

    asyncio.run(use())


@pytest.mark.parametrize("answer", [5, b"ann", ("ann",), ("a", "b", "c"), (1, "ann"), object()])
def test_session_key_with_another_answer_is_refused(answer: Any) -> None:
    async def use() -> None:
        async with serving(gateway(session_key=lambda headers: answer)) as http:
            assert await http.listed({"mcp-protocol-version": MODERN}) == ["error"]

    asyncio.run(use())


def test_tenants_of_a_session_key_are_apart() -> None:
    async def use() -> None:
        key = lambda headers: (headers.get("x-tenant"), "main")  # noqa: E731
        async with serving(gateway(session_key=key)) as http:
            modern = {"mcp-protocol-version": MODERN}
            await http.search("invoice", modern | {"x-tenant": "a"})
            assert await http.listed(modern | {"x-tenant": "a"}) == FOUND
            assert await http.listed(modern | {"x-tenant": "b"}) == SEARCH
            assert await http.listed(modern) == SEARCH

    asyncio.run(use())


def test_notified_sessions_of_one_owner_do_not_displace_those_of_another() -> None:
    notifier = ChangeNotifier(None)  # type: ignore[arg-type]  # nothing is published here
    clients: list[Any] = [object() for _ in range(MAX_SESSIONS + 50)]
    notifier.remember(("address 10.0.0.1", "ann"), clients[0])
    for number, client in enumerate(clients):
        notifier.remember(("address 10.0.0.2", str(number)), client)
    kept = list(notifier._sessions)
    assert len(kept) == MAX_SESSIONS
    assert kept[0] == ("address 10.0.0.1", "ann")
    assert kept[-1] == ("address 10.0.0.2", str(len(clients) - 1))
