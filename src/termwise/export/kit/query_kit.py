"""Query kit of termwise: query texts to query weights, in front of any search engine.

It needs Python 3.11 or later and the files of its folder; for the languages of the stemmers of Snowball also the
package snowballstemmer. The README of the folder describes the results. On the command line::

    python query_kit.py "green tea"          # the query as JSON
    python query_kit.py --tokens "green tea"  # the tokens of each part
    python query_kit.py < queries.txt         # one query a line, one JSON object a line
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import struct
import sys
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal, Protocol

MANIFEST = "query_kit.json"
FORMAT = "termwise-query-kit"
VERSION = 1

LEVELS = 127
"""Largest absolute value of a number in a query table."""

IMPACTS, BIASES = 255, 65535
"""Largest impact and largest document bias in an index."""

QUERY_BITS = 12
"""Bits of the largest query weight that is rounded."""

DENSE_LIMIT = 1 << 53
"""Products of vectors are below it."""

Row = list[tuple[int, float]]
"""Pairs of a term number and its weight, ascending."""


class QueryKit:
    """Queries of one index or of a mixture.

    Parameters
    ----------
    folder : str or Path
        Folder with ``query_kit.json``.

    Raises
    ------
    ValueError
        If the folder has another format, or a file is missing or damaged.
    ImportError
        If the analyzer needs the package snowballstemmer, and it is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        files = _Files(Path(folder))
        try:
            for described in files.manifest["parts"]:
                _check_part(described)
            self.parts = [_Part(described, files) for described in files.manifest["parts"]]
            if not self.parts:
                raise LookupError("no parts")
        except (LookupError, TypeError, AttributeError) as error:  # all other files have checksums
            raise _damaged(files.folder / MANIFEST, f"{type(error).__name__}: {error}") from error

    def tokens(self, text: str) -> dict[str, list[str]]:
        """Return the tokens of a text in each part, by its name."""
        return {part.name: part.analyzer.tokens(text) for part in self.parts}

    def query(self, text: str) -> dict[str, Any]:
        """Return the weights or the vector of a query in each part, and the constant of its scores.

        Raises
        ------
        OverflowError
            If the weights are so large that sums of integers would not be exact.
        """
        parts = [part.query(text) for part in self.parts]
        return {"parts": parts, "constant": math.fsum(part.get("constant", 0.0) for part in parts)}


