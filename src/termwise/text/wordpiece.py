"""WordPiece: words as pieces of a closed vocabulary, with the `tokenizers` library."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache, partial
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import NamedTuple, NoReturn, cast

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from termwise.display.safe_text import settings_text
from termwise.errors import (
    DataError,
    DuplicateIdError,
    MalformedRecordError,
    ParameterError,
)
from termwise.fast_dataclass import dataclass
from termwise.storage.safe_read import read_input
from termwise.text.analyzer import MAX_ANALYZER_FILE, Analysis, Analyzer, AnalyzerSpec
from termwise.text.characters import without_surrogates
from termwise.text.tokenizer_json import load_tokenizer, model_type
from termwise.text.vocabulary import Vocabulary
from termwise.text.word_cache import WordCache

_SHIPPED = "bert-base-uncased"
_SHIPPED_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_TOKENIZER_JSON = "tokenizer.json"
_VOCAB_TXT = "vocab.txt"
_UNKNOWN = "[UNK]"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CASED_SHARE = 0.01

_ASCII_UNIT = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_UNIT = re.compile(rf"(?<![^ \t\n\r])[!-\x7f]*+[^\x00-\x7f][^ \t\n\r]*|{_ASCII_UNIT.pattern}")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def has_english_pieces(analyzer: Analyzer) -> bool:
    """Return whether an analyzer splits text into the pieces of the shipped vocabulary, which is English.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> has_english_pieces(make_analyzer("wordpiece-clean")), has_english_pieces(make_analyzer("english"))
    (True, False)
    """
    return analyzer.spec.options.get("vocabulary") == _SHIPPED


@dataclass(frozen=True, eq=False)
class WordPieceAnalyzer:
    """Splits text into word pieces; a piece that continues a word begins with ``##``.

    There is no truncation and no padding, even if a tokenizer file sets them, and no special tokens are added. A word
    without pieces becomes the unknown token (``[UNK]``), which `clean_vocabulary` removes. The text of a special token
    (``[MASK]``) becomes that token, as in the library. Lone surrogates become U+FFFD. Normalisation and its version of
    Unicode are those of the library.

    Two pieces of one character (the letters of a Hangul syllable) have the same span.

    Use `from_file` or `shipped` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        Specification with the file of the analyzer, or the name of the shipped vocabulary.

    Raises
    ------
    MalformedRecordError
        If the file is not a WordPiece tokenizer or vocabulary.
    ParameterError
        If the specification has neither.

    Examples
    --------
    >>> analyzer = WordPieceAnalyzer.shipped()
    >>> analyzer.tokens("Tokenizing isn't hard")
    ['token', '##izing', 'isn', "'", 't', 'hard']
    >>> analyzer.analyze("Tokenizing").spans.tolist()
    [[0, 5], [5, 10]]
    >>> len(analyzer.vocabulary), analyzer.vocabulary.number("##izing")
    (30522, 6026)
    """

    spec: AnalyzerSpec
    vocabulary: Vocabulary = field(init=False, repr=False)
    _assembled: _Assembled = field(init=False, repr=False)

    def __post_init__(self) -> None:
        assembled = _assembled(*_source(self.spec))
        object.__setattr__(self, "vocabulary", assembled.vocabulary)
        object.__setattr__(self, "_assembled", assembled)

    def __reduce__(self) -> tuple[object, ...]:
        return (WordPieceAnalyzer, (self.spec,))

    @property
    def unknown(self) -> int:
        """Number of the unknown token."""
        return cast(
            int, self.vocabulary.number(self._assembled.tokenizer.model.unk_token)
        )  # checked when it was read

    @property
    def tokenizer_json(self) -> str:
        """The tokenizer in the format of a ``tokenizer.json``."""
        content: str = self._assembled.tokenizer.to_str()
        return content

    @classmethod
    def shipped(cls, *, name: str = "wordpiece") -> WordPieceAnalyzer:
        """Make an analyzer with the uncased BERT vocabulary that ships with the package."""
        return cls(AnalyzerSpec(name, {"vocabulary": _SHIPPED, "sha256": _SHIPPED_SHA256}))

    @classmethod
    def from_file(cls, path: str | Path, *, name: str = "wordpiece") -> WordPieceAnalyzer:
        """Make an analyzer from a ``tokenizer.json`` or a vocabulary with one piece per line.

        Parameters
        ----------
        path : str or Path
            A ``.json`` file is a tokenizer of the `tokenizers` library with a WordPiece model. Any other file is a
            vocabulary, with the normalisation of uncased BERT (no control characters, lower case, no accents, single
            Chinese characters).
        name : str, optional
            Name of the analyzer.

        Raises
        ------
        MissingFileError
            If the file does not exist or cannot be read.
        MalformedRecordError
            If it has another format, or is the vocabulary of a cased model.
        """
        path = Path(path)
        kind = _TOKENIZER_JSON if path.suffix == ".json" else _VOCAB_TXT
        data = read_input(
            path,
            MAX_ANALYZER_FILE,
            f"the {'tokenizer' if kind == _TOKENIZER_JSON else 'vocabulary'} cannot be read",
            fixes=[f"name an existing file: {name}:PATH/{_TOKENIZER_JSON} or {name}:PATH/{_VOCAB_TXT}"],
        )
        try:
            return cls(AnalyzerSpec(name, {}, {kind: data}))
        except DataError as error:
            facts = [(label, path if label == "file" else value) for label, value in error.facts]
            raise type(error)(error.message, facts=facts, fixes=error.fixes) from error

    def analyze(self, text: str) -> Analysis:
        """Return the pieces of a text with their character spans."""
        encoding = self._assembled.tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        spans = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        return Analysis(tuple(encoding.tokens), spans)

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without computing spans."""
        return self._assembled.tokens(text)

    def spans(self, text: str) -> npt.NDArray[np.int32]:
        """Return the character ranges of ``tokens(text)``: shape (tokens, 2)."""
        return self.analyze(text).spans

    def numbers(self, text: str) -> npt.NDArray[np.int32]:
        """Return the number of each of ``tokens(text)`` in the vocabulary: shape (tokens,)."""
        return np.array(self._assembled.numbers(text), dtype=np.int32)


