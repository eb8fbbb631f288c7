"""A server of the old protocol without the SDK, which starts quickly: `plain.py NAME TOOL...`.

Every tool returns `NAME.TOOL` and its arguments, except `pid`, `crash`, `refuse`, `hang`, `wait` and `linger`. The
tool `change` notifies the client of a changed list; the server answers requests for the list only after a call of
`release`, which adds the tool `fresh`.
"""

import json
import os
import sys
import time

name, tools = sys.argv[1], sys.argv[2:]
lingers = "linger" in tools
held: list[int] | None = None  # list requests that wait for `release`


def send(**message) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def send_list(request: int) -> None:
    listed = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
    if "odd" in tools:
        listed.append({"name": " ", "inputSchema": {"type": "object"}})
    send(id=request, result={"tools": listed})


def call(tool: str, arguments: dict) -> str | None:
    global held
    match tool:
        case "change":
            held = []
            send(method="notifications/tools/list_changed")
        case "release":
            tools.append("fresh")
            waiting, held = held or [], None
            for request in waiting:
                send_list(request)
        case "pid":
            return str(os.getpid())
        case "crash":
            print(f"{name}: about to crash", file=sys.stderr, flush=True)
            os._exit(3)
        case "hang":
            return None
        case "wait":  # reports its start and never answers
            with open(arguments["fifo"], "w") as signal:  # noqa: PTH123
                signal.write("started\n")
            return None
    return f"{name}.{tool} {json.dumps(arguments)}"


for line in sys.stdin:
    request = json.loads(line)
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": name, "version": "0.1"}
            send(
                id=request["id"], result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            )
        case "tools/list":
            if held is None:
                send_list(request["id"])
            else:
                held.append(request["id"])
        case "tools/call" if request["params"]["name"] == "refuse":
            send(id=request["id"], error={"code": -32602, "message": "I would rather not"})
        case "tools/call":
            text = call(request["params"]["name"], request["params"].get("arguments") or {})
            if text is not None:
                send(id=request["id"], result={"content": [{"type": "text", "text": text}]})
        case _ if "id" in request:
            send(id=request["id"], error={"code": -32601, "message": "Method not found"})

while lingers:  # ignore the end of input
    time.sleep(60)
