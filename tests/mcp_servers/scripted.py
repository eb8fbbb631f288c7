"""A server without the SDK that answers as its first argument says, as JSON.

``answers`` maps methods, and names of tools, to the fields of an answer: ``result`` or ``error``. A method that is
mapped to null ends the server; an unknown method is an error.
"""

import json
import sys

answers = json.loads(sys.argv[1])

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    key = request["method"]
    if key == "tools/call":
        key = request["params"]["name"]
    fields = answers.get(key, {"error": {"code": -32601, "message": "unknown method"}})
    if fields is None:
        sys.exit(5)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **fields}) + "\n")
    sys.stdout.flush()
