"""A hand-written MCP server over stdio that does what its first argument says."""

import json
import subprocess
import sys

kind, argument = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
SCHEMA = {"type": "object"}
child = None
if kind == "grandchild":
    child = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(60)"])


def answer(request: dict, **fields: object) -> None:
    order = {"jsonrpc": "2.0", "id": request["id"]}
    message = {**fields, **order} if kind == "id last" else {**order, **fields}
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def tools() -> list:
    if kind == "invisible":
        return json.loads(argument)
    return [{"name": name, "inputSchema": SCHEMA} for name in ("big", "quick", "pid", "error", "crash")]


def call(request: dict, name: str) -> None:
    text = {"big": lambda: "x" * int(argument or 0), "pid": lambda: str(child and child.pid)}.get(name, lambda: "ok")()
    if name == "crash":
        sys.stderr.write("DB_PASSWORD=hunter2 at /srv/secret\nERROR forged line\n")
        sys.exit(3)
    if name == "error":
        answer(request, error={"code": -32602, "message": argument})
    else:
        answer(request, result={"content": [{"type": "text", "text": text}]})


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            info = {"serverInfo": {"name": "raw", "version": "1"}, "capabilities": {"tools": {}}}
            answer(request, result={"protocolVersion": "2025-06-18", **info})
        case "tools/list":
            answer(request, result={"tools": tools()})
        case "tools/call":
            call(request, request["params"]["name"])
        case _:
            answer(request, error={"code": -32601, "message": "unknown"})
