"""A server that starts only together with a second one: `rendezvous.py FIFO r|w`."""

import runpy
import sys
from pathlib import Path

with Path(sys.argv[1]).open(sys.argv[2]):  # opening waits for the other end
    pass
sys.argv[1:] = ["rendezvous", "tool_" + sys.argv[2]]
runpy.run_path(str(Path(__file__).with_name("plain.py")))
