"""A server without the SDK that answers as its first argument says, as JSON.

``answers`` maps methods, and names of tools, to the fields of an answer: ``result`` or ``error``. A method that is
mapped to null ends the server; an unknown method is an error. The tool ``slow`` reports its progress for 1.8 s.
"""

import json
import sys
import time

answers = json.loads(sys.argv[1])

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    key = request["method"]
    if key == "tools/call":
        key = request["params"]["name"]
    if key == "slow":
        for step in range(6):
            time.sleep(0.3)
            token = request["params"]["_meta"]["progressToken"]
            report = {"method": "notifications/progress", "params": {"progressToken": token, "progress": step}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **report}) + "\n")
            sys.stdout.flush()
    fields = answers.get(key, {"error": {"code": -32601, "message": "unknown method"}})
    if fields is None:
        sys.exit(5)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **fields}) + "\n")
    sys.stdout.flush()