class _Assembled(NamedTuple):
    """Tokenizer of a file, its vocabulary, and its special tokens.

    `pieces` and `piece_numbers` have those of units, and are None if the library processes whole texts only. BERT's
    normaliser and pre-tokenizer process each text between white space separately, and in ASCII text each word and each
    punctuation mark. The pieces of a text are therefore those of its units in sequence: ASCII words and marks, and the
    texts between white space that are not ASCII. The library processes other texts: those with special tokens, or with
    control characters, whose removal joins their neighbours.
    """

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    special: tuple[str, ...]
    pieces: WordCache[list[str]] | None
    piece_numbers: WordCache[list[int]] | None

    def tokens(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        if self.pieces is None or self._is_whole(text):
            return _encoded(self.tokenizer, text)
        return list(chain.from_iterable(map(self.pieces.__getitem__, _units(text))))

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text."""
        if self.piece_numbers is None or self._is_whole(text):
            return _numbers(self.tokenizer, text)
        return list(chain.from_iterable(map(self.piece_numbers.__getitem__, _units(text))))

    def _is_whole(self, text: str) -> bool:
        """Return whether the library processes a text as a whole."""
        return any(token in text for token in self.special) or _ASCII_CONTROL.search(text) is not None


def _encoded(tokenizer: Tokenizer, text: str) -> list[str]:
    tokens: list[str] = tokenizer.encode(without_surrogates(text), add_special_tokens=False).tokens
    return tokens


def _numbers(tokenizer: Tokenizer, text: str) -> list[int]:
    numbers: list[int] = tokenizer.encode(without_surrogates(text), add_special_tokens=False).ids
    return numbers


def _units(text: str) -> list[str]:
    """Return what lies between white space, if it is not ASCII, and else its words and marks."""
    return _ASCII_UNIT.findall(text) if text.isascii() else _UNIT.findall(without_surrogates(text))


def _source(spec: AnalyzerSpec) -> tuple[str, bytes]:
    """Return the name and the contents of the file of a specification."""
    for kind in (_TOKENIZER_JSON, _VOCAB_TXT):
        if kind in spec.files:
            return kind, spec.files[kind]
    if spec.options.get("vocabulary") != _SHIPPED:
        raise ParameterError(
            f"the analyzer {spec.name} needs a vocabulary",
            facts=[
                ("options", settings_text(spec.options) or "none"),
                ("files", ", ".join(spec.files) or "none"),
            ],
            fixes=[f"{spec.name}:PATH/{_TOKENIZER_JSON}", f"{spec.name}:PATH/{_VOCAB_TXT}"],
        )
    data = resources.files("termwise").joinpath("assets", "vocabularies", f"{_SHIPPED}.txt").read_bytes()
    seen = hashlib.sha256(data).hexdigest()
    expected = spec.options.get("sha256", _SHIPPED_SHA256)
    if seen != expected:
        raise MalformedRecordError(
            "the shipped vocabulary differs from the vocabulary that the analyzer was made with",
            facts=[("vocabulary", _SHIPPED), ("sha256 seen", seen), ("sha256 expected", expected)],
            fixes=["install termwise again"],
        )
    return _VOCAB_TXT, data


@lru_cache(maxsize=8)
def _assembled(kind: str, data: bytes) -> _Assembled:
    tokenizer, tokens = _read_tokenizer(data) if kind == _TOKENIZER_JSON else _read_vocabulary(data)
    special = tuple(token.content for token in tokenizer.get_added_tokens_decoder().values())
    pieces = numbers = None
    if _cuts_by_unit(tokenizer):
        pieces, numbers = WordCache(partial(_encoded, tokenizer)), WordCache(partial(_numbers, tokenizer))
    return _Assembled(tokenizer, Vocabulary(tokens), special, pieces, numbers)


def _cuts_by_unit(tokenizer: Tokenizer) -> bool:
    """Return whether the pieces of a text are those of its units."""
    return (
        isinstance(tokenizer.normalizer, normalizers.BertNormalizer)
        and tokenizer.normalizer.clean_text
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and not any(token.normalized for token in tokenizer.get_added_tokens_decoder().values())
    )


def _read_tokenizer(data: bytes) -> tuple[Tokenizer, list[str]]:
    """Return a tokenizer, and its tokens in the order of their numbers."""
    tokenizer = _loaded(data)
    numbers: Mapping[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(numbers, key=numbers.__getitem__)
    for number, token in enumerate(tokens):
        if numbers[token] != number:
            raise _malformed(
                _TOKENIZER_JSON,
                expected="token ids 0, 1, 2, ... without gaps and repetitions",
                seen=f"id {numbers[token]} of {token!r} where {number} should be",
            )
    if tokenizer.model.unk_token not in numbers:
        raise _malformed(
            _TOKENIZER_JSON,
            expected=f"the unknown token {tokenizer.model.unk_token!r}",
            seen="no such token",
        )
    return tokenizer, tokens


def _loaded(data: bytes) -> Tokenizer:
    expected = "a tokenizer.json of the tokenizers library with a WordPiece model"
    try:
        kind = model_type(data)
        if kind == "WordPiece":
            return load_tokenizer(data)
    except ValueError as error:
        raise _malformed(_TOKENIZER_JSON, expected=expected, seen=str(error)) from error
    raise _malformed(
        _TOKENIZER_JSON, expected=expected, seen=f"a model of type {kind!r}" if kind else "no model"
    )


def _read_vocabulary(data: bytes) -> tuple[Tokenizer, list[str]]:
    """Return a tokenizer, and its tokens in the order of their numbers, which is that of the lines."""
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedRecordError.at(
            _VOCAB_TXT, line, expected="UTF-8", seen=repr(data[error.start : error.start + 8])
        ) from error
    numbers = dict(zip(lines, range(len(lines)), strict=True))
    if len(numbers) < len(lines) or "" in numbers:
        _refuse_lines(lines)
    if _UNKNOWN not in numbers:
        raise _malformed(
            _VOCAB_TXT,
            expected=f"a WordPiece vocabulary, one piece per line, with {_UNKNOWN}",
            seen=f"no {_UNKNOWN}",
        )
    upper = re.findall("(?m)^(?:##)?[A-Z].*$", "\n".join(lines))
    cased = [piece for piece in upper if piece not in _SPECIAL]
    if len(cased) > _CASED_SHARE * len(lines):
        raise MalformedRecordError(
            "a vocabulary with upper-case pieces does not determine the normalisation",
            facts=[
                ("file", _VOCAB_TXT),
                ("upper-case pieces", f"{len(cased)} of {len(lines)}, first {cased[0]!r}"),
            ],
            fixes=[f"give the {_TOKENIZER_JSON} of the cased model instead"],
        )
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token=_UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False) for token in _SPECIAL if token in numbers]
    )
    return tokenizer, lines


def _refuse_lines(lines: Sequence[str]) -> NoReturn:
    """Raise the error for the first line that is empty or repeated."""
    numbers: dict[str, int] = {}
    for number, piece in enumerate(lines):
        if not piece:
            raise MalformedRecordError.at(_VOCAB_TXT, number + 1, expected="a piece", seen="an empty line")
        if piece in numbers:
            break
        numbers[piece] = number
    raise DuplicateIdError(
        "a piece is listed twice in a vocabulary",
        facts=[
            ("file", _VOCAB_TXT),
            ("lines", f"{numbers[piece] + 1} and {number + 1}"),
            ("piece", piece),
        ],
    )


def _malformed(name: str, *, expected: str, seen: str) -> MalformedRecordError:
    return MalformedRecordError(
        "a file is not a WordPiece tokenizer",
        facts=[
            ("file", name),
            ("expected", expected),
            ("seen", seen if len(seen) <= 200 else seen[:197] + "..."),
        ],
    )
