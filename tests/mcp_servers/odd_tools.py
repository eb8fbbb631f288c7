"""A server without an SDK, some of whose tools the protocol does not allow, and some of which no provider does."""

import json
import sys

OBJECT = {"type": "object"}
TOOLS = [
    {"name": "fine", "inputSchema": OBJECT},
    {"name": "without_type", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "odd_output", "inputSchema": OBJECT, "outputSchema": {"type": "string"}},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "odd_properties", "inputSchema": {"type": "object", "properties": 5}},
    {"name": "without_schema"},
    {"name": "not_a_number", "inputSchema": {"type": "object", "default": float("nan")}},
    {"inputSchema": OBJECT},
    "text",
]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        about = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        }
        answer["result"] = about
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
