"""Description of an analyzer as JSON data, from which the programs of the query kit make the same tokens.

Tokenizers are regular expressions over classes of characters, so the description has the classes of all characters as
ranges, and the expressions with one letter for each class. Steps are replacements of characters, words to drop, and the
rules of stemmers. Word pieces have the normal form of each character, computed by the `tokenizers` library itself.
``docs/reference/query-kit.md`` documents the format.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.export.language_steps import LANGUAGES, SNOWBALL_LANGUAGES, language_steps, snowball_steps
from termwise.export.stem_rules import ENGLISH, PORTER
from termwise.text import Analyzer
from termwise.text.characters import INVISIBLE, character_table
from termwise.text.cjk import (
    HANGUL,
    IGNORED,
    LEADING,
    SYLLABLES,
    TRAILING,
    VOICED,
    VOWELS,
    cjk_character,
    ignored_characters,
    one_width,
)
from termwise.text.cleaned_analyzer import CleanedAnalyzer
from termwise.text.code_words import IDENTIFIER, PART
from termwise.text.folding import (
    ACCENTS,
    FOLDED_LETTERS,
    KEPT_LETTERS,
    NOT_NORMALISED,
    held_letters,
    kept_accents,
)
from termwise.text.language_parts import LANGUAGE_PARTS, CatalanWords, LanguageWords
from termwise.text.standard_words import standard_rules
from termwise.text.stop_lists import stop_list
from termwise.text.token_filters import DIGIT, UNLESS_NUMBER, WITHOUT_ACCENTS, without_accents
from termwise.text.tokenizer import NOT_SPACE, unicode_word
from termwise.text.word_analyzer import WordAnalyzer
from termwise.text.wordpiece import WordPieceAnalyzer
from termwise.text.words_with_parts import (
    CODE,
    DECIMAL_COMMA,
    JOINT,
    NUMBER_FIRST,
    OTHER,
    SKIPPED,
    WordsWithParts,
    kinds_of_characters,
)

SUPPORTED = (
    *("english", "standard", "whitespace", "sa", "stm1", "stm2", "code", "cjk", "english-parts"),
    *LANGUAGES,
    *("czech-parts", "german-codes", "italian-parts", "portuguese-parts", "spanish-parts"),
    *("wordpiece", "wordpiece-clean", "bert-token", "scibert-token"),
)
"""Analyzers that can be described. Those of words can have further steps, as ``standard+stop+porter``."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters that stand for the classes of characters in regular expressions; the first one for characters not listed."""

_NOT_ALONE = {ord("|"), *range(0xD800, 0xE000)}
"""Surrogates, and the character that separates others when their normal forms are computed."""
_SET = re.compile(r"\[((?:\\x[0-9a-f]{2})+)\]|<(\d+(?:,\d+)*)>")
_EXTRA = 64
"""Factor of further properties, above the numbers of the classes in `character_table`."""

_VISIBLE = {"first": [[0, f"[{INVISIBLE}]+", ""]]}
"""Step that removes characters that are not seen."""

Numbers = npt.NDArray[np.int64]


def describe_analyzer(analyzer: Analyzer, *, pieces: bool = True, snowball: bool = False) -> dict[str, Any]:
    """Return the description of an analyzer, of JSON values.

    Parameters
    ----------
    analyzer : Analyzer
    pieces : bool, optional
        Whether to include the vocabulary of word pieces. It is large, and an index often has the same one.
    snowball : bool, optional
        Whether to describe stemmers of Snowball, too. Of the programs, only that in Python has them, from a package.

    Returns
    -------
    dict
        See ``docs/reference/query-kit.md``.

    Raises
    ------
    ParameterError
        If the analyzer is not one of `SUPPORTED`, nor with `snowball` one of `SNOWBALL_LANGUAGES`, or its tokenizer has
        another form than that of BERT.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> described = describe_analyzer(make_analyzer("standard+porter"))
    >>> described["kind"], described["tokenizer"], [next(iter(step)) for step in described["steps"]]
    ('words', 'standard-words', ['first', 'unless', 'replace', 'map', 'stem'])
    """
    head = {"name": analyzer.spec.name, "fingerprint": analyzer.spec.fingerprint}
    if isinstance(analyzer, WordAnalyzer):
        name = analyzer.tokenizer.name
        if name not in _TOKENIZERS:
            raise _unsupported(analyzer, snowball, ("word tokenizer", name))
        steps = [described for step in analyzer.steps for described in _step(analyzer, step.name, snowball)]
        return {**head, "kind": "words", "tokenizer": name, **_TOKENIZERS[name](), "steps": steps}
    if isinstance(analyzer, CleanedAnalyzer):
        described = _pieces(analyzer, analyzer.uncleaned, pieces)
        return {**head, **described, "drop": sorted(analyzer.removed)}
    if isinstance(analyzer, WordPieceAnalyzer):
        return {**head, **_pieces(analyzer, analyzer, pieces), "drop": []}
    raise _unsupported(analyzer, snowball)