class _Files:
    """Files of a kit, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest = folder / MANIFEST
        data = _bytes(manifest)
        try:
            self.manifest = json.loads(data)
            seen = (self.manifest.get("format"), self.manifest.get("version"))
        except (ValueError, AttributeError) as error:
            raise _damaged(manifest, str(error)) from error
        if seen != (FORMAT, VERSION):
            raise ValueError(f"expected {FORMAT} {VERSION}, found {seen[0]} {seen[1]}: {manifest}")
        self._vocabularies: dict[str, list[str]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._analyzers: dict[tuple[str, str | None], Analyzer] = {}

    def read(self, name: str) -> bytes:
        data = _bytes(self.folder / name)
        if hashlib.sha256(data).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise _damaged(self.folder / name, "its SHA-256 is another one")
        return data

    def vocabulary(self, name: str) -> tuple[list[str], dict[str, int]]:
        """Return the tokens of a vocabulary, and their numbers."""
        if name not in self._vocabularies:
            self._vocabularies[name] = json.loads(self.read(name))
            self._numbers[name] = {token: number for number, token in enumerate(self._vocabularies[name])}
        return self._vocabularies[name], self._numbers[name]

    def floats(self, name: str | None, code: Literal["f", "d"]) -> array[float] | None:
        """Return little-endian numbers, of 4 bytes (``f``) or 8 (``d``)."""
        if name is None:
            return None
        numbers: array[float] = array(code)
        numbers.frombytes(self.read(name))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def analyzer(self, name: str, pieces: str | None) -> Analyzer:
        if (name, pieces) not in self._analyzers:
            described = json.loads(self.read(name))
            if pieces is not None:
                described["pieces"] = self.vocabulary(pieces)[0]
            self._analyzers[name, pieces] = analyzer_of(described)
        return self._analyzers[name, pieces]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"a file of the query kit cannot be read: {path}: {error.strerror}") from error


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(f"a file of the query kit is damaged: {path}: {reason}")


def _is_whole(value: object, most: int = 1 << 53) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_positive(value: object) -> bool:
    return type(value) in (int, float) and 1e-300 < value < 1e300  # type: ignore[operator]


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "kind": lambda value: value in ("sparse", "dense"),
    "weight": lambda value: value == 0 or _is_positive(value),
    "scale": lambda value: value is None or _is_positive(value),
    "weighting": lambda value: value in ("counts", "log-counts", "occurrences", "idf"),
    "unknown": lambda value: value is None or isinstance(value, str),
    "terms": _is_whole,
    "background": _is_flag,
    "unit": _is_positive,
}
_SPARSE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "exact": _is_flag,
    "bias_bits": lambda value: _is_whole(value, 8),
    "limit": lambda value: _is_whole(value) and value > 0,
    "largest_shift": lambda value: _is_whole(value, 8),
}
_DENSE_CHECKS: dict[str, Callable[[Any], bool]] = {"dimensions": lambda value: _is_whole(value) and value > 0}


def _check_part(part: Mapping[str, Any]) -> None:
    """Raise `LookupError` for a part in ``query_kit.json`` with a missing or wrong value."""
    is_dense = part["kind"] == "dense"
    for name, is_right in {**_CHECKS, **(_DENSE_CHECKS if is_dense else _SPARSE_CHECKS)}.items():
        if not is_right(part[name]):
            raise LookupError(f"wrong {name} of a part")
    files = part["files"]
    needed = [("rows", is_dense), ("shifts", is_dense), ("weights", part["weighting"] == "idf")]
    if any((name in files) != is_needed for name, is_needed in needed):
        raise LookupError("wrong files of a part")


class _Part:
    """One index: its analyzer, vocabulary, weights and, for vectors, query table."""

    def __init__(self, described: Mapping[str, Any], files: _Files) -> None:
        names: Mapping[str, str] = described["files"]
        self.name: str = described["name"]
        self.analyzer = files.analyzer(names["analyzer"], names.get("pieces"))
        self._tokens, self._numbers = files.vocabulary(names["vocabulary"])
        self._weights = files.floats(names.get("weights"), "f")
        self._factors = files.floats(names.get("factors"), "d")
        self._floors = files.floats(names.get("floors"), "d")
        self._rows = memoryview(files.read(names["rows"])).cast("b") if "rows" in names else None
        self._shifts = files.read(names["shifts"]) if "shifts" in names else b""
        size = len(self._shifts) * described.get("dimensions", 0)
        if described["terms"] != len(self._tokens) or size != len(self._rows or b""):
            raise LookupError("terms or dimensions of a part differ from its files")
        self._settings = described
        scale = described["scale"]
        self._share: float | None = None if scale is None else described["weight"] / scale

    def query(self, text: str) -> dict[str, Any]:
        row = self._row(text)
        return self._sparse(row) if self._rows is None else self._dense(row, self._rows)

    def _row(self, text: str) -> Row:
        """Return the weights of terms, with the factors of a changed index."""
        counts: dict[int, int] = {}
        for token in self.analyzer.tokens(text):
            number = self._numbers.get(token)
            if number is not None and token != self._settings["unknown"]:
                counts[number] = counts.get(number, 0) + 1
        row = {
            number: weight for number, count in counts.items() if (weight := self._weight(number, count)) > 0
        }
        if row and self._settings["background"]:
            row[self._settings["terms"]] = sum(row.values())
        return [
            (number, _rounded(row[number]) * (1.0 if self._factors is None else self._factors[number]))
            for number in sorted(row)
        ]

    def _weight(self, number: int, count: int) -> float:
        if self._weights is not None:
            return self._weights[number]
        weighting = self._settings["weighting"]
        if weighting == "counts":
            return float(count)
        return 1.0 + math.log(count) if weighting == "log-counts" else 1.0

    def _sparse(self, row: Row) -> dict[str, Any]:
        settings, exact = self._settings, self._settings["exact"]
        limit = settings["limit"] if settings["background"] else None
        bits = settings["bias_bits"]
        scale = 1.0 if exact else _unit([weight for _, weight in row], limit, bits)
        weights: Row = [(term, weight if exact else max(1, round(weight / scale))) for term, weight in row]
        constant = 0.0
        if self._floors is not None:
            constant = math.fsum(self._floors[term] * (weight * scale) for term, weight in weights)
        background = weights.pop()[1] if settings["background"] and weights else 0
        unit = settings["unit"] * scale
        if not exact:
            if settings["background"]:
                unit /= 2**bits
                weights = [(term, weight * 2**bits) for term, weight in weights]
            largest = sum(weight for _, weight in weights) * IMPACTS + background * BIASES
            if largest * 2 ** settings["largest_shift"] >= settings["limit"]:
                raise _too_large()
        share = 1.0 if self._share is None else self._share
        return {
            "name": self.name,
            "kind": "sparse",
            "coefficient": share * unit,
            "constant": share * constant,
            "terms": {self._tokens[term]: weight for term, weight in weights},
            "numbers": {str(term): weight for term, weight in weights},
            "background": background,
        }

    def _dense(self, row: Row, rows: memoryview[int]) -> dict[str, Any]:
        size: int = self._settings["dimensions"]
        known = []
        for term, weight in row:
            values = rows[term * size : (term + 1) * size].tolist() if term < len(self._shifts) else []
            if any(values):
                known.append((term, weight, values))
        scale = _unit([weight for _, weight, _ in known])
        factors = [max(1, round(weight / scale)) << self._shifts[term] for term, weight, _ in known]
        vector = [0] * size
        for factor, (_, _, values) in zip(factors, known, strict=True):
            vector = [number + factor * value for number, value in zip(vector, values, strict=True)]
        if max(sum(factors) * LEVELS**2, sum(map(abs, vector)) * LEVELS) >= DENSE_LIMIT:
            raise _too_large()
        coefficient = unit = self._settings["unit"] * scale
        if self._share is not None:
            length = math.sqrt(sum(value * value for value in vector)) * unit
            coefficient = self._share * unit / length if length else 0.0
        return {"name": self.name, "kind": "dense", "coefficient": coefficient, "vector": vector}


def _rounded(value: float) -> float:
    """Round to a floating-point number of 32 bits."""
    number: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return number


def _too_large() -> OverflowError:
    return OverflowError("the query weights are too large for exact sums")


def _unit(weights: Sequence[float], limit: int | None = None, bias_bits: int = 0) -> float:
    """Return the unit of query weights; with a limit, the last one is that of the document bias."""
    if all(weight == round(weight) for weight in weights):
        return 1.0
    terms = weights[:-1] if limit is not None and len(weights) > 1 else weights
    scale = math.ldexp(1.0, math.frexp(max(terms))[1] - QUERY_BITS)
    if limit is not None:
        largest = (sum(terms) * IMPACTS * 2**bias_bits + weights[-1] * BIASES) / scale
        scale *= 2.0 ** max(0, math.ceil(math.log2(largest / limit)) + 1)
    return scale


# Analyzers


class Analyzer(Protocol):
    """Splits text into tokens."""

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, in its order."""


