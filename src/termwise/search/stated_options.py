"""Options of a search for which a relevance file can set defaults."""

from __future__ import annotations

from termwise.validation import check, check_flag, is_finite_number

IF_ANY = "if-any"
"""Value of `Search.only_words`: leave out results that match by meaning only if any document matches by words."""

OPTIONS = ("match", "fuzzy", "prefix", "min_relevance", "only_words")
"""Names of these options. In a `Search`, None means that the option is not stated."""


def check_options(
    *,
    match: object = None,
    fuzzy: object = None,
    prefix: object = None,
    min_relevance: object = None,
    only_words: object = None,
) -> None:
    """Check the values of the options that are stated.

    Raises
    ------
    ParameterError
        If a value has another type or is out of its range.
    """
    if match is not None:
        from termwise.engine.word_matches import is_number_of_words

        holds = isinstance(match, str) and is_number_of_words(match)
        check(
            "match",
            match,
            holds,
            "any, most, all, a number of words such as 2, 75%, -1 or 2<75%, or several as in 'all, any'",
        )
    for name, value in (("fuzzy", fuzzy), ("prefix", prefix)):
        if value is not None:
            check_flag(name, value)
    if min_relevance is not None:
        holds = is_finite_number(min_relevance) and 0 <= min_relevance <= 1
        check("min_relevance", min_relevance, holds, "a number from 0 to 1")
    if only_words is not None and only_words != IF_ANY:
        check("only_words", only_words, isinstance(only_words, bool), f"true, false, or {IF_ANY}")
