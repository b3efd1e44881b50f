"""Entry point of ``termwise`` and of ``python -m termwise``."""

from __future__ import annotations

import os
import signal


def script() -> None:
    """Import and run the command line; Ctrl-C during the imports ends the program silently with status 130."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a background process can ignore the signal
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from termwise.cli.main import script as run_script

    signal.signal(signal.SIGINT, handler)
    run_script()


if __name__ == "__main__":
    script()