def _unsupported(analyzer: Analyzer, snowball: bool, *facts: tuple[str, object]) -> ParameterError:
    return ParameterError(
        "the query kit cannot reproduce this analyzer",
        facts=[
            ("analyzer", analyzer.spec.name),
            *facts,
            ("supported", ", ".join(SUPPORTED + SNOWBALL_LANGUAGES if snowball else SUPPORTED)),
        ],
        fixes=[
            "build the index with one of these analyzers",
            "compute the weights of queries with termwise",
        ],
    )


# Words


@cache
def _whitespace() -> dict[str, Any]:
    return {"patterns": {"word": NOT_SPACE.pattern}}


@cache
def _unicode_words() -> dict[str, Any]:
    classes = character_table().classes.astype(np.int64)
    classes[ord("’")] = classes[ord("'")]
    for first, last in re.findall("(.)(?:-(.))?", INVISIBLE):
        classes[ord(first) : ord(last or first) + 1] = classes[0x301]
    return _over_classes(classes, {"word": unicode_word().pattern})


@cache
def _standard_words() -> dict[str, Any]:
    return _over_classes(character_table().classes.astype(np.int64), _standard_patterns())


@cache
def _persian_words() -> dict[str, Any]:
    classes = character_table().classes.astype(np.int64)
    classes[0x200C] = classes[ord(" ")]
    return _over_classes(classes, _standard_patterns())


def _standard_patterns() -> dict[str, str]:
    rules = standard_rules()
    before_and_run = rules.underscores.pattern.rpartition("(?P<after>")[0]
    after = rules.underscores.pattern.rpartition("(?=")[2].removesuffix("))?")
    return {
        "word": rules.word.pattern,
        "emoji": rules.emoji.pattern,
        "letter or emoji": rules.letter_or_emoji.pattern,
        "low line": rules.low_line.pattern,
        "many underscores": rules.many_underscores.pattern,
        "underscores": re.sub(r"\?P<[a-z]+>", "", before_and_run),
        "after underscores": after,
    }


@cache
def _cjk_words() -> dict[str, Any]:
    """Return the description of `CjkWords`: the classes of standard words, by further properties of characters."""
    classes = character_table().classes.astype(np.int64)
    extra = np.zeros_like(classes)
    for number, characters in enumerate((HANGUL, LEADING, VOWELS, TRAILING, SYLLABLES), start=1):
        for first, last in re.findall("(.)-(.)", characters):
            extra[ord(first) : ord(last) + 1] = number
    classes += extra * _EXTRA
    hangul, ignored = _with_extra(classes, 1, 2, 3, 4, 5), _with_properties(classes, IGNORED)
    leading, vowels, trailing, syllables = (_set(_with_extra(classes, number)) for number in (2, 3, 4, 5))
    patterns = {
        **_standard_patterns(),
        "cjk": f"(?:{cjk_character().pattern}|{_set(hangul)}{_set(hangul | ignored)}*)",
        "unit": (f"(?:{leading}{vowels}{trailing}?|{syllables}{trailing}|.){ignored_characters().pattern}*"),
    }
    return _over_classes(classes, patterns)


