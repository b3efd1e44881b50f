"""Accents before or after stems: words with their lemmas, and words without their accents.

Question
    Should the analyzers of languages with parts fold accents before they stem words, or after? Folded first, a word has
    one stem with and without its accents. Stemmers that know accents find fewer endings then.
Table
    One line per language. Of words whose lemma is another word, the share that has the stem of its lemma: with accents,
    folded before stems, folded after stems. Of words with accents, the share that has the same stem without them,
    folded after stems; folded before, it is 100 %. The last column is the order that is chosen, see ``FOLDED_LAST``.
Input
    The dictionaries of simplemma 2.0.0: up to ``--lemmas`` lemmas that are drawn, each with up to 8 words.
Requirements
    ``pip install '.[simplemma]'``

The words of a dictionary are not those of texts: rare verbs count as much as frequent nouns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import record

from termwise.text.folding import KEPT_LETTERS, folded, folded_except
from termwise.text.language_parts import FOLDED_LAST
from termwise.text.languages import LANGUAGES
from termwise.text.token_filters import WordStep, checked_simplemma

CODES = {
    "catalan": "ca",
    "czech": "cs",
    "esperanto": "eo",
    "french": "fr",
    "greek": "el",
    "hungarian": "hu",
    "lithuanian": "lt",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "spanish": "es",
    "turkish": "tr",
}
"""Code in the dictionaries of simplemma, for languages that are written with accents."""

WORDS = 8


def words_of_lemmas(code: str, count: int) -> dict[str, list[str]]:
    """Return lemmas that are drawn, each with its words."""
    factory = checked_simplemma("the dictionaries").strategies.LOW_MEMORY_DICTIONARY_FACTORY
    found: dict[str, list[str]] = defaultdict(list)
    for word, lemma in factory.get_dictionary(code).items():
        if word.isalpha() and lemma.isalpha():
            found[lemma].append(word)
    return {
        lemma: found[lemma][:WORDS]
        for lemma in Random(record.SEED).sample(sorted(found), min(count, len(found)))
    }


def applied(steps: tuple[WordStep, ...], word: str) -> str:
    """Return the form of a word after some steps; empty if one of them removes it."""
    form: str | None = word
    for step in steps:
        form = step(form) if form else None
    return form or ""


def orders(language: str) -> dict[str, Callable[[str], str]]:
    """Return the form of a word with accents, folded first and folded last."""
    steps = tuple(step for step in LANGUAGES[language] if not step.name.startswith(("stop:", "elision:")))
    stem = next(place for place, step in enumerate(steps) if step.name.startswith("stem:"))
    before, after = steps[:stem], steps[stem:]
    kept = KEPT_LETTERS.get(language, "")
    own = kept if language not in FOLDED_LAST else ""

    def fold(word: str) -> str:
        return folded_except(own, word) if own else folded(word)

    return {
        "accents": lambda word: applied(steps, word),
        "first": lambda word: applied(after, fold(applied(before, word))),
        "last": lambda word: fold(
            applied(after, folded_except(kept, applied(before, word)) if kept else word)
        ),
    }


def measured(language: str, count: int) -> dict[str, Any]:
    """Return the shares of a language."""
    lemmas = words_of_lemmas(CODES[language], count)
    pairs = [(word, lemma) for lemma, words in lemmas.items() for word in words if word != lemma]
    forms = orders(language)
    accented = [word for word, _ in pairs if folded(word) != word]
    last = forms["last"]
    return {
        "language": language,
        "pairs": len(pairs),
        "equal": {
            name: sum(form(word) == form(lemma) for word, lemma in pairs) / len(pairs)
            for name, form in forms.items()
        },
        "accented": len(accented),
        "without accents": sum(last(word) == last(folded(word)) for word in accented) / len(accented),
        "order": "last" if language in FOLDED_LAST else "first",
    }


def page(result: Mapping[str, Any]) -> str:
    """Return the page of the result."""
    rows = [
        (
            row["language"],
            f"{row['pairs']:,}",
            *(f"{row['equal'][name]:.1%}" for name in ("accents", "first", "last")),
            f"{row['accented']:,}",
            f"{row['without accents']:.1%}",
            row["order"],
        )
        for row in result["rows"]
    ]
    head = ("language", "words", "accents kept", "folded first", "folded last", "words with accents")
    return "\n".join(
        (
            "# Accents before or after stems",
            "",
            "Made by `experiments/language_folding.py`, whose docstring states the question and the columns.",
            "",
            record.table((*head, "same without, folded last", "chosen"), rows),
            "",
            record.about(dict(result), intervals=False),
        )
    )


def main() -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "out")
    parser.add_argument("--lemmas", type=int, default=2_000, help="number of lemmas of each language")
    arguments = parser.parse_args()
    provenance = record.provenance(("termwise", "simplemma", "PyStemmer"))
    rows = []
    for language in CODES:
        rows.append(measured(language, arguments.lemmas))
        record.say(f"{language}: {rows[-1]}")
    result = {
        "experiment": "language_folding",
        "settings": {"lemmas": arguments.lemmas},
        "rows": rows,
        "data": {},
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, "language_folding")


if __name__ == "__main__":
    record.script(main)
