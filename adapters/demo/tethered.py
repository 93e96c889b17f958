"""Runs a module that ends with whoever started it: when standard input ends, so does this process.

    python -m locum.adapters.demo.tethered MODULE [ARGUMENT…]

Whoever holds the other end of the pipe need not live to say that it is over: a SIGKILL ends it too.
"""

import os
import runpy
import signal
import sys
import threading
import time

__all__ = ["main"]

STOP_LIMIT = 12.0
"""Seconds that the module may take to end at SIGTERM."""


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_LIMIT)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the module that the arguments name, as `python -m` does."""
    threading.Thread(target=_watch, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
