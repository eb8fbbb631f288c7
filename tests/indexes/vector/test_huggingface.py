"""Tests of the check of the Hugging Face hub, with a local server in its place."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("huggingface_hub", reason="the extra `vector` is not installed")

from toolsearch.indexes.vector.huggingface import find_refusal, is_hub_reachable, is_offline


class Hub(ThreadingHTTPServer):
    """HTTP server that responds to every request with `status`."""

    status = 200
    asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow downloads, whatever other tests forbid."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "answers"), [(200, True), (302, True), (401, True), (404, True), (500, False), (503, False)]
)
def test_hub_with_a_server_error_is_unreachable(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, status: int, answers: bool
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    hub.status = status
    assert is_hub_reachable() is answers
    assert hub.asked == 1


def test_closed_port_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert not is_hub_reachable()


@pytest.mark.parametrize("status", [200, 503])
def test_hub_is_checked_without_sentence_transformers(hub: Hub, status: int) -> None:
    hub.status = status
    code = "from toolsearch.indexes.vector.huggingface import is_hub_reachable; import sys; n = 'sentence_transformers'"
    command = [sys.executable, "-c", f"{code}; print(n in sys.modules, is_hub_reachable(), n in sys.modules)"]
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["False", str(status == 200), "False"], "")
    assert hub.asked == 1


def test_broken_hub_client_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub.utils", None)
    with pytest.raises(ImportError):
        is_hub_reachable()


@pytest.mark.parametrize(("value", "forbidden"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_is_offline(monkeypatch: pytest.MonkeyPatch, value: str, forbidden: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", value)
    assert is_offline() is forbidden


def test_find_refusal_among_causes() -> None:
    from huggingface_hub.errors import RepositoryNotFoundError

    answer = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
    error = OSError("no such model, or something else")
    error.__cause__ = ValueError("between")
    assert find_refusal(error) is None
    error.__cause__.__context__ = answer
    assert find_refusal(error) is answer
    assert find_refusal(None) is None
