"""``termwise warm``: compile the kernels in advance."""

from __future__ import annotations

import time

from termwise.cli.options import JsonFlag
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, print_json, print_text


def command(as_json: JsonFlag = False) -> None:
    """Compile everything for this machine, so that no command waits for it.

    The code is kept for this version of termwise and this processor. Without this command, each part is compiled when
    it is first needed.

    For example:

    termwise warm
    """
    from termwise.compilation import all_kernels, warm
    from termwise.kernels.code_cache import folder_of, writable_folder

    begin = time.perf_counter()
    with progress_bar() as progress:
        number = warm(progress=progress)
    seconds = time.perf_counter() - begin
    folder = writable_folder() if number else folder_of(all_kernels()[0].name)
    if as_json:
        print_json({"compiled": number, "folder": str(folder), "seconds": round(seconds, 1)})
    elif number:
        print_text(f"compiled {counted(number, 'kernel')} in {seconds:.0f} s; their code is in {folder}")
    else:
        print_text(f"nothing to compile: the code of all kernels is in {folder}")
