"""Stop lists that ship with the package, each in a data file with its source."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from termwise.errors import UnknownNameError

_FOLDER = Path(__file__).with_name("stop")


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(entry.stem for entry in _FOLDER.iterdir()))


@cache
def stop_list(name: str) -> frozenset[str]:
    """Read a stop list that ships with the package.

    Parameters
    ----------
    name : str
        ``lucene-english``: the 33 words of Lucene's ``EnglishAnalyzer``. ``lucene-german`` and so on: the words of
        Lucene's analyzer of a language. ``nltk-english``: 179 words of one release of the NLTK stop word corpus.

    Returns
    -------
    frozenset of str
        Lower-case words.

    Raises
    ------
    UnknownNameError
        If there is no such list.

    Examples
    --------
    >>> [len(stop_list(name)) for name in ("lucene-english", "nltk-english", "lucene-german")]
    [33, 179, 231]
    """
    if name not in _names():
        raise UnknownNameError.of("stop list", name, _names())
    text = _FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
