"""A server of the old protocol over HTTP that loses its sessions on request: `forgetful.py PORT`.

The tool `get` returns the number of sessions so far. The tool `forget` ends all sessions.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sessions: list[str] = []
forgotten: set[str] = set()


def call(tool: str) -> str:
    if tool == "forget":
        forgotten.update(sessions)
    return f"session {len(sessions)}"


def answer(request: dict) -> dict:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "forgetful", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("get", "forget")]}
    return {"content": [{"type": "text", "text": call(request["params"]["name"])}]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status: int, body: dict | None = None, **headers: str) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if request["method"] == "initialize":
            sessions.append(f"s{len(sessions)}")
            result = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
            self.send(200, result, **{"mcp-session-id": sessions[-1]})
        elif self.headers["mcp-session-id"] in forgotten:
            self.send(404)
        elif "id" in request:
            self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)})
        else:
            self.send(202)

    def do_GET(self) -> None:
        self.send(405)

    def do_DELETE(self) -> None:
        self.send(200)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("running on", server.server_address, file=sys.stderr, flush=True)
    server.serve_forever()
