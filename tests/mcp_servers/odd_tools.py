"""A server without the SDK that lists valid and invalid tools: `odd_tools.py [VERSION]`.

With a protocol version since 2026 it uses that protocol, otherwise the one of the handshake.
"""

import json
import sys

OBJECT = {"type": "object"}
NUMBERS = {"type": "array", "items": {"type": "integer"}}
TOOLS = [
    {"name": "fine", "inputSchema": OBJECT},
    {"name": "without_type", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "odd_output", "inputSchema": OBJECT, "outputSchema": {"type": "string"}},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "odd_properties", "inputSchema": {"type": "object", "properties": 5}},
    {"name": "without_schema"},
    {"name": "not_a_number", "inputSchema": {"type": "object", "default": float("nan")}},
    {"name": "x\n" * 1000, "inputSchema": {"type": "array"}},
    {"name": "odd_key", "inputSchema": {"type": "object", "properties": {"x\n" * 1000: 5}}},
    {"inputSchema": OBJECT},
    "text",
]
MODERN_TOOLS = [
    {"name": "array", "inputSchema": OBJECT, "outputSchema": NUMBERS},
    {"name": "either", "inputSchema": OBJECT, "outputSchema": {"anyOf": [NUMBERS, OBJECT]}},
    {"name": "referred", "inputSchema": {}, "outputSchema": {"$ref": "#/$defs/N", "$defs": {"N": NUMBERS}}},
    {"name": "no_schema", "inputSchema": OBJECT, "outputSchema": 5},
    {"name": "refused", "inputSchema": OBJECT, "outputSchema": {"type": "array", "items": {"type": "string"}}},
]
modern = sys.argv[1] if len(sys.argv) > 1 else None
REST = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize" and not modern:
        version = message["params"]["protocolVersion"]
        about = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        }
        answer["result"] = about
    elif message["method"] == "server/discover" and modern:
        answer["result"] = {"supportedVersions": [modern], "capabilities": {"tools": {}}, **REST}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [*TOOLS, *MODERN_TOOLS] if modern else TOOLS, **REST}
    elif message["method"] == "tools/call" and modern:
        content = [{"type": "text", "text": "[1, 2]"}]
        answer["result"] = {"content": content, "structuredContent": [1, 2], **REST}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
