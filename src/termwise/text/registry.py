"""Registry of analyzers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.fixes import Fix
from termwise.text.analyzer import Analyzer, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION
from termwise.text.standard_words import StandardWords
from termwise.text.token_filters import (
    COMPOSED,
    ENGLISH_CLITICS,
    ENGLISH_SINGULAR,
    FOLDED,
    JOINED,
    LOWER_CASE,
    PORTER,
    SIMPLE_LEMMA,
    STRAIGHT_APOSTROPHES,
    WordStep,
    snowball,
    stop_words,
    unless_number,
)
from termwise.text.tokenizer import UnicodeWords, WhitespaceWords, WordTokenizer
from termwise.text.whole_words import WholeWords
from termwise.text.word_analyzer import WordAnalyzer
from termwise.text.words_with_parts import WordsWithParts
from termwise.validation import check

if TYPE_CHECKING:
    from termwise.text.analyzer_by_attribute import AnalyzerByAttribute

BY_ATTRIBUTE = "by-attribute"
"""Beginning of the names of analyzers by an attribute, and their name in specifications."""

_STOP = stop_words("lucene-english")
_LONG_STOP = stop_words("nltk-english")

_WORDS: Mapping[str, tuple[WordTokenizer, tuple[WordStep, ...]]] = MappingProxyType(
    {
        "english": (
            UnicodeWords(),
            (COMPOSED, STRAIGHT_APOSTROPHES, LOWER_CASE, _STOP, snowball("english")),
        ),
        "english-parts": (
            WordsWithParts(),
            (FOLDED, JOINED, LOWER_CASE, _STOP, ENGLISH_SINGULAR, unless_number(snowball("english"))),
        ),
        "standard": (StandardWords(), (COMPOSED, LOWER_CASE)),
        "whitespace": (WhitespaceWords(), ()),
        "sa": (StandardWords(), (LOWER_CASE,)),
        "stm1": (WhitespaceWords(), (LOWER_CASE, PORTER)),
        "stm2": (StandardWords(), (LOWER_CASE, PORTER)),
        "lemmas-simple": (
            StandardWords(),
            (
                COMPOSED,
                STRAIGHT_APOSTROPHES,
                LOWER_CASE,
                _LONG_STOP,
                ENGLISH_CLITICS,
                SIMPLE_LEMMA,
                _LONG_STOP,
            ),
        ),
    }
)
"""Tokenizer and steps of the analyzers that most indexes have."""

_CLEANED = "wordpiece-clean"
_PIECES = ("wordpiece", _CLEANED, "bert-token", "scibert-token")
_GROUP = "termwise.analyzers"
_WITHOUT_VOCABULARY = "scibert-token"
_ADDED: Mapping[str, WordStep] = MappingProxyType(
    {"lower": LOWER_CASE, "stop": _STOP, "porter": PORTER, "snowball": snowball("english")}
)
_LIBRARIES = ("chinese", "japanese", "lemmas")


@cache
def _all_words() -> Mapping[str, tuple[WordTokenizer, tuple[WordStep, ...]]]:
    """Return tokenizer and steps of all analyzers of words; importing some takes long."""
    from termwise.text.cjk import CjkWords, one_width
    from termwise.text.code_words import CodeWords
    from termwise.text.language_compounds import COMPOUNDS
    from termwise.text.language_parts import LANGUAGE_PARTS, steps_with_compounds, steps_with_parts
    from termwise.text.languages import LANGUAGES, PersianWords

    return {
        **_WORDS,
        "code": (CodeWords(), (COMPOSED, LOWER_CASE)),
        "cjk": (
            CjkWords(),
            (COMPOSED, WordStep("one-width", one_width), LOWER_CASE, stop_words("lucene-cjk")),
        ),
        **{
            name: (PersianWords() if name == "persian" else StandardWords(), (COMPOSED, *steps))
            for name, steps in LANGUAGES.items()
        },
        **{f"{name}-parts": (words, steps_with_parts(name)) for name, words in LANGUAGE_PARTS.items()},
        **{
            f"{name}-{kind}": (words, steps_with_compounds(name))
            for name, compounds in COMPOUNDS.items()
            for kind, words in (("parts", compounds), ("codes", WordsWithParts()))
        },
    }


def _known(name: str) -> tuple[WordTokenizer, tuple[WordStep, ...]] | None:
    """Return tokenizer and steps of an analyzer of words."""
    return _WORDS.get(name) or _all_words().get(name)


def _tokenizers(words: Mapping[str, tuple[WordTokenizer, tuple[WordStep, ...]]]) -> dict[str, WordTokenizer]:
    """Return the tokenizers of some analyzers by name."""
    return {tokenizer.name: tokenizer for tokenizer, _ in words.values()}


def _steps(words: Mapping[str, tuple[WordTokenizer, tuple[WordStep, ...]]]) -> dict[str, WordStep]:
    """Return the steps of some analyzers, and those that can be added, by name."""
    return {
        step.name: step
        for step in (*_ADDED.values(), *(step for _, steps in words.values() for step in steps))
    }


def analyzer_names() -> tuple[str, ...]:
    """Return all analyzer names.

    Examples
    --------
    >>> analyzer_names()[:3]
    ('english', 'english-parts', 'standard')
    """
    return (*_all_words(), *_LIBRARIES, *_PIECES)


def make_analyzer(name: str, *, whole: Iterable[str] = ()) -> Analyzer:
    """Make an analyzer by name.

    Parameters
    ----------
    name : str
        ``english``
            Unicode words, composed, lower case, 33 stop words, Snowball English stems.
        ``english-parts``
            As ``english``, with accents folded, singulars of irregular plurals, and compounds such as ``AB-1200/X``,
            ``getUserById``, ``T-shirt`` and ``5 GHz`` both joined and in parts; see `WordsWithParts`. The default of an
            index.
        ``standard``
            Word boundaries as in Lucene's StandardTokenizer (UAX #29), composed, lower case.
        ``whitespace``
            Text between white space, unchanged.
        ``german``, ``french``, ``spanish`` and 30 other languages
            Words as in ``standard``, composed, lower case, stop words and stems of the language, as in Lucene's
            analyzer of the same language; see `termwise.text.languages`.
        ``german-parts``, ``dutch-parts``, ``swedish-parts``, ``norwegian-parts``, ``danish-parts``
            As the analyzer of the language, with compounds such as *Winterjacke* also in their parts, and those of
            `WordsWithParts`; see `termwise.text.language_compounds`. Accents are folded, except those of letters of the
            language. Need the extra ``simplemma``.
        ``german-codes``, ``dutch-codes``, ``swedish-codes``, ``norwegian-codes``, ``danish-codes``
            The same without the dictionary: *Winterjacke* is one word.
        ``french-parts``, ``spanish-parts``, ``polish-parts`` and 17 other languages
            As the analyzer of the language, with accents folded, and with compounds such as ``AB-1200/X`` both joined
            and in parts; see `termwise.text.language_parts`.
        ``code``
            Identifiers of program code and their parts (``getUserById`` gives getuserbyid, get, user, by, id), lower
            case; see `CodeWords`.
        ``cjk``
            Pairs of neighbouring Chinese, Japanese and Korean characters; words of other scripts as in ``standard``;
            without 35 English stop words, as in Lucene's CJKAnalyzer; see `CjkWords`.
        ``chinese``, ``japanese``
            Words of the dictionaries of jieba and of MeCab; see `LibraryAnalyzer`. Need the extras ``chinese`` and
            ``japanese``.
        ``lemmas``
            English lemmas by spaCy, without 179 stop words; see `LibraryAnalyzer`. Needs the extra ``spacy``.
        ``lemmas-simple``
            Words as in ``standard``, without 179 stop words; lemmas of a dictionary, see `SIMPLE_LEMMA`. Needs the
            extra ``simplemma``.
        ``wordpiece``, ``wordpiece:FILE``
            Word pieces of the uncased BERT vocabulary, or of a ``tokenizer.json`` or ``vocab.txt``.
        ``wordpiece-clean``, ``wordpiece-clean:FILE``
            The same without stop words and symbols, as in queries for the TILDE models; see `clean_vocabulary`, mode
            ``repo``.
        ``by-attribute:NAME``, ``by-attribute:NAME:VALUE=ANALYZER,VALUE=ANALYZER``
            The analyzer of the language that an attribute of the document names, such as ``by-attribute:lang``; see
            `make_analyzer_by_attribute`.
        ``sa``, ``stm1``, ``stm2``, ``bert-token``, ``bert-token:FILE``, ``scibert-token:FILE``
            Analyzers of the query-by-example experiments [1]_: the Elasticsearch standard analyzer; white space,
            lower case and Porter stems; standard tokenizer, lower case and Porter stems; the pieces of BERT and of
            SciBERT (whose vocabulary does not ship with the package).

        Composed words are in the normal form NFC, without characters that are not seen, such as soft hyphens:
        decomposed letters make no other words. So do all analyzers in the list above that do not fold accents, except
        ``whitespace``, ``lemmas`` and those of word pieces.

        A word analyzer can have further steps, in order: ``standard+stop+porter``, ``whitespace+lower``. Steps are
        ``lower``, ``stop`` (the 33 words), ``porter`` and ``snowball``.

    whole : iterable of str, optional
        Words that an analyzer with parts leaves whole, such as brands, in any case, with or without accents. Of a text
        of several words, each word is left whole.

    Returns
    -------
    Analyzer
        Can be pickled and shared by threads.

    Raises
    ------
    UnknownNameError
        If there is no such analyzer or step.
    MissingFileError, MalformedRecordError
        If FILE cannot be read or is not a WordPiece tokenizer.
    ParameterError
        If the analyzer needs a FILE, or has words to leave whole and no parts.
    MissingExtraError
        If an extra is not installed.

    References
    ----------
    .. [1] A. Abolghasemi, A. Askari and S. Verberne, arXiv 2210.05512, ICTIR 2022, table 2.

    Examples
    --------
    >>> make_analyzer("english").tokens("The world’s sorted lists")
    ['world', 'sort', 'list']
    >>> make_analyzer("standard+stop+porter").tokens("The world’s sorted lists")
    ['world’', 'sort', 'list']
    >>> make_analyzer("english-parts", whole=["Hi-Tek"]).tokens("Hi-Tek T-shirt")
    ['hitek', 'tshirt', 't', 'shirt']
    """
    if (whole := tuple(whole)) and not name.startswith(f"{BY_ATTRIBUTE}:"):
        return with_whole_words(make_analyzer(name), whole)
    base, colon, path = name.partition(":")
    if base in _PIECES:
        from termwise.text.cleaned_analyzer import CleanedAnalyzer
        from termwise.text.wordpiece import WordPieceAnalyzer

        if path and base == _CLEANED:
            return CleanedAnalyzer.of(WordPieceAnalyzer.from_file(path, name=base))
        if path:
            return WordPieceAnalyzer.from_file(path, name=base)
        if colon or base == _WITHOUT_VOCABULARY:
            raise ParameterError(
                f"the analyzer {base} needs a vocabulary file",
                facts=[("given", name), ("expected", f"{base}:FILE")],
                fixes=[f"{base}:PATH/vocab.txt or {base}:PATH/tokenizer.json, as published with the model"],
            )
        return CleanedAnalyzer.shipped() if base == _CLEANED else WordPieceAnalyzer.shipped(name=base)
    if base == BY_ATTRIBUTE:
        from termwise.text.analyzer_by_attribute import parse_choice

        return make_analyzer_by_attribute(*parse_choice(path), whole=whole)
    if name in _LIBRARIES:
        from termwise.text.library_analyzer import LibraryAnalyzer

        return LibraryAnalyzer.installed(name)
    base, *added = name.split("+")
    known = _known(base)
    if known is None:
        if (make := _own_maker(name)) is not None:
            return _made(make, AnalyzerSpec(name))
        raise UnknownNameError.of("analyzer", name, analyzer_names())
    tokenizer, steps = known
    for step in added:
        if step not in _ADDED:
            raise UnknownNameError.of("analyzer step", step, _ADDED)
    return WordAnalyzer(name, tokenizer, (*steps, *(_ADDED[step] for step in added)))


def analyzer_from_spec(spec: AnalyzerSpec) -> Analyzer:
    """Make an analyzer from its specification.

    Raises
    ------
    UnknownNameError
        If this version has no such tokenizer or step.
    VocabularyMismatchError
        If the analyzer belongs to another version of Unicode or spaCy.
    MissingExtraError
        If an extra is not installed.
    MalformedRecordError
        If a file is damaged.

    Examples
    --------
    >>> spec = make_analyzer("english").spec
    >>> analyzer_from_spec(spec).spec.fingerprint == spec.fingerprint
    True
    """
    options = spec.options
    if spec.name == BY_ATTRIBUTE and options:
        from termwise.text.analyzer_by_attribute import AnalyzerByAttribute

        return AnalyzerByAttribute.from_spec(spec, analyzer_from_spec)
    base = spec.name.partition("+")[0]
    is_known = (
        base in _WORDS or base in _PIECES or base in analyzer_names()
    )  # the names of all import many modules
    if not is_known and (make := _own_maker(spec.name)) is not None:
        return _made(make, spec)
    if spec.name in _LIBRARIES:
        from termwise.text.library_analyzer import LibraryAnalyzer

        return LibraryAnalyzer(spec)
    if "tokenizer" not in options:
        if spec.name not in _PIECES:
            raise UnknownNameError.of("analyzer", spec.name, analyzer_names())
        from termwise.text.cleaned_analyzer import CleanedAnalyzer
        from termwise.text.wordpiece import WordPieceAnalyzer

        return CleanedAnalyzer(spec) if spec.name == _CLEANED else WordPieceAnalyzer(spec)
    tokenizer, steps = str(options["tokenizer"]), options.get("steps", [])
    tokenizers = _tokenizers(_WORDS)
    if tokenizer not in tokenizers:
        tokenizers = _tokenizers(_all_words())
    if tokenizer not in tokenizers:
        if isinstance(options["tokenizer"], str) and (known := _known(base)):
            raise VocabularyMismatchError(
                "the analyzer was made by another version of termwise, with other words",
                facts=[("analyzer", spec.name), ("words", tokenizer), ("here", known[0].name)],
                fixes=["build the index again with this version of termwise"],
            )
        raise UnknownNameError.of("word tokenizer", tokenizer, tokenizers)
    if not isinstance(steps, list | tuple):
        raise ParameterError("the steps of an analyzer are a list", facts=[("steps", shown(steps))])
    if options.get("unicode") != UNICODE_VERSION:
        raise VocabularyMismatchError(
            "the analyzer was made for another version of Unicode",
            facts=[("analyzer", spec.name), ("made for", options.get("unicode")), ("here", UNICODE_VERSION)],
            fixes=["build the index again with this version of termwise"],
        )
    words, whole = tokenizers[tokenizer], options.get("whole")
    if whole is not None:
        if not isinstance(whole, list | tuple) or not all(isinstance(word, str) for word in whole):
            raise ParameterError("the whole words of an analyzer are a list", facts=[("whole", shown(whole))])
        words = WholeWords(words, frozenset(whole))
    return WordAnalyzer(spec.name, words, [step_named(str(step)) for step in steps])


def with_whole_words(analyzer: Analyzer, words: Iterable[str]) -> Analyzer:
    """Return an analyzer with parts that leaves some words whole; raises `ParameterError` if it has no parts."""
    words = tuple(words)
    if not isinstance(analyzer, WordAnalyzer) or not analyzer.tokenizer.nested:
        raise ParameterError(
            "only an analyzer with parts leaves words whole",
            facts=[("analyzer", analyzer.spec.name), ("whole", ", ".join(map(shown, words[:3])))],
            fixes=[Fix.omit("whole"), Fix.use(analyzer="english-parts")],
        )
    return WordAnalyzer(analyzer.name, WholeWords.of(analyzer.tokenizer, words), analyzer.steps)


def make_analyzer_by_attribute(
    attribute: str,
    analyzers: Mapping[str, str] | None = None,
    *,
    default: str | Analyzer | None = None,
    detect: bool = False,
    whole: Iterable[str] = (),
) -> AnalyzerByAttribute:
    """Make the analyzer of documents in several languages, one of which an attribute names.

    Parameters
    ----------
    attribute : str
        Name of an attribute whose values are languages: codes of ISO 639-1, with or without a region (``de``,
        ``pt-BR``), or names such as ``german``.
    analyzers : mapping of str to str, optional
        Names of the analyzers of some values, in place of those in `analyzers_of_languages`, or for other values.
    default : str or Analyzer, optional
        Analyzer of documents of other values, and of documents without a value; ``english-parts`` if it is not given.
    detect : bool, optional
        Detect the language of documents without a value, see `termwise.text.language_detection`: one of `analyzers`,
        or without any, of `LANGUAGE_CODES`.
    whole : iterable of str, optional
        Words that analyzers with parts leave whole in all languages, such as brands; see `make_analyzer`.

    Raises
    ------
    ParameterError
        If a name is empty or has a colon, or an analyzer does not consist of a tokenizer and steps.
    UnknownNameError
        If there is no such analyzer.

    Examples
    --------
    >>> analyzer = make_analyzer_by_attribute("lang", {"en": "english-parts"})
    >>> analyzer.of_language("de").tokens("Die Jacken"), analyzer.of_language("en").tokens("T-shirts")
    (['de:jack'], ['en:tshirt', 'en:t', 'en:shirt'])
    """
    from termwise.text import analyzer_by_attribute as by

    chosen = by.analyzers_of_languages()
    for value, name in (analyzers or {}).items():
        chosen[by.known_code(value, by.LANGUAGE_CODES) or by.plain_value(value)] = name
    for name in (attribute, *chosen):
        if not name or by.SEPARATOR in name:
            raise ParameterError(
                "an attribute and its values have names without a colon", facts=[("given", shown(name))]
            )
    other = by.DEFAULT if default is None else default
    made = {name: make_analyzer(name) for name in dict.fromkeys(chosen.values())}
    of_values = {value: made[name] for value, name in chosen.items()}
    of_values[by.OTHER] = make_analyzer(other) if isinstance(other, str) else other
    whole = tuple(whole)
    specs = {value: by.spec_of(_leaving_whole(each, whole)) for value, each in of_values.items()}
    detector = None
    if detect:
        from termwise.text.language_detection import LIBRARY

        named = [by.known_code(value, by.LANGUAGE_CODES) for value in analyzers or by.LANGUAGE_CODES]
        detector = {"library": LIBRARY, "languages": [code for code in named if code is not None]}
    return by.AnalyzerByAttribute(attribute, specs, analyzer_from_spec, detector)


def _leaving_whole(analyzer: Analyzer, words: Sequence[str]) -> Analyzer:
    """Return an analyzer that leaves words whole, or the same one if it has no parts."""
    has_parts = isinstance(analyzer, WordAnalyzer) and analyzer.tokenizer.nested
    return with_whole_words(analyzer, words) if words and has_parts else analyzer


def register_analyzer(name: str, make: Callable[[AnalyzerSpec], Analyzer]) -> None:
    """Register an analyzer of your own by name, so that an index with it can be built and opened.

    The registration holds for this process. Packages can register analyzers for all processes, the command line
    included, by an entry point of the group ``termwise.analyzers`` with the name of the analyzer and `make` as its
    object.

    Parameters
    ----------
    name : str
        Name in the `AnalyzerSpec` of the analyzer; not one of `analyzer_names`, without ``:`` and ``+``. A second
        registration replaces the first.
    make : callable
        Makes the analyzer from its specification. `make_analyzer` calls it with the name alone; for an index, it gets
        the options and files that the index stores.

    Raises
    ------
    ParameterError
        If the name is not allowed, or `make` is not callable.

    Examples
    --------
    >>> import numpy as np
    >>> from termwise.text import Analysis
    >>> class Letters:
    ...     spec = AnalyzerSpec("letters")
    ...     vocabulary = None
    ...     def analyze(self, text):
    ...         spans = [(place, place + 1) for place, char in enumerate(text) if char != " "]
    ...         return Analysis(tuple(text[start] for start, _ in spans), np.array(spans, np.int32).reshape(-1, 2))
    ...     def tokens(self, text):
    ...         return list(self.analyze(text).tokens)
    >>> register_analyzer("letters", lambda spec: Letters())
    >>> make_analyzer("letters").tokens("a bc")
    ['a', 'b', 'c']
    """
    check("name", name, isinstance(name, str) and bool(name), "a name of one or more characters")
    check("make", make, callable(make), "a function that makes an analyzer from an `AnalyzerSpec`")
    if name in (*analyzer_names(), BY_ATTRIBUTE) or ":" in name or "+" in name:
        raise ParameterError(
            "an analyzer cannot be registered by this name",
            facts=[("name", shown(name)), ("expected", "a name without : and + that termwise does not use")],
        )
    _OWN[name] = make


def check_restorable(analyzer: Analyzer) -> None:
    """Raise `ParameterError` unless an index can restore an analyzer: its specification gives an equal analyzer."""
    spec = analyzer.spec
    try:
        again = analyzer_from_spec(spec).spec.fingerprint
    except UnknownNameError as error:
        again = error.message
    if again != spec.fingerprint:
        raise ParameterError(
            "an index could not restore this analyzer from its specification",
            facts=[("analyzer", shown(spec.name)), ("from the specification", again)],
            fixes=[
                Fix.python(
                    "termwise.text.register_analyzer(name, make)",
                    "register it before building and opening: {}",
                ),
                Fix.python("termwise.text.WordAnalyzer", "make it of a tokenizer and steps of termwise: {}"),
            ],
        )


_OWN: dict[str, Callable[[AnalyzerSpec], Analyzer]] = {}


def _own_maker(name: str) -> Callable[[AnalyzerSpec], Analyzer] | None:
    """Return the function that makes an analyzer from outside termwise, if there is one."""
    if name in _OWN:
        return _OWN[name]
    from importlib.metadata import entry_points  # slow to import

    for point in entry_points(group=_GROUP, name=name):
        try:
            make: Callable[[AnalyzerSpec], Analyzer] = point.load()
        except Exception as error:
            raise ParameterError(
                "an analyzer of an installed package cannot be loaded",
                facts=[
                    ("entry point", f"{_GROUP}: {point.name} = {point.value}"),
                    ("reason", f"{type(error).__name__}: {error}"),
                ],
            ) from error
        return make
    return None


def _made(make: Callable[[AnalyzerSpec], Analyzer], spec: AnalyzerSpec) -> Analyzer:
    analyzer = make(spec)
    if not isinstance(analyzer, Analyzer):
        raise ParameterError(
            "the function of a registered analyzer returned another object",
            facts=[("analyzer", shown(spec.name)), ("returned", type(analyzer).__name__)],
            fixes=[
                Fix.python("termwise.text.Analyzer", "return an object with the attributes and methods of {}")
            ],
        )
    return analyzer


def step_named(name: str) -> WordStep:
    """Return the step with a name in an `AnalyzerSpec`; raise `UnknownNameError` if there is none."""
    common = _steps(_WORDS)
    if name in common:
        return common[name]
    steps = _steps(_all_words())
    if name not in steps:
        raise UnknownNameError.of("analyzer step", name, steps)
    return steps[name]
