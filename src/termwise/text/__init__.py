"""Analyzers, which split text into tokens with character spans, and vocabularies, which number tokens."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.text.analyzer import Analysis, Analyzer, AnalyzerSpec, unknown_token
    from termwise.text.analyzer_by_attribute import AnalyzerByAttribute
    from termwise.text.characters import UNICODE_VERSION
    from termwise.text.cjk import CjkWords
    from termwise.text.cleaned_analyzer import CleanedAnalyzer, CleanMode, clean_vocabulary
    from termwise.text.code_words import CodeWords
    from termwise.text.library_analyzer import LibraryAnalyzer
    from termwise.text.registry import (
        analyzer_from_spec,
        analyzer_names,
        make_analyzer,
        make_analyzer_by_attribute,
        register_analyzer,
    )
    from termwise.text.standard_words import StandardWords
    from termwise.text.stop_lists import stop_list
    from termwise.text.token_filters import (
        ENGLISH_CLITICS,
        LOWER_CASE,
        PORTER,
        SIMPLE_LEMMA,
        STRAIGHT_APOSTROPHES,
        WordStep,
        snowball,
        stop_words,
    )
    from termwise.text.token_numbering import NumberedTexts, Numbering, number_texts
    from termwise.text.tokenizer import UnicodeWords, WhitespaceWords, WordTokenizer
    from termwise.text.vocabulary import BACKGROUND, Vocabulary
    from termwise.text.word_analyzer import WordAnalyzer
    from termwise.text.wordpiece import WordPieceAnalyzer
    from termwise.text.words_with_parts import WordsWithParts
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "analyzer": "Analysis Analyzer AnalyzerSpec unknown_token",
            "analyzer_by_attribute": "AnalyzerByAttribute",
            "characters": "UNICODE_VERSION",
            "cjk": "CjkWords",
            "cleaned_analyzer": "CleanedAnalyzer CleanMode clean_vocabulary",
            "code_words": "CodeWords",
            "library_analyzer": "LibraryAnalyzer",
            "registry": "analyzer_from_spec analyzer_names make_analyzer make_analyzer_by_attribute register_analyzer",
            "standard_words": "StandardWords",
            "stop_lists": "stop_list",
            "token_filters": "ENGLISH_CLITICS LOWER_CASE PORTER SIMPLE_LEMMA STRAIGHT_APOSTROPHES "
            "WordStep snowball stop_words",
            "token_numbering": "NumberedTexts Numbering number_texts",
            "tokenizer": "UnicodeWords WhitespaceWords WordTokenizer",
            "vocabulary": "BACKGROUND Vocabulary",
            "word_analyzer": "WordAnalyzer",
            "wordpiece": "WordPieceAnalyzer",
            "words_with_parts": "WordsWithParts",
        },
    )

__all__ = [
    "BACKGROUND",
    "ENGLISH_CLITICS",
    "LOWER_CASE",
    "PORTER",
    "SIMPLE_LEMMA",
    "STRAIGHT_APOSTROPHES",
    "UNICODE_VERSION",
    "Analysis",
    "Analyzer",
    "AnalyzerByAttribute",
    "AnalyzerSpec",
    "CjkWords",
    "CleanMode",
    "CleanedAnalyzer",
    "CodeWords",
    "LibraryAnalyzer",
    "NumberedTexts",
    "Numbering",
    "StandardWords",
    "UnicodeWords",
    "Vocabulary",
    "WhitespaceWords",
    "WordAnalyzer",
    "WordPieceAnalyzer",
    "WordStep",
    "WordTokenizer",
    "WordsWithParts",
    "analyzer_from_spec",
    "analyzer_names",
    "clean_vocabulary",
    "make_analyzer",
    "make_analyzer_by_attribute",
    "number_texts",
    "register_analyzer",
    "snowball",
    "stop_list",
    "stop_words",
    "unknown_token",
]