def _with_extra(classes: Numbers, *wanted: int) -> set[int]:
    return {number for number in np.unique(classes).tolist() if number // _EXTRA in wanted}


def _with_properties(classes: Numbers, names: Iterable[str]) -> set[int]:
    properties = character_table().properties
    return {
        number for number in np.unique(classes).tolist() if not properties[number % _EXTRA].isdisjoint(names)
    }


def _set(numbers: Iterable[int]) -> str:
    """Write a set of class numbers into a pattern for `_over_classes`."""
    return f"<{','.join(map(str, sorted(numbers)))}>"


def _over_classes(classes: Numbers, patterns: Mapping[str, str]) -> dict[str, Any]:
    r"""Merge the classes that no pattern distinguishes, and write each as a letter.

    `classes` has a number for each code point; modulo `_EXTRA`, it is that of `character_table`. Sets in the patterns
    are ``[\x01\x02]``, with numbers of `character_table`, or ``<1,65>``, with numbers of `classes`.
    """
    present = np.unique(classes).tolist()
    sets: list[frozenset[int]] = []

    def numbered(match: re.Match[str]) -> str:
        if match[1] is None:
            members = frozenset(map(int, match[2].split(",")))
        else:
            base = {int(number, 16) for number in match[1].split("\\x")[1:]}
            members = frozenset(number for number in present if number % _EXTRA in base)
        if members not in sets:
            sets.append(members)
        return f"<{sets.index(members)}>"

    marked = {name: _SET.sub(numbered, pattern) for name, pattern in patterns.items()}
    merged: dict[tuple[bool, ...], str] = {}
    letters: dict[int, str] = {}
    unlisted = int(classes[-1])
    for number in sorted(present, key=lambda number: (number != unlisted, number)):
        members = tuple(number in each for each in sets)
        letters[number] = merged.setdefault(members, LETTERS[len(merged)])

    def lettered(match: re.Match[str]) -> str:
        return f"[{''.join(sorted({letters[number] for number in sets[int(match[2])]}))}]"

    used = "".join(merged.values())
    places = np.zeros(max(present) + 1, dtype=np.int64)
    for number, letter in letters.items():
        places[number] = used.index(letter)
    return {
        "classes": {"letters": used, "ranges": _ranges(places[classes])},
        "patterns": {name: _SET.sub(lettered, pattern) for name, pattern in marked.items()},
    }


def _ranges(values: Numbers) -> list[int]:
    """Return the runs of values other than 0: for each, the gap since the last run, its length, and the value."""
    bounds = np.flatnonzero(np.diff(values, prepend=0, append=0))
    starts = bounds[:-1] if len(bounds) else bounds
    found: list[int] = []
    last = 0
    for start, end in zip(starts.tolist(), bounds[1:].tolist(), strict=True):
        if values[start]:
            found += [start - last, end - start, int(values[start])]
            last = end
    return found


@cache
def _code_words() -> dict[str, Any]:
    """Return the description of `CodeWords`, whose expressions are over kinds of characters."""
    return {**_kinds_of_characters(), "patterns": {"word": IDENTIFIER.pattern, "part": PART.pattern}}


@cache
def _words_with_parts(words: type[WordsWithParts]) -> dict[str, Any]:
    """Return the description of `WordsWithParts` of any language, whose expressions are over kinds of characters."""
    return {
        "tokenizer": "words-with-parts",
        **_kinds_of_characters("·" if words is CatalanWords else ""),
        "patterns": {
            "word": words.compound.pattern,
            "part": words.part.pattern,
            "run": words.run.pattern,
            "lead": words.lead.pattern,
            "code": CODE.pattern,
        },
    }


def _kinds_of_characters(skipped: str = "") -> dict[str, Any]:
    """Return the kinds of all characters as classes, of which some more are skipped."""
    kinds = kinds_of_characters().copy()
    kinds[[ord(char) for char in skipped]] = ord(SKIPPED)
    codes = sorted(np.unique(kinds).tolist(), key=lambda code: (code != ord(OTHER), code))
    places = np.zeros(256, dtype=np.int64)
    places[codes] = np.arange(len(codes))
    return {"classes": {"letters": "".join(map(chr, codes)), "ranges": _ranges(places[kinds])}}


_PARTS: tuple[type[WordsWithParts], ...] = (
    WordsWithParts,
    LanguageWords,
    *(type(words) for words in LANGUAGE_PARTS.values()),
)

_TOKENIZERS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "whitespace": _whitespace,
    "unicode-words": _unicode_words,
    "standard-words": _standard_words,
    "standard-words-persian": _persian_words,
    "code-words": _code_words,
    "cjk-bigrams": _cjk_words,
    **{words.name: partial(_words_with_parts, words) for words in _PARTS},
}
"""Classes of characters and regular expressions of each word tokenizer."""


