"""Splits lines into columns, and tells a header from the first record."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from termwise.errors import ParameterError


def split(line: str, widths: Iterable[int]) -> list[str]:
    r"""Split a line into one of the expected numbers of columns.

    A line with tabs is split at tabs only, so that identifiers may hold spaces; where that does not give an
    expected number of columns, and in a line without tabs, it is split at runs of white space (ASCII only, as
    in trec_eval).

    Parameters
    ----------
    line : str
        Without its line end.
    widths : iterable of int
        Numbers of columns that are expected.

    Returns
    -------
    list of str
        The columns; their number may be an unexpected one, which is for the caller to refuse.

    Examples
    --------
    >>> split("q1 Q0 d1 1 2.5 bm25", [6])
    ['q1', 'Q0', 'd1', '1', '2.5', 'bm25']
    >>> split("q1\ta document\t1", [3])
    ['q1', 'a document', '1']
    """
    if "\t" in line:
        columns = line.split("\t")
        if len(columns) in widths and all(columns):
            return columns
    if line.isascii():
        return line.split()
    return [column.decode() for column in line.encode().split()]


def names_columns(line: str, *, identifiers: Collection[str], texts: Collection[str]) -> bool:
    r"""Tell whether a first line of tab-separated columns is their header.

    It is where its first column is the name of an identifier and a further one the name of a text, in upper or
    lower case: a record would have to be called ``id`` and to say nothing but ``text`` to be taken for a header.

    Parameters
    ----------
    line : str
        Without its line end.
    identifiers, texts : collection of str
        Lower-case names of columns.

    Examples
    --------
    >>> names_columns("ID\ttext", identifiers={"id"}, texts={"text"})
    True
    """
    first, *others = (column.strip().lower() for column in line.split("\t"))
    return first in identifiers and any(name in texts for name in others)


def without_header(
    lines: Iterator[tuple[int, str]], *, identifiers: Collection[str], texts: Collection[str]
) -> Iterator[tuple[int, str]]:
    r"""Yield numbered lines of tab-separated columns, without a first line that names the columns.

    Parameters
    ----------
    lines : iterator of (int, str)
        Line numbers and lines, as `termwise.collection.lines.read_lines` yields them.
    identifiers, texts
        As in `names_columns`.

    Examples
    --------
    >>> lines = [(1, "ID\ttext"), (2, "d1\tmerge lists")]
    >>> list(without_header(iter(lines), identifiers={"id"}, texts={"text"}))
    [(2, 'd1\tmerge lists')]
    """
    for number, line in lines:
        if not names_columns(line, identifiers=identifiers, texts=texts):
            yield number, line
        break
    yield from lines


def is_whole(text: str) -> bool:
    """Return whether `text` is a whole number in ASCII digits, with or without a sign."""
    return re.fullmatch("[+-]?[0-9]+", text) is not None


def separator_character(separator: str) -> str:
    """Return the character that ``"space"`` or ``"tab"`` names.

    Raises
    ------
    ParameterError
        If it names neither.
    """
    known = {"space": " ", "tab": "\t"}
    if separator not in known:
        raise ParameterError(
            "unknown separator", facts=[("given", repr(separator)), ("known", ", ".join(known))]
        )
    return known[separator]


def check_writable(kind: str, value: str, *, tabs: bool) -> None:
    """Refuse an identifier that would not come back from a file as it is.

    Parameters
    ----------
    kind : str
        What it identifies, for the message.
    value : str
        The identifier.
    tabs : bool
        Whether columns are separated by tabs, which lets identifiers hold spaces.

    Raises
    ------
    ParameterError
        If the identifier is empty, cannot be encoded, or holds a separator.
    """
    breaks = any(character in "\t\n\r" for character in value) if tabs else value.split() != [value]
    if value and not breaks and not value.startswith("\ufeff") and _encodes(value):
        return
    white = "tabs and line ends" if tabs else "white space"
    raise ParameterError(
        f"a {kind} cannot be written to a file of columns",
        facts=[
            (kind, ascii(value)),
            ("expected", f"a text that is not empty, without {white}, not led by a byte order mark"),
        ],
        fixes=[]
        if tabs
        else [
            "`separator='tab'`: termwise reads such files, trec_eval does not",
            "give the documents and queries identifiers without spaces",
        ],
    )


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
