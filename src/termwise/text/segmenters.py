"""Chinese and Japanese words of dictionaries: jieba and MeCab.

Runs of Chinese or Japanese characters are split into words, and other text as `StandardWords`. All words are in lower
case, of one width, and composed (see `termwise.text.folding.composed`). Runs longer than 1,000 characters are split
there.

References
----------
.. [1] https://github.com/fxsjy/jieba
.. [2] P. McCann, *fugashi, a Tool for Tokenizing Japanese in Python*, NLP-OSS 2020.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from termwise.errors import MissingExtraError
from termwise.text.characters import lower_case
from termwise.text.cjk import cjk_runs, one_width
from termwise.text.folding import composed
from termwise.text.standard_words import StandardWords

_LONGEST = 1000
"""Longest part of a run that is segmented at once, in characters."""

_PARTICLES = ("助詞", "助動詞", "補助記号", "記号", "空白")
"""Parts of speech of UniDic that are left out: particles, auxiliary verbs, symbols, spaces."""


class _Segmenter(ABC):
    """Words of runs of Chinese or Japanese characters."""

    name = "its dictionary"
    options: Mapping[str, str]

    def words(self, text: str) -> Iterator[tuple[int, int, str]]:
        for is_run, characters in cjk_runs(text, StandardWords().spans(text), hangul=False):
            begin, end = characters[0][0], characters[-1][1]
            if not is_run:
                yield begin, end, lower_case(one_width(composed(text[begin:end])))
                continue
            run, places = _composed_run(text, characters)
            for start in range(0, len(run), _LONGEST):
                for first, last, form in self._segmented(run[start : start + _LONGEST]):
                    yield (
                        characters[places[start + first]][0],
                        characters[places[start + last - 1]][1],
                        lower_case(one_width(form)),
                    )

    def fixes(self, options: Mapping[str, object]) -> Sequence[str]:
        return ["install the version it was made with", "build the index again"]

    @abstractmethod
    def _segmented(self, run: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and form of each word of a run, in the order of their starts."""


def _composed_run(text: str, characters: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """Return the characters of a run in one normal form, and the number of the character of each place in it."""
    forms = [composed(text[start:end]) for start, end in characters]
    return "".join(forms), [number for number, form in enumerate(forms) for _ in form]


class ChineseWords(_Segmenter):
    """Words of jieba 0.42.1 [1]_ in its mode for search engines: long words, and the words in them.

    Its dictionary is read without the cache that it keeps in the folder of temporary files.
    """

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

    def _segmented(self, run: str) -> Iterator[tuple[int, int, str]]:
        words = self._tokenizer.tokenize(run, mode="search")
        yield from sorted((start, end, word) for word, start, end in words)


class JapaneseWords(_Segmenter):
    """Words of MeCab with the dictionary UniDic, from fugashi [2]_ and unidic-lite, in their dictionary form.

    Particles, auxiliary verbs and symbols are left out.
    """

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

    def _segmented(self, run: str) -> Iterator[tuple[int, int, str]]:
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
