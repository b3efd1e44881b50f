"""Analyzers that find Chinese and Japanese words with dictionaries: jieba and MeCab."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from termwise.errors import MissingExtraError, VocabularyMismatchError
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION, lower_case, without_surrogates
from termwise.text.cjk import cjk_runs, one_width
from termwise.text.standard_words import StandardWords

SEGMENTED = ("chinese", "japanese")
"""Names of the analyzers."""

_LONGEST = 1000
"""Longest part of a run that is segmented at once, in characters."""

_PARTICLES = ("助詞", "助動詞", "補助記号", "記号", "空白")
"""Parts of speech of UniDic that are left out: particles, auxiliary verbs, symbols, spaces."""


class _Segmenter(Protocol):
    """Finds the words of a run of Chinese or Japanese characters; threads share it."""

    @property
    def options(self) -> Mapping[str, str]:
        """Versions that determine the words."""

    def words(self, run: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and form of each word, in the order of their starts."""


@dataclass(frozen=True, eq=False)
class SegmentingAnalyzer:
    """Splits runs of Chinese or Japanese characters into words of a dictionary, and other text as `StandardWords`.

    All tokens are in lower case and of one width.

    ``chinese``
        Words of jieba 0.42.1 [1]_ in its mode for search engines: long words, and the words in them.
    ``japanese``
        Words of MeCab with the dictionary UniDic, from fugashi [2]_ and unidic-lite, in their dictionary form, without
        particles, auxiliary verbs and symbols.

    Runs longer than 1,000 characters are split there.

    Use `installed` or `make_analyzer` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        Specification with the versions of library and dictionary.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    VocabularyMismatchError
        If another version is installed.

    References
    ----------
    .. [1] https://github.com/fxsjy/jieba
    .. [2] P. McCann, *fugashi, a Tool for Tokenizing Japanese in Python*, NLP-OSS 2020.
    """

    spec: AnalyzerSpec
    _segmenter: _Segmenter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        segmenter = _SEGMENTERS[self.spec.name]()
        here, given = {**segmenter.options, "unicode": UNICODE_VERSION}, dict(self.spec.options)
        if given != here:
            names = [name for name in sorted({*given, *here}) if given.get(name) != here.get(name)]
            raise VocabularyMismatchError(
                "the analyzer was made with another version of its dictionary",
                facts=[
                    ("analyzer", self.spec.name),
                    ("made with", ", ".join(f"{name} {given.get(name)}" for name in names)),
                    ("here", ", ".join(f"{name} {here.get(name)}" for name in names)),
                ],
                fixes=["install the version it was made with", "build the index again"],
            )
        object.__setattr__(self, "_segmenter", segmenter)

    def __reduce__(self) -> tuple[object, ...]:
        return (SegmentingAnalyzer, (self.spec,))

    @classmethod
    def installed(cls, name: str) -> SegmentingAnalyzer:
        """Make the analyzer ``chinese`` or ``japanese`` with the installed library."""
        return cls(AnalyzerSpec(name, {**_SEGMENTERS[name]().options, "unicode": UNICODE_VERSION}))

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    def analyze(self, text: str) -> Analysis:
        """Return the tokens of a text with their character spans."""
        found = list(self._words(without_surrogates(text)))
        spans = np.array([(start, end) for start, end, _ in found], dtype=np.int32).reshape(-1, 2)
        return Analysis(tuple(form for *_, form in found), spans)

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list."""
        return [form for *_, form in self._words(without_surrogates(text))]

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        for is_run, characters in cjk_runs(text, StandardWords().spans(text), hangul=False):
            begin, end = characters[0][0], characters[-1][1]
            if not is_run:
                yield begin, end, lower_case(one_width(text[begin:end]))
                continue
            for start in range(begin, end, _LONGEST):
                for first, last, form in self._segmenter.words(text[start : min(start + _LONGEST, end)]):
                    yield start + first, start + last, lower_case(one_width(form))


class _Chinese:
    """Words of jieba. Its dictionary is read without the cache that it keeps in the folder of temporary files."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in its source
                import jieba
        except ModuleNotFoundError as error:
            raise MissingExtraError.of("jieba", "chinese", "the analyzer chinese") from error
        tokenizer = jieba.Tokenizer()
        with tokenizer.get_dict_file() as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
        self._tokenizer = tokenizer
        self.options = {"jieba": jieba.__version__, "dictionary": digest}

    def words(self, run: str) -> Iterator[tuple[int, int, str]]:
        words = self._tokenizer.tokenize(run, mode="search")
        yield from sorted((start, end, word) for word, start, end in words)


class _Japanese:
    """Words of MeCab with UniDic."""

    def __init__(self) -> None:
        try:
            import fugashi
            import unidic_lite
        except ModuleNotFoundError as error:
            raise MissingExtraError.of(str(error.name), "japanese", "the analyzer japanese") from error
        folder = Path(unidic_lite.DICDIR)
        self._tagger: Any = fugashi.Tagger
        self._arguments = f'-r "{folder / "mecabrc"}" -d "{folder}"'
        self._local = threading.local()  # threads cannot share a tagger
        self.options = {
            "fugashi": ".".join(version("fugashi").split(".")[:2]),
            "unidic-lite": version("unidic-lite"),
        }

    def words(self, run: str) -> Iterator[tuple[int, int, str]]:
        try:
            tagger = self._local.tagger
        except AttributeError:
            tagger = self._local.tagger = self._tagger(self._arguments)
        end = 0
        for word in tagger(run):
            start = end + len(word.white_space)
            end = start + len(word.surface)
            if word.feature.pos1 not in _PARTICLES:
                yield start, end, word.feature.orthBase or word.surface


_SEGMENTERS: Mapping[str, Callable[[], _Segmenter]] = {
    "chinese": cache(_Chinese),
    "japanese": cache(_Japanese),
}
