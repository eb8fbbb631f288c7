"""A process that is not a server: `silent` never answers, `dies` exits at once, `babbles` does not write JSON."""

import sys

match sys.argv[1]:
    case "silent":
        print("silent: waiting", file=sys.stderr, flush=True)
        sys.stdin.read()
    case "dies":
        print("first line\nNO_TOKEN: set the token", file=sys.stderr, flush=True)
        sys.exit(2)
    case "babbles":
        print("hello, I am not JSON", flush=True)
