"""Entry point of ``termwise`` and of ``python -m termwise``."""

from __future__ import annotations

import os
import signal
import sys

ONE_QUERY = ("search", "explain")
"""Commands for which numpy need not start the threads of its linear algebra, which takes 30 to 60 ms."""


def script() -> None:
    """Import and run the command line; Ctrl-C during the imports ends the program silently with status 130."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a background process can ignore the signal
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    if len(sys.argv) > 1 and sys.argv[1] in ONE_QUERY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from termwise.cli.main import script as run_script

    signal.signal(signal.SIGINT, handler)
    run_script()


if __name__ == "__main__":
    script()
