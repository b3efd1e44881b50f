"""A service in a process of its own, for real clients."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(*arguments: str | Path) -> Iterator[int]:
    """Start ``termwise serve`` at a free port, and yield the port."""
    command = [sys.executable, "-m", "termwise", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r":(\d+)/", line)
        assert found, line
        reader = threading.Thread(target=process.stderr.read)  # so that the log never fills the pipe
        reader.start()
        try:
            yield int(found[1])
        finally:
            process.terminate()
            reader.join()
