r"""Typos and chance resemblances of words under several rules of fuzzy search.

Question
    From which length on may a similar word differ by two edits, and should its first letter agree?
Run
    ``typo_rules.py --work WORK``
Words
    Misspellings in codespell's list of words that the collection has, which should find these words. Words of the
    vocabulary of word pieces that no document has are correct; a similar word is a chance resemblance. The index has
    words, not stems.
Rules
    Two edits from 6, 7, 8 or 9 letters on, with any first letter or with an equal one, also if the first two letters
    are exchanged. termwise has 8 and any letter.
Result
    ``results/typo_rules.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import record
from judged_collection import documents_folder
from typos import correct_words, edits_of, length_of, nearest, words_of

from termwise import BuildOptions, build_index
from termwise.engine.similar_terms import SHORTEST
from termwise.probes.manipulations.typos import codespell_misspellings

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "rapidfuzz", "codespell")
RULES = [(edits, first) for first in (False, True) for edits in (6, 7, 8, 9)]
"""Letters from which on a similar word may differ by two edits, and whether its first letter is that of the word."""


def rules(plan: Mapping[str, Any], frequencies: Mapping[str, int]) -> dict[str, Any]:
    """Look for the nearest words of correct words and of misspellings under `RULES`, by length."""
    words = sorted(word for word in frequencies if word.isalpha())
    documents = np.array([frequencies[word] for word in words])
    chance = random.Random(plan["seed"])
    listed = codespell_misspellings()
    typos = [
        (typed, word)
        for word in words
        for typed in listed.get(word, ())
        if re.fullmatch("[a-z]+", typed) and len(typed) >= SHORTEST and typed not in frequencies
    ]
    correct = [(word, "") for word in correct_words(frequencies) if len(word) >= SHORTEST]
    found: dict[str, dict[str, list[list[float]]]] = {}
    for kind, pairs in (("misspellings", typos), ("correct words", correct)):
        for typed, meant in chance.sample(pairs, min(plan["words"], len(pairs))):
            distances = edits_of(typed, words)
            near = [
                nearest(typed, words, documents, distances=distances, two_edits=edits, first_agrees=first)
                for edits, first in RULES
            ]
            shown = [[words[place] for place in each] for each in near]
            hits = [float(meant in each if meant else bool(each)) for each in shown]
            found.setdefault(length_of(typed), {}).setdefault(kind, []).append(hits)
    return {
        length: {
            kind: {"words": len(hits), "means": np.mean(hits, axis=0).tolist()} for kind, hits in row.items()
        }
        for length, row in sorted(found.items())
    }


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one collection."""
    source = arguments.collections / name
    words = build_index(
        source,
        documents_folder(arguments.work, source) / "words",
        model="bm25",
        analyzer="standard",
        overwrite=True,
        options=BuildOptions(threads=arguments.threads),
    )
    record.say(name)
    return {
        "data": record.data_hash(source, [plan["collections"][name]]),
        "rules": rules(plan, words_of(words)),
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    parts = [
        f"# {result['config']['title']}",
        "Made by `experiments/typo_rules.py`. Share of the misspellings in codespell's list for which the right word "
        "is found (*right*), and of correct words that no document has for which a word is found by chance "
        "(*chance*), if a similar word may differ by two edits from 6, 7, 8 or 9 letters on; then the same if its "
        "first letter must agree.",
    ]
    for name, entry in result["collections"].items():
        sizes = {
            kind: sum(row[kind]["words"] for row in entry["rules"].values())
            for kind in ("misspellings", "correct words")
        }
        parts += [
            f"## {name}",
            f"{sizes['misspellings']:,} misspellings, {sizes['correct words']:,} correct words.",
            record.table(RULE_HEAD, rule_rows(entry["rules"])),
        ]
    return "\n\n".join([*parts, record.about(dict(result), intervals=False)])


RULE_HEAD = (
    "letters",
    *(
        f"{edits}{', first letter' if first else ''}: {what}"
        for edits, first in RULES
        for what in ("right", "chance")
    ),
)


def rule_rows(rules: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table of rules, and one of all lengths."""
    kinds = ("misspellings", "correct words")

    def row(label: str, means: Mapping[str, Any]) -> list[str]:
        return [
            label,
            *(record.number(means[kind][rule], digits=2) for rule in range(len(RULES)) for kind in kinds),
        ]

    for length, of_kinds in rules.items():
        yield row(length, {kind: of_kinds[kind]["means"] for kind in kinds})
    yield row(
        "all",
        {
            kind: np.average(
                [each[kind]["means"] for each in rules.values()],
                axis=0,
                weights=[each[kind]["words"] for each in rules.values()],
            )
            for kind in kinds
        },
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "typo_rules.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
