"""``termwise warm``: compile the kernels in advance."""

from __future__ import annotations

import time

from termwise.cli.options import JsonFlag
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note_line, print_json, print_text


def command(as_json: JsonFlag = False) -> None:
    """Compile everything for this machine, so that no command waits for it.

    The code of the numerical functions is kept for this version of termwise and this processor: in the folder that the
    environment variable TERMWISE_CACHE names, or in the user's folder for caches. Without this command, a function is
    compiled when a command has enough work for it; small collections need none.

    For example:

    termwise warm
    """
    from termwise.compilation import all_kernels, warm
    from termwise.kernels.code_cache import VARIABLE, folder_of, unused_place, writable_folder

    if (place := unused_place()) is not None:
        note_line(f"{VARIABLE} is not used: {place} is no folder that only this user can write")
    begin = time.perf_counter()
    with progress_bar() as progress:
        number = warm(progress=progress)
    seconds = time.perf_counter() - begin
    folder = writable_folder() if number else folder_of(all_kernels()[0].name)
    if as_json:
        print_json({"compiled": number, "folder": str(folder), "seconds": round(seconds, 1)})
    elif number:
        print_text(
            f"compiled {counted(number, 'numerical function')} in {seconds:.0f} s; their code is in {folder}"
        )
    else:
        print_text(f"nothing to compile: the code of all numerical functions is in {folder}")
