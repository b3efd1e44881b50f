"""Analyzer of documents in several languages: an attribute of a document decides which analyzer its words have.

Each token begins with the language and a colon, as in ``de:jacke``. So each language has its own terms, and a document
has terms of one language only. Without a language, a text has the tokens of all languages, as a query that is for
documents of all languages needs them: a document matches those of its own language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, final

import numpy as np

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.records import Document
from termwise.text.analyzer import Analysis, Analyzer, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION
from termwise.text.language_detection import detected_language
from termwise.text.token_filters import WordStep, has_simplemma
from termwise.text.word_analyzer import WordAnalyzer

NAME = "by-attribute"
"""Name in specifications."""

OTHER = "und"
"""Language of documents without a known one: the code of ISO 639 for an undetermined language."""

DEFAULT = "english-parts"
"""Analyzer of these documents."""

LANGUAGE_CODES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "hy": "armenian",
        "eu": "basque-parts",
        "ca": "catalan-parts",
        "cs": "czech-parts",
        "da": "danish-codes",
        "nl": "dutch-codes",
        "en": "english-parts",
        "eo": "esperanto-parts",
        "et": "estonian-parts",
        "fi": "finnish-parts",
        "fr": "french-parts",
        "de": "german-codes",
        "el": "greek-parts",
        "hi": "hindi",
        "hu": "hungarian-parts",
        "id": "indonesian-parts",
        "ga": "irish",
        "it": "italian-parts",
        "lt": "lithuanian-parts",
        "ne": "nepali",
        "no": "norwegian-codes",
        "fa": "persian",
        "pl": "polish-parts",
        "pt": "portuguese-parts",
        "ro": "romanian-parts",
        "ru": "russian-parts",
        "sr": "serbian-parts",
        "st": "sesotho-parts",
        "es": "spanish-parts",
        "sv": "swedish-codes",
        "ta": "tamil",
        "tr": "turkish-parts",
        "yi": "yiddish",
        "zh": "cjk",
        "ja": "cjk",
        "ko": "cjk",
    }
)
"""Analyzer of each language, by its code of ISO 639-1. With the extra ``simplemma``, those of compounds split more."""

CODES, PARTS = "-codes", "-parts"
"""Ends of the names of analyzers without and with a dictionary of compounds."""


def analyzers_of_languages() -> dict[str, str]:
    """Return `LANGUAGE_CODES`; if simplemma is installed, with the analyzers that split compounds by its dictionary.

    Examples
    --------
    >>> analyzers_of_languages()["fr"]
    'french-parts'
    """
    splits = has_simplemma()
    return {
        code: name.removesuffix(CODES) + PARTS if splits and name.endswith(CODES) else name
        for code, name in LANGUAGE_CODES.items()
    }


def lacks_dictionary(analyzer: str) -> bool:
    """Return whether an analyzer does not split compounds such as *Winterjacke*, and simplemma is not installed."""
    return analyzer.endswith(CODES) and not has_simplemma()


_ALIASES = {
    **{analyzer.partition("-")[0]: code for code, analyzer in LANGUAGE_CODES.items() if analyzer != "cjk"},
    "english-parts": "en",
    "nb": "no",
    "nn": "no",
    "chinese": "zh",
    "japanese": "ja",
    "korean": "ko",
}

SEPARATOR = ":"
"""Character between the language and the word of a token."""


MakeAnalyzer = Callable[[AnalyzerSpec], Analyzer]
"""Makes the analyzer of a specification."""


@final
@dataclass(frozen=True, eq=False)
class AnalyzerByAttribute:
    """Analyzer whose words depend on an attribute of the document; see `termwise.text.make_analyzer_by_attribute`.

    Attributes
    ----------
    attribute : str
        Name of the attribute.
    specs : mapping of str to mapping
        Name, tokenizer and steps of the analyzer of each language.
    make : callable
        Makes the analyzer of a specification.
    detector : mapping or None
        How the language of documents without the attribute is detected: ``library``, with its version, and
        ``languages``. None if it is not.
    among : tuple of str or None
        Languages of a text whose language is not known; None for all.

    Examples
    --------
    >>> from termwise.text import make_analyzer_by_attribute
    >>> analyzer = make_analyzer_by_attribute("lang")
    >>> analyzer.of_language("de").tokens("Die Jacken"), analyzer.of_language("fr").tokens("les vestes")
    (['de:jack'], ['fr:vest'])
    >>> analyzer.limited_to(["de", "en"]).tokens("Jacken")
    ['de:jack', 'en:jacken']
    >>> [analyzer.language({"lang": value}) for value in ("de-AT", "Norwegian", "nb", "??")]
    ['de', 'no', 'no', 'und']
    """

    attribute: str
    specs: Mapping[str, Mapping[str, Any]]
    make: MakeAnalyzer = field(repr=False)
    detector: Mapping[str, Any] | None = None
    among: tuple[str, ...] | None = None
    _made: dict[str, tuple[WordAnalyzer, WordAnalyzer]] = field(init=False, repr=False, default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        return AnalyzerByAttribute, (self.attribute, dict(self.specs), self.make, self.detector, self.among)

    @classmethod
    def from_spec(cls, spec: AnalyzerSpec, make: MakeAnalyzer) -> AnalyzerByAttribute:
        """Make the analyzer of a specification; raises `ParameterError` or `VocabularyMismatchError`."""
        options = spec.options
        attribute, specs, detector = (options.get(key) for key in ("attribute", "analyzers", "detector"))
        if not (
            isinstance(attribute, str)
            and isinstance(specs, Mapping)
            and all(isinstance(each, Mapping) for each in specs.values())
            and OTHER in specs
            and (
                detector is None
                or (isinstance(detector, Mapping) and {"library", "languages"} <= detector.keys())
            )
        ):
            raise ParameterError(
                "the specification of an analyzer by attribute has an attribute and analyzers",
                facts=[("options", shown(dict(options)))],
            )
        if options.get("unicode") != UNICODE_VERSION:
            raise VocabularyMismatchError(
                "the analyzer was made for another version of Unicode",
                facts=[
                    ("analyzer", spec.name),
                    ("made for", options.get("unicode")),
                    ("here", UNICODE_VERSION),
                ],
                fixes=["build the index again with this version of termwise"],
            )
        return cls(attribute, {**specs}, make, detector)

    @property
    def spec(self) -> AnalyzerSpec:
        """Specification: the attribute, and name, tokenizer and steps of each analyzer."""
        options: dict[str, Any] = {
            "attribute": self.attribute,
            "analyzers": {language: dict(spec) for language, spec in self.specs.items()},
            "unicode": UNICODE_VERSION,
        }
        return AnalyzerSpec(
            NAME, options if self.detector is None else {**options, "detector": dict(self.detector)}
        )

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of a text whose language is not known."""
        return tuple(self.specs) if self.among is None else self.among

    def limited_to(self, languages: Sequence[str]) -> AnalyzerByAttribute:
        """Return the analyzer with these languages for a text whose language is not known."""
        return replace(self, among=tuple(languages))

    def language(self, attributes: Mapping[str, object]) -> str:
        """Return the language of a document with these attributes; raises `ParameterError` unless it is a string."""
        value = attributes.get(self.attribute)
        if value is None:
            return OTHER
        if not isinstance(value, str):
            raise ParameterError(
                "the attribute that decides about the analyzer has another value than a string",
                facts=[("attribute", self.attribute), ("value", shown(value))],
                fixes=["give each document one language, such as de"],
            )
        return self.known(value) or OTHER

    def with_language(self, document: Document) -> Document:
        """Return a document with the language that is detected in its text as its attribute, if it has none."""
        if self.detector is None or document.attributes.get(self.attribute) is not None:
            return document
        languages, library = self.detector["languages"], self.detector["library"]
        language = detected_language(document.text, languages, library)
        if language is None:
            return document
        return document._replace(attributes={**document.attributes, self.attribute: language})

    def known(self, value: str) -> str | None:
        """Return the language that a value names; None if there is none."""
        return known_code(value, self.specs)

    def named(self, value: str) -> str:
        """Return the language that a value names; raises `UnknownNameError` if there is none."""
        language = self.known(value)
        if language is None:
            raise UnknownNameError.of("language", value, self.languages)
        return language

    def of_language(self, language: str) -> WordAnalyzer:
        """Return the analyzer of a language, whose tokens begin with it."""
        return self._both(language)[0]

    def words_of(self, language: str) -> WordAnalyzer:
        """Return the analyzer of a language, whose tokens do not begin with it."""
        return self._both(language)[1]

    def _both(self, language: str) -> tuple[WordAnalyzer, WordAnalyzer]:
        if language not in self._made:
            options = dict(self.specs[language])
            spec = AnalyzerSpec(str(options.pop("name", "")), {**options, "unicode": UNICODE_VERSION})
            words = self.make(spec)
            if not isinstance(words, WordAnalyzer):
                raise _no_word_analyzer(words)
            step = WordStep(f"language:{language}", partial(_with_language, f"{language}{SEPARATOR}"))
            self._made[language] = WordAnalyzer(words.name, words.tokenizer, (*words.steps, step)), words
        return self._made[language]

    def analyze(self, text: str) -> Analysis:
        """Return the tokens of a text in all its languages with their character spans, in the order of their starts."""
        found = [self.of_language(language).analyze(text) for language in self.languages]
        tokens = [token for analysis in found for token in analysis.tokens]
        spans = np.concatenate([np.empty((0, 2), np.int32), *(analysis.spans for analysis in found)])
        order = np.lexsort((-spans[:, 1], spans[:, 0]))
        return Analysis(tuple(tokens[place] for place in order.tolist()), spans[order])

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text in all its languages, one language after the other."""
        return [token for language in self.languages for token in self.of_language(language).tokens(text)]


def readings(analyzer: Analyzer, language: str | None = None) -> tuple[Analyzer, ...]:
    """Return the analyzers of which each reads a text in its way: one for each language, or the analyzer itself.

    Parameters
    ----------
    analyzer : Analyzer
    language : str, optional
        The only language of the text.

    Examples
    --------
    >>> from termwise.text import make_analyzer_by_attribute
    >>> both = make_analyzer_by_attribute("lang").limited_to(["de", "en"])
    >>> [each.tokens("the Jacken") for each in readings(both)]
    [['de:the', 'de:jack'], ['en:jacken']]
    """
    if not isinstance(analyzer, AnalyzerByAttribute):
        return (analyzer,)
    languages = analyzer.languages if language is None else (language,)
    return tuple(map(analyzer.of_language, languages)) or (analyzer.of_language(OTHER),)


def languages_of(analyzer: Analyzer) -> tuple[str, ...]:
    """Return the languages of an analyzer that depends on an attribute, without `OTHER`; none for another analyzer.

    Examples
    --------
    >>> from termwise.text import make_analyzer, make_analyzer_by_attribute
    >>> both = make_analyzer_by_attribute("lang").limited_to(["de", "und"])
    >>> languages_of(both), languages_of(make_analyzer("english"))
    (('de',), ())
    """
    languages = analyzer.languages if isinstance(analyzer, AnalyzerByAttribute) else ()
    return tuple(language for language in languages if language != OTHER)


def language_of_token(token: str) -> str:
    """Return the language of a token.

    Examples
    --------
    >>> language_of_token("de:jack")
    'de'
    """
    return token.partition(SEPARATOR)[0]


def parse_choice(text: str) -> tuple[str, dict[str, str]]:
    """Return the attribute, and the analyzers of some values, in a choice such as ``lang:de=german-parts,en=english``.

    Raises
    ------
    ParameterError
        If the text has another form.

    Examples
    --------
    >>> parse_choice("lang"), parse_choice("lang:de=german-parts")
    (('lang', {}), ('lang', {'de': 'german-parts'}))
    """
    attribute, colon, rest = text.partition(SEPARATOR)
    pairs = [pair.partition("=") for pair in rest.split(",")] if colon else []
    if not attribute.strip() or not all(value.strip() and name.strip() for value, _, name in pairs):
        raise ParameterError(
            "the choice of analyzers by an attribute has another form",
            facts=[
                ("given", shown(text)),
                ("expected", "ATTRIBUTE or ATTRIBUTE:VALUE=ANALYZER,VALUE=ANALYZER"),
            ],
            fixes=[
                "name the attribute, such as lang, or lang:de=standard,en=english-parts for other analyzers"
            ],
        )
    return attribute.strip(), {value.strip(): name.strip() for value, _, name in pairs}


def plain_value(value: str) -> str:
    """Return a value as it is compared with others."""
    return value.strip().lower().replace("_", "-")


def known_code(value: str, known: Mapping[str, object]) -> str | None:
    """Return which of some languages a value names; None if it is none of them."""
    plain = plain_value(value)
    for code in (plain, _ALIASES.get(plain), plain.partition("-")[0], _ALIASES.get(plain.partition("-")[0])):
        if code is not None and code in known:
            return code
    return None


def spec_of(analyzer: Analyzer) -> dict[str, Any]:
    """Return name, tokenizer and steps of an analyzer; raises `ParameterError` if it has none."""
    if not isinstance(analyzer, WordAnalyzer):
        raise _no_word_analyzer(analyzer)
    options = dict(analyzer.spec.options)
    del options["unicode"]  # one for all of them
    return {"name": analyzer.name, **options}


def _no_word_analyzer(analyzer: Analyzer) -> ParameterError:
    return ParameterError(
        "only analyzers that are made of a tokenizer and steps can be chosen by an attribute",
        facts=[("analyzer", analyzer.spec.name)],
        fixes=["choose another one for this value, such as cjk for Chinese and Japanese"],
    )


def _with_language(prefix: str, word: str) -> str:
    return prefix + word
