"""A server of the old protocol that lists the definitions in a file, as they are now: `listed.py NAME FILE`.

Every tool returns `NAME ran TOOL` and its arguments.
"""

import json
import sys
from pathlib import Path

name, path = sys.argv[1], Path(sys.argv[2])


def answer(request: dict) -> dict:
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": name, "version": "0.1"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": json.loads(path.read_text())}}
        case "tools/call":
            text = f"{name} ran {request['params']['name']} {json.dumps(request['params'].get('arguments') or {})}"
            return {"result": {"content": [{"type": "text", "text": text}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