def analyzer_of(description: Mapping[str, Any]) -> Analyzer:
    """Make the analyzer of a description, see ``query_kit.json``.

    Raises
    ------
    ValueError
        If a later version of termwise wrote it.
    """
    kinds: dict[str, type[Words] | type[Pieces]] = {"words": Words, "pieces": Pieces}
    if description["kind"] not in kinds:
        raise ValueError(f"unknown kind of analyzer: {description['kind']}")
    return kinds[description["kind"]](description)


_SURROGATE = re.compile("[\ud800-\udfff]")

Spans = list[tuple[int, int]]
"""Half-open ranges of characters."""

Patterns = Mapping[str, re.Pattern[str]]


class _Ranges(dict[int, Any]):
    """Values of characters for ``str.translate``, from ranges: the gap since the last one, its length, its value."""

    def __init__(self, ranges: Sequence[int], make: Callable[[int, int], Any]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._values = ranges[2::3]
        self._make = make
        end = 0
        for gap, length in zip(ranges[0::3], ranges[1::3], strict=True):
            self._starts.append(end + gap)
            end += gap + length
            self._ends.append(end)

    def __missing__(self, point: int) -> Any:
        place = bisect_right(self._starts, point) - 1
        value = self._values[place] if place >= 0 and point < self._ends[place] else 0
        made = self[point] = self._make(point, value)
        return made


class _Forms(dict[str, Any]):
    """Cache of the results of a function for the words that it was called with."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function

    def __missing__(self, word: str) -> Any:
        if len(self) >= 1 << 17:
            self.clear()
        form = self[word] = self._function(word)
        return form


class Words:
    """Words of a text by regular expressions over classes of characters, and steps that change or drop them."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        if description["tokenizer"] not in _TOKENIZERS:
            raise ValueError(f"unknown tokenizer: {description['tokenizer']}")
        self._spans = _TOKENIZERS[description["tokenizer"]]
        self._patterns = {name: re.compile(pattern) for name, pattern in description["patterns"].items()}
        self._classes: _Ranges | None = None
        if "classes" in description:
            letters: str = description["classes"]["letters"]
            self._classes = _Ranges(description["classes"]["ranges"], lambda _, value: letters[value])
        self._steps = [_step(step) for step in description["steps"]]
        self._forms = _Forms(self._form)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, in its order."""
        text = _SURROGATE.sub("\ufffd", text)
        classes = text if self._classes is None else text.translate(self._classes)
        spans = self._spans(text, classes, self._patterns)
        return [form for start, end in spans if (form := self._forms[text[start:end]])]

    def _form(self, word: str) -> str:
        return _all(word, self._steps)


def _all(word: str, steps: Sequence[Callable[[str], str]]) -> str:
    """Apply steps in order, until one drops the word."""
    for step in steps:
        word = step(word)
        if not word:
            break
    return word


def _first(word: str, rules: Sequence[tuple[int, re.Pattern[str], str]]) -> str:
    """Apply the first rule that fits: the length to exceed, a pattern, and what replaces its matches."""
    for longer, pattern, new in rules:
        if len(word) > longer and pattern.search(word):
            return pattern.sub(new, word)
    return word


def _matches(text: str, classes: str, patterns: Patterns) -> Spans:
    return _spans(patterns["word"], classes)


def _spans(pattern: re.Pattern[str], text: str) -> Spans:
    return [match.span() for match in pattern.finditer(text)]


_LONGEST = 255
"""Longest word in UTF-16 code units."""

_STRETCH = 1024
"""Characters that are searched at a time."""


def _standard_words(text: str, classes: str, patterns: Patterns) -> Spans:
    """Return words by the Unicode word boundaries: the longest match of a word or an emoji."""
    classes = _shortened(classes, patterns)
    if patterns["letter or emoji"].search(classes) is None:
        found = [match.span() for match in patterns["word"].finditer(classes)]
        if all(end - start <= _LONGEST // 2 for start, end in found):
            return found
    found = []
    place = 0
    while place < len(text):
        stretch = min(place + _STRETCH, len(text))
        last = stretch if stretch == len(text) else stretch - _LONGEST
        match = patterns["word"].search(classes, place, stretch)
        if match is None or match.start() > last:
            place = last
            continue
        start, end = match.span()
        if end - start > _LONGEST // 2 or patterns["letter or emoji"].match(classes, start):
            limit = start + _fitting(text[start : start + _LONGEST])
            matches = [patterns[name].match(classes, start, limit) for name in ("word", "emoji")]
            end = max((match.end() for match in matches if match), default=start)
        if end > start:
            found.append((start, end))
        place = max(end, start + 1)
    return found


def _shortened(classes: str, patterns: Patterns) -> str:
    """Return classes in which underscores too far from a word to belong to it are those of other characters."""
    if patterns["many underscores"].search(classes) is None:
        return classes

    def shorter(match: re.Match[str]) -> str:
        before, run = match[1] or "", match[2]
        head = 0 if match[1] is None else _LONGEST
        is_before_word = patterns["after underscores"].match(classes, match.end())
        tail = max(head, len(run) - _LONGEST) if is_before_word else len(run)
        return before + run[:head] + patterns["low line"].sub("a", run[head:tail]) + run[tail:]

    return patterns["underscores"].sub(shorter, classes)


def _fitting(text: str) -> int:
    """Count the characters that fit into the longest word."""
    units = 0
    for count, character in enumerate(text):
        units += 2 if character > "\uffff" else 1
        if units > _LONGEST:
            return count
    return len(text)


def _code_words(text: str, classes: str, patterns: Patterns) -> Spans:
    """Return identifiers, each followed by its parts if it has several."""

    def ranges(word: str) -> Spans:
        whole, parts = (0, len(word)), _spans(patterns["part"], word)
        return parts if parts == [whole] else [whole, *parts]

    return _beside_marks(classes, patterns["word"], ranges)


def _words_with_parts(text: str, classes: str, patterns: Patterns) -> Spans:
    """Return words, and for compounds of several parts also the parts and the words that some parts form."""

    def ranges(word: str) -> Spans:
        parts, runs, leads = (_spans(patterns[name], word) for name in ("part", "run", "lead"))
        if len(parts) < 2:
            return parts
        joined = [
            (start, end) for start, end in [(0, len(word)), *runs, *leads] if end - start <= _LONGEST_COMPOUND
        ]
        return sorted({*joined, *parts}, key=lambda span: (span[0], -span[1]))

    with_hyphens = patterns["code"].sub(lambda code: code[0].replace(_DASH, "-"), classes)
    return _beside_marks(with_hyphens, patterns["word"], ranges)


_NOT_SEEN, _MARK, _DASH = "\x7f", "\x1f", "\x1e"
_MARKS = re.compile(f"(?:{_NOT_SEEN}*{_MARK})*")
_LONGEST_COMPOUND = 64


def _beside_marks(classes: str, word: re.Pattern[str], ranges: Callable[[str], Spans]) -> Spans:
    """Return the ranges in each word, without marks inside words."""
    places = [place for place, kind in enumerate(classes) if kind not in (_NOT_SEEN, _MARK)]
    kinds = "".join(classes[place] for place in places)

    def end_in_text(end: int) -> int:
        marks = _MARKS.match(classes, places[end - 1] + 1)
        return len(classes) if marks is None else marks.end()

    return [
        (places[found.start() + start], end_in_text(found.start() + end))
        for found in word.finditer(kinds)
        for start, end in ranges(found[0])
    ]


def _cjk_pairs(text: str, classes: str, patterns: Patterns) -> Spans:
    """Return words, with pairs of neighbours in place of Chinese, Japanese and Korean words."""
    found: Spans = []
    run: Spans = []

    def pairs() -> Spans:
        return run if len(run) == 1 else [(run[n][0], run[n + 1][1]) for n in range(len(run) - 1)]

    for start, end in _standard_words(text, classes, patterns):
        is_cjk = patterns["cjk"].fullmatch(classes, start, end) is not None
        if not is_cjk or (run and run[-1][1] != start):
            found += pairs()
            run = []
        if is_cjk:
            run += [unit.span() for unit in patterns["unit"].finditer(classes, start, end)]
        else:
            found.append((start, end))
    return found + pairs()


_TOKENIZERS: dict[str, Callable[[str, str, Patterns], Spans]] = {
    "whitespace": _matches,
    "unicode-words": _matches,
    "standard-words": _standard_words,
    "standard-words-persian": _standard_words,
    "code-words": _code_words,
    "cjk-bigrams": _cjk_pairs,
    "words-with-parts": _words_with_parts,
}


def _step(step: Mapping[str, Any]) -> Callable[[str], str]:
    """Return the function of a step, which returns an empty text to drop a word."""
    if "map" in step:
        table = str.maketrans(*step["map"])
        return lambda word: word.translate(table)
    if "replace" in step:
        forms: dict[str, str] = step["replace"]
        pattern = _any_of(forms)
        return lambda word: pattern.sub(lambda found: forms[found[0]], word)
    if "drop" in step:
        dropped = frozenset(step["drop"])
        return lambda word: "" if word in dropped else word
    if "first" in step:
        rules_in_order = [(longer, re.compile(pattern), new) for longer, pattern, new in step["first"]]
        return lambda word: _first(word, rules_in_order)
    if "normalize" in step:
        form = step["normalize"]
        return lambda word: unicodedata.normalize(form, word)
    if "unless" in step:
        other, conditional = re.compile(step["unless"]), [_step(each) for each in step["steps"]]
        return lambda word: word if other.search(word) else _all(word, conditional)
    if "longer" in step:
        longer, steps = step["longer"], [_step(each) for each in step["steps"]]
        return lambda word: _all(word, steps) if len(word) > longer else word
    if step.get("stem") == "snowball":
        return _snowball(step["language"])
    stemmers = {"english": _english_stem, "porter": _porter_stem}
    if step.get("stem") not in stemmers:
        raise ValueError(f"unknown step: {', '.join(step)}")
    stem, rules = stemmers[step["stem"]], step["rules"]
    return lambda word: stem(word, rules) or word


SNOWBALL = "3.1"
"""Version of Snowball, whose other versions have other stems."""


def _snowball(language: str) -> Callable[[str], str]:
    """Return the stemmer of a language of snowballstemmer, a new one for each word: threads cannot share one."""
    try:
        seen = metadata.version("snowballstemmer")
        module = import_module(f"snowballstemmer.{language}_stemmer")
    except ImportError:
        seen = "none"
    if not f"{seen}.".startswith(f"{SNOWBALL}."):
        raise ImportError(
            f"the analyzer stems {language} with snowballstemmer {SNOWBALL}, found {seen}: "
            f"pip install 'snowballstemmer=={SNOWBALL}.*'",
            name="snowballstemmer",
        )
    stemmer = getattr(module, "".join(map(str.title, language.split("_"))) + "Stemmer")
    return lambda word: stemmer().stemWord(word) or word


def _any_of(texts: Sequence[str] | Mapping[str, str]) -> re.Pattern[str]:
    """Return the pattern of any of some texts, the longest one first."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))


_VOWEL = re.compile("[aeiouy]")
_REGION = re.compile("[aeiouy][^aeiouy]")
_SHORT = re.compile(r"[^aeiouy][aeiouy][^aeiouywxY]\Z|\A[aeiouy][^aeiouy]\Z|past\Z")
_FINAL_Y = re.compile(r"(?s:.)[^aeiouy][yY]\Z")
_PAST = re.compile(r"(?:eed|ing|ed)(?:ly)?\Z")
_PLURAL = re.compile(r"(?:\A|[^us])s\Z")
_DOUBLE = re.compile(r"(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)\Z")
_LI = re.compile(r"[cdeghkmnrt]li\Z")


def _english_stem(word: str, rules: Mapping[str, Any]) -> str:
    """Return the stem of an English word, as by Snowball 3.1."""
    if word in rules["words"]:
        own: str = rules["words"][word]
        return own
    if len(word) < 3:
        return word
    word = word.removeprefix("'")
    # A y that begins the word or follows a vowel is a consonant, written Y.
    marked = re.sub("([aeiouy])y", r"\1Y", re.sub("^y", "Y", word))
    is_marked = marked != word
    word = marked
    first = next((len(each) for each in rules["beginnings"] if word.startswith(each)), _region(word, 0))
    second = _region(word, first)

    for suffix in ("'s'", "'s", "'"):
        if word.endswith(suffix):
            word = word.removesuffix(suffix)
            break
    if word.endswith("sses"):
        word = word[:-2]
    elif word.endswith(("ied", "ies")):
        word = word[:-2] if len(word) > 4 else word[:-1]
    elif _PLURAL.search(word) and _VOWEL.search(word[:-2]):
        word = word[:-1]

    past = _PAST.search(word)
    if past:
        word = _without_past(word, past[0], first, rules)
    if _FINAL_Y.search(word):
        word = word[:-1] + "i"

    suffix, new = _rule(word, rules["step 2"])
    if suffix:
        word = _replaced(word, suffix, new, first)
    elif word.endswith("logi"):
        word = _replaced(word, "ogi", "og", first)
    elif _LI.search(word):
        word = _replaced(word, "li", "", first)
    suffix, new = _rule(word, rules["step 3"])
    word = _replaced(word, suffix, new, first) if suffix else _replaced(word, "ative", "", second)
    last = next((each for each in rules["step 4"] if word.endswith(each)), None)
    if last and (last != "ion" or word.endswith(("sion", "tion"))):
        word = _replaced(word, last, "", second)
    if word.endswith("e"):
        rest = len(word) - 1
        if rest >= second or (rest >= first and not _SHORT.search(word[:-1])):
            word = word[:-1]
    elif word.endswith("ll"):
        word = _replaced(word, "l", "", second)
    return word.replace("Y", "y") if is_marked else word


def _region(word: str, start: int) -> int:
    """Return the place after the first consonant that follows a vowel, from a start."""
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _rule(word: str, rules: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the first suffix that a word has, and its replacement; empty texts if it has none."""
    return next(((suffix, new) for suffix, new in rules if word.endswith(suffix)), ("", ""))


def _replaced(word: str, suffix: str, new: str, region: int) -> str:
    """Replace a suffix if the word has it, inside a region."""
    begin = len(word) - len(suffix)
    return word[:begin] + new if begin >= region and word.endswith(suffix) else word


def _without_past(word: str, suffix: str, first: int, rules: Mapping[str, Any]) -> str:
    """Return a word without ``ed``, ``ing`` or ``eed``, with ``ly`` or without."""
    stem = word.removesuffix(suffix)
    if suffix.startswith("eed"):
        return stem + "ee" if len(stem) >= first and stem not in rules["kept before eed"] else word
    if suffix == "ing" and len(stem) == 2 and stem[1] == "y" and stem[0] not in "aeiouy":
        return stem[0] + "ie"
    if not _VOWEL.search(stem) or (suffix == "ing" and stem in rules["kept before ing"]):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _DOUBLE.search(stem):
        return stem if len(stem) == 3 and stem[0] in "aeo" else stem[:-1]
    return stem + "e" if len(stem) <= first and _SHORT.search(stem) else stem


def _porter_stem(word: str, rules: Mapping[str, Any]) -> str:
    """Return the stem of an English word, as by Porter's program."""
    if len(word) <= 2:
        return word
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    past = next((suffix for suffix in ("ed", "ing") if word.endswith(suffix)), "")
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    elif past and "v" in _shape(word.removesuffix(past)):
        word = word.removesuffix(past)
        if word.endswith(("at", "bl", "iz")):
            word += "e"
        elif word[-2:-1] == word[-1:] and _shape(word).endswith("c"):
            word = word if word[-1] in "lsz" else word[:-1]
        elif _measure(word) == 1 and _ends_short(word):
            word += "e"
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for step in ("step 2", "step 3"):
        suffix, new = _rule(word, rules[step])
        if suffix and _measure(word.removesuffix(suffix)) > 0:
            word = word.removesuffix(suffix) + new
    for suffix in rules["step 4"]:
        if word.endswith(suffix) and (suffix != "ion" or word.endswith(("sion", "tion"))):
            word = word.removesuffix(suffix) if _measure(word.removesuffix(suffix)) > 1 else word
            break
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(stem: str) -> str:
    """Write ``v`` for each vowel and ``c`` for each consonant."""
    shape = ""
    for letter in stem:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(stem: str) -> int:
    """Count the consonants after a vowel."""
    return _shape(stem).count("vc")


def _ends_short(stem: str) -> bool:
    """Return whether a stem ends in consonant, vowel, consonant other than w, x, y."""
    return stem[-1:] not in ("w", "x", "y") and _shape(stem).endswith("cvc")


_KEPT, _REMOVED, _BREAK, _SPACE, _ALONE, _MAPPED, _SYLLABLE = range(7)
"""Normal forms of characters, see ``query_kit.json``."""


class Pieces:
    """Word pieces as of BERT: the normal form of a text, its words, and the longest pieces of each word."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._unknown: str = description["unknown"]
        self._prefix: str = description["prefix"]
        self._longest: int = description["longest"]
        special: list[str] = description["special"]
        self._special = re.compile(f"({_any_of(special).pattern})") if special else None
        self._mapped: dict[str, str] = description["mapped"]
        self._forms = _Ranges(description["forms"], self._form)
        self._order: dict[str, int] = description["order"]
        self._marks = re.compile(f"[{''.join(self._order)}]{{2,}}") if self._order else None
        self._pieces = frozenset(description["pieces"])
        self._dropped = frozenset(description["drop"])
        self._words = _Forms(self._cut)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, in its order."""
        text = _SURROGATE.sub("\ufffd", text)
        found: list[str] = []
        for place, part in enumerate(self._special.split(text) if self._special else [text]):
            if place % 2:
                found.append(part)
            else:
                for word in filter(None, self._normal(part).split(" ")):
                    found += self._words[word]
        return [token for token in found if token not in self._dropped]

    def _form(self, point: int, value: int) -> str:
        character = chr(point)
        if value == _MAPPED:
            return self._mapped[character]
        if value == _SYLLABLE:
            return unicodedata.normalize("NFD", character)
        return {_KEPT: character, _BREAK: "\0", _SPACE: " ", _ALONE: f" {character} "}.get(value, "")

    def _normal(self, text: str) -> str:
        """Return the normal form, with marks sorted by their combining classes, and words between spaces."""
        text = text.translate(self._forms)
        if self._marks is not None:
            text = self._marks.sub(lambda run: "".join(sorted(run[0], key=self._order.__getitem__)), text)
        return text.replace("\0", "")

    def _cut(self, word: str) -> list[str]:
        """Return the longest pieces of a word, from its beginning; the unknown token if there are none."""
        if len(word) > self._longest:
            return [self._unknown]
        found = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._pieces), None)
            if end is None:
                return [self._unknown]
            found.append(prefix + word[start:end])
            start = end
        return found


def main() -> None:
    """Print the queries of the command line, or of the lines of the standard input, as JSON."""
    parser = argparse.ArgumentParser(description="Print the weights of queries as JSON.")
    parser.add_argument("query", nargs="*", help="text of a query (default: the lines of the standard input)")
    parser.add_argument("--kit", type=Path, default=Path(__file__).parent, help="folder of the query kit")
    parser.add_argument("--tokens", action="store_true", help="print the tokens of each part")
    arguments = parser.parse_args()
    try:
        kit = QueryKit(arguments.kit)
    except (ValueError, ImportError) as error:
        sys.exit(f"query_kit.py: {error}")
    show: Callable[[str], object] = kit.tokens if arguments.tokens else kit.query
    for text in arguments.query or (line.removesuffix("\n").removesuffix("\r") for line in sys.stdin):
        print(json.dumps(show(text), ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