@cache
def _lower_case() -> list[dict[str, Any]]:
    lower = character_table().lower
    changed = [point for point in np.flatnonzero(lower != np.arange(len(lower))).tolist() if point != 0x130]
    return [
        {"replace": {"\u0130": "i\u0307"}},
        {"map": ["".join(map(chr, changed)), "".join(chr(lower[point]) for point in changed)]},
    ]


@cache
def _one_width() -> list[dict[str, Any]]:
    """Return the replacements of `one_width`: of single characters, and of Katakana with a sound mark."""
    narrow = [chr(point) for point in range(0xFF01, 0xFFE0) if len(one_width(chr(point))) == 1]
    changed = [each for each in narrow if one_width(each) != each and each not in "\uff9e\uff9f"]
    pairs = {
        kana + mark: one_width(kana + mark)
        for kana in VOICED
        for mark in "\uff9e\uff9f"
        if len(one_width(kana + mark)) == 1
    }
    marks = {mark: one_width(mark) for mark in "\uff9e\uff9f"}
    return [{"map": ["".join(changed), "".join(map(one_width, changed))]}, {"replace": {**pairs, **marks}}]


def _composed() -> list[dict[str, Any]]:
    return [_VISIBLE, {"unless": NOT_NORMALISED, "steps": [{"normalize": "NFC"}]}]


def _folded() -> list[dict[str, Any]]:
    return [
        _VISIBLE,
        {"unless": NOT_NORMALISED, "steps": [{"normalize": "NFKD"}]},
        {"first": [[0, ACCENTS.pattern, ""]]},
        {"replace": FOLDED_LETTERS},
        {"unless": NOT_NORMALISED, "steps": [{"normalize": "NFC"}]},
    ]


def _step(analyzer: Analyzer, name: str, snowball: bool) -> list[dict[str, Any]]:
    """Return the description of a step of an analyzer of words."""
    if name.endswith(UNLESS_NUMBER):
        steps = _step(analyzer, name.removesuffix(UNLESS_NUMBER), snowball)
        return [{"unless": DIGIT, "steps": steps}]
    if name.startswith("stop:") and name.endswith(WITHOUT_ACCENTS):
        return [{"drop": sorted(without_accents(name.removeprefix("stop:").removesuffix(WITHOUT_ACCENTS)))}]
    if name.startswith("stop:"):
        return [{"drop": sorted(stop_list(name.removeprefix("stop:")))}]
    if name == "lower-case":
        return _lower_case()
    if name == "one-width":
        return _one_width()
    if name == "joined":
        without_points = {"first": [[0, r"\.", ""]]}
        decimal_points, joints = (
            {"first": [[0, each.pattern, to]]} for each, to in ((DECIMAL_COMMA, "."), (JOINT, ""))
        )
        return [decimal_points, joints, {"unless": NUMBER_FIRST, "steps": [without_points]}]
    if name == "composed":
        return _composed()
    if name == "folded":
        return _folded()
    if name.startswith("folded:"):
        letters = KEPT_LETTERS[name.removeprefix("folded:")]
        held = held_letters(letters)
        return [
            *_composed(),
            {"first": [[0, kept_accents(letters), ""]]},
            {"replace": held},
            *_folded(),
            {"replace": {own: letter for letter, own in held.items()}},
        ]
    known: dict[str, dict[str, Any]] = {
        "straight-apostrophes": {"replace": {"’": "'"}},
        "stem:porter": {"stem": "porter", "rules": PORTER},
        "stem:snowball-english-3.1": {"stem": "english", "rules": ENGLISH},
    }
    if name in known:
        return [known[name]]
    if snowball and (stemmed := snowball_steps(name)):
        return stemmed
    if name not in language_steps():
        raise _unsupported(analyzer, snowball, ("step", name))
    return language_steps()[name]


# Word pieces

KEPT, REMOVED, BREAK, SPACE, ALONE, MAPPED, SYLLABLE = range(7)
"""What the normal form of a character is: the character; nothing; nothing, as a mark that keeps its neighbours in
order; a space; the character between spaces; a text of its own; the letters of a syllable."""


