"""Stop lists that ship with the package, each in a data file with its source."""

from __future__ import annotations

from functools import cache
from importlib import resources

from termwise.errors import UnknownNameError

_NAMES = ("lucene-english", "nltk-english")


@cache
def stop_list(name: str) -> frozenset[str]:
    """Read a stop list that ships with the package.

    Parameters
    ----------
    name : {"lucene-english", "nltk-english"}
        ``lucene-english``: the 33 words of Lucene's ``EnglishAnalyzer``. ``nltk-english``: 179 words of one release
        of the NLTK stop word corpus.

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
    >>> len(stop_list("lucene-english")), len(stop_list("nltk-english"))
    (33, 179)
    """
    if name not in _NAMES:
        raise UnknownNameError.of("stop list", name, _NAMES)
    text = resources.files("termwise.text").joinpath(f"stop-{name}.txt").read_text(encoding="ascii")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
