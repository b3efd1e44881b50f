"""Detection of the language of a text by py3langid (https://github.com/adbar/py3langid, BSD licence).

The library compares the bytes of a text with models of 140 languages, and gives a probability. Below
`LEAST_PROBABILITY`, or between two languages `LEAST_OF_TWO`, as for names and codes, no language is detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from termwise.errors import MissingExtraError, VocabularyMismatchError

LIBRARY = "py3langid 0.4.0"
"""Name and version of the library. Another version can detect other languages."""

LEAST_PROBABILITY = 0.5
"""Least probability of a language that is detected."""

LEAST_OF_TWO = 0.75
"""Least probability if there are only two languages, of which a text without a clue has one half for each."""

LONGEST = 2000
"""Number of characters of a text that are read."""


def detected_language(text: str, languages: Sequence[str], library: str = LIBRARY) -> str | None:
    """Return the language of a text, one of some codes of ISO 639-1; None if none is probable.

    Parameters
    ----------
    text : str
    languages : sequence of str
        Codes that the library lacks are ignored.
    library : str, optional
        Name and version of the library that an index was built with.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    VocabularyMismatchError
        If another version is installed.

    Examples
    --------
    >>> texts = ["Eine rote Jacke für den Winter", "A red jacket for the winter", "AB-1200"]
    >>> [detected_language(text, ["de", "en", "fr"]) for text in texts]
    ['de', 'en', None]
    """
    detector = _detector(tuple(languages), library)
    language, probability = detector.classify(text[:LONGEST])
    least = LEAST_PROBABILITY if len(detector.labels) > 2 else LEAST_OF_TWO
    return str(language) if probability >= least else None


@cache
def _detector(languages: tuple[str, ...], library: str) -> Any:
    try:
        import py3langid
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError as error:
        raise MissingExtraError.of("py3langid", "languages", "the detection of languages") from error
    if library != f"py3langid {py3langid.__version__}":
        raise VocabularyMismatchError(
            "languages were detected with another version of the library",
            facts=[("built with", library), ("here", f"py3langid {py3langid.__version__}")],
            fixes=[f"pip install '{library.replace(' ', '==')}'"],
        )
    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([each for each in languages if each in found.labels])
    return found