def _pieces(analyzer: Analyzer, pieces: WordPieceAnalyzer, with_vocabulary: bool) -> dict[str, Any]:
    tokenizer = json.loads(pieces.tokenizer_json)
    model, normalizer, words = tokenizer["model"], tokenizer["normalizer"], tokenizer["pre_tokenizer"]
    added = tokenizer["added_tokens"]
    expected = {
        "model": model["type"] == "WordPiece",
        "normalizer": (normalizer or {}).get("type") == "BertNormalizer" and normalizer["clean_text"],
        "pre_tokenizer": (words or {}).get("type") == "BertPreTokenizer",
        "added_tokens": not any(
            token[flag] for token in added for flag in ("single_word", "lstrip", "rstrip", "normalized")
        ),
    }
    if not all(expected.values()):
        other = ", ".join(part for part, is_known in expected.items() if not is_known)
        raise _unsupported(analyzer, True, ("parts of the tokenizer in another form", other))
    return {
        "kind": "pieces",
        "unknown": model["unk_token"],
        "prefix": model["continuing_subword_prefix"],
        "longest": model["max_input_chars_per_word"],
        "special": sorted(token["content"] for token in added),
        **_normal_forms(json.dumps(normalizer, sort_keys=True)),
        **({"pieces": list(pieces.vocabulary)} if with_vocabulary else {}),
    }


@lru_cache(maxsize=2)
def _normal_forms(settings: str) -> dict[str, Any]:
    """Return the normal form of each character by a normaliser of the `tokenizers` library, with words cut at spaces.

    Punctuation marks are words, so they have spaces on both sides. In the order of marks, the numbers are combining
    classes of characters that stay: the library sorts neighbours by them.
    """
    import tokenizers

    skeleton = tokenizers.Tokenizer(tokenizers.models.WordPiece({"x": 0}, unk_token="x"))
    written = {**json.loads(skeleton.to_str()), "normalizer": json.loads(settings)}
    normalizer = tokenizers.Tokenizer.from_str(json.dumps(written)).normalizer
    forms: dict[str, str] = {}
    kept: set[str] = set()
    for start in range(0, 0x110000, 8192):
        block = [chr(point) for point in range(start, start + 8192) if point not in _NOT_ALONE]
        block_forms = normalizer.normalize_str("|".join(block)).split("|") if block else []
        forms |= {char: form for char, form in zip(block, block_forms, strict=True) if form != char}
        kept.update(*set(block_forms))
    cut = _cut_at("".join(kept))
    values = np.zeros(0x110000, dtype=np.int64)
    mapped: dict[str, str] = {}
    for char in sorted({*forms, *cut}):
        form = "".join(cut.get(each, each) for each in forms.get(char, char))
        if not form:
            is_starter = unicodedata.category(char) == "Mn" and not unicodedata.combining(char)
            value = BREAK if is_starter else REMOVED
        elif not form.strip(" "):
            value = SPACE
        elif form.strip(" ") == char:
            value = ALONE
        elif "가" <= char <= "힣" and form == unicodedata.normalize("NFD", char):
            value = SYLLABLE
        else:
            value = MAPPED
            mapped[char] = form
        values[ord(char)] = value
    values[ord("|")] = ALONE
    marks = sorted(char for char in kept if unicodedata.combining(char))
    order = {char: unicodedata.combining(char) for char in marks if _is_sorted_with_others(normalizer, char)}
    return {"forms": _ranges(values), "mapped": mapped, "order": order}


def _is_sorted_with_others(normalizer: Any, mark: str) -> bool:
    """Return whether a normaliser sorts a mark among its neighbours, because its version of Unicode has the mark."""
    first, last = "\U00016ff0", "\U0001d16d"  # marks that stay, of a low and a high combining class
    return any(normalizer.normalize_str(text) != text for text in (mark + first, last + mark))


def _cut_at(characters: str) -> dict[str, str]:
    """Return a space for each white-space character, and a mark between spaces for each punctuation mark."""
    import tokenizers

    cut: dict[str, str] = {}
    splitter = tokenizers.pre_tokenizers.BertPreTokenizer()
    for start in range(0, len(characters), 8192):
        block = characters[start : start + 8192]
        text = "".join(f"x{character}" for character in block)
        end = 0
        for _, (first, last) in splitter.pre_tokenize_str(text):
            cut |= {text[place]: " " for place in range(end, first)}
            if last == first + 1 and first % 2:
                cut[text[first]] = f" {text[first]} "
            end = last
        cut |= {text[place]: " " for place in range(end, len(text))}
    return cut
