"""Text from elsewhere, made fit for a terminal or a page: documents, queries, identifiers, lines of broken files."""

from __future__ import annotations

import re

_LINE_BREAK = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_WHITE = str.maketrans("\n\t", "  ")


def legible(text: str, *, directions: bool = False) -> str:
    r"""Replace what must not reach a screen or a file by U+FFFD; every character keeps its position.

    Replaced are control characters, among them the escape that starts a terminal command, and lone surrogates,
    which UTF-8 cannot hold. Line breaks of all kinds become ``\n``.

    Parameters
    ----------
    text : str
        Any text.
    directions : bool, optional
        Keep the characters that change the direction of writing. In a terminal they would turn the rest of the
        line around; HTML can contain them.

    Examples
    --------
    >>> legible("a\x1b[31m\ud800")
    'a�[31m�'
    """
    shown = _CONTROL.sub("�", _LINE_BREAK.sub("\n", text).replace("\r", " "))
    return shown if directions else _DIRECTION.sub("�", shown)


def legible_line(text: str) -> str:
    r"""Make a name or an identifier fit to stand in a line: as `legible`, line breaks and tabs become spaces.

    Examples
    --------
    >>> legible_line("run\t1\n\x1b[2J")
    'run 1 �[2J'
    """
    return legible(text).translate(_WHITE)
