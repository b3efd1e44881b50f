r"""Quality of mistyped queries with and without fuzzy search, and chance resemblances by the length of a word.

Question
    How much quality does a typo cost in a mixture of BM25 and lookup, and how much does ``--fuzzy`` restore? What
    should the part of vectors read in place of a mistyped word? From which length on does a similar word mean anything?
Run
    ``typos.py --work WORK``. lookup encodes the collections once.
Queries
    Two neighbouring letters of the longest word are exchanged, at a random place where they differ.
Systems
    ``not fuzzy``: a search without ``--fuzzy``. ``bm25 only``: similar words are added in BM25, and the part of vectors
    reads the pieces of the typo. ``kept``: it reads the similar words, too. ``most frequent``: it reads the most
    frequent similar word in place of the typo, with the weight 1. ``replaced``: it reads all similar words in place of
    the typo, with their shares, as termwise does.
Lengths
    Words of the vocabulary of word pieces that no document has are correct; a similar word is a chance resemblance.
    Typos of words of the queries should find these words. The index has words, not stems.
Quality
    nDCG@10 over queries, with bootstrap intervals; on dev splits.
Result
    ``results/typos.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import record
from judged_collection import Judged, documents_folder
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

import termwise
from termwise import BuildOptions, Query, build_index
from termwise.engine.added_terms import AddedTerm
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import WeightedQueryEncoder
from termwise.engine.similar_terms import MOST_TERMS, TWO_EDITS
from termwise.engine.subwords import SimilarPieces
from termwise.search import Search, Searcher
from termwise.search.parts import PartEncoding
from termwise.text.wordpiece import WordPieceAnalyzer

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "ir-measures", "onnxruntime", "rapidfuzz")
LEAST, LONGEST = 3, 9


class Kept(SimilarPieces):
    """Adds the pieces of similar words, and keeps those of the typo."""

    replaces = False


class MostFrequent(SimilarPieces):
    """Reads one similar word with the weight 1."""

    def added_to(self, query: str, *, fuzzy: bool, prefix: bool) -> list[AddedTerm]:
        """Return the pieces of the most frequent similar words."""
        added = super().added_to(query, fuzzy=fuzzy, prefix=prefix)
        first = {each.spans: each.word for each in reversed(added)}
        return [replace(each, share=1.0) for each in added if each.word == first[each.spans]]


def mistyped(text: str, chance: random.Random) -> str:
    """Exchange two neighbouring letters of the longest word, at a place where they differ."""
    longest = max(re.finditer(r"[^\W\d_]+", text), key=lambda word: len(word[0]), default=None)
    if longest is None:
        return text
    places = [place for place in range(longest.start(), longest.end() - 1) if text[place] != text[place + 1]]
    if not places:
        return text
    place = chance.choice(places)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


class OtherPieces:
    """Mixture whose second part encodes queries in another way; a backend of a searcher."""

    def __init__(self, mixture: Any, change: Callable[[WeightedQueryEncoder], QueryEncoder]) -> None:
        self._mixture, self._change = mixture, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mixture, name)

    def encodings(self, search: Search, example: int | None = None) -> tuple[PartEncoding, ...]:
        """Return how a search encodes queries for each part."""
        words, pieces = self._mixture.encodings(search, example)
        return words, replace(pieces, encoder=self._change(pieces.encoder))


def systems(index: Path) -> dict[str, tuple[Searcher, Search]]:
    """Open the mixture in several ways, each with a search; see the module."""
    mixture, fuzzy = termwise.open(index), Search(fuzzy=True)

    def other(change: Callable[[WeightedQueryEncoder], QueryEncoder]) -> tuple[Searcher, Search]:
        return Searcher(OtherPieces(mixture.backend, change)), fuzzy

    def reading(kind: type[SimilarPieces]) -> tuple[Searcher, Search]:
        def change(encoder: WeightedQueryEncoder) -> QueryEncoder:
            assert isinstance(encoder.similar, SimilarPieces)
            return replace(encoder, similar=kind(encoder.similar.similar, encoder.similar.pieces))

        return other(change)

    return {
        "not fuzzy": (mixture, Search()),
        "bm25 only": other(lambda encoder: encoder.encoder),
        "kept": reading(Kept),
        "most frequent": reading(MostFrequent),
        "replaced": (mixture, fuzzy),
    }


def quality(plan: Mapping[str, Any], judged: Judged, index: Path) -> dict[str, Any]:
    """Measure queries as they are and mistyped."""
    chance = random.Random(plan["seed"])
    typed = [Query(query.query_id, mistyped(query.text, chance)) for query in judged.queries]
    opened = systems(index)
    measure = plan["measure"]

    def values(system: tuple[Searcher, Search], queries: Sequence[Query]) -> Any:
        searcher, search = system
        run = searcher.rank_many(queries, k=plan["depth"] + judged.deepest, search=search)
        return judged.evaluate(judged.without_seeds(run, plan["depth"]), [measure]).values[measure]

    clean = {name: values(opened[name], judged.queries) for name in ("not fuzzy", "replaced")}
    wrong = {name: values(system, typed) for name, system in opened.items()}
    for name, each in wrong.items():
        record.say(f"{judged.name} {name}: {each.mean():.4f}")
    before, _ = opened["not fuzzy"]
    unknown = sum(bool(before.did_you_mean(query)) for query in typed)
    return {
        "queries": len(typed),
        "corrected": unknown,
        "clean": {name: float(each.mean()) for name, each in clean.items()},
        "mistyped": {name: float(each.mean()) for name, each in wrong.items()},
        "differences": {
            name: {
                "difference": float((each - wrong["bm25 only"]).mean()),
                "interval": record.mean_interval(each - wrong["bm25 only"]),
            }
            for name, each in wrong.items()
            if name not in ("not fuzzy", "bm25 only")
        },
        "of_clean": {
            "difference": float((clean["replaced"] - clean["not fuzzy"]).mean()),
            "interval": record.mean_interval(clean["replaced"] - clean["not fuzzy"]),
        },
    }


def words_of(searcher: Searcher) -> dict[str, int]:
    """Return the number of documents of each word."""
    index = searcher.index
    return {
        index.vocabulary.token(number): int(documents)
        for number, documents in enumerate(index.document_frequencies)
        if documents
    }


def correct_words(frequencies: Mapping[str, int]) -> list[str]:
    """Return words that are spelt correctly and that no document has."""
    known = WordPieceAnalyzer.shipped().vocabulary
    return [word for word in known if re.fullmatch("[a-z]{3,}", word) and word not in frequencies]


def lengths(plan: Mapping[str, Any], judged: Judged, searcher: Searcher) -> dict[str, Any]:
    """Look for the nearest words of correct words and of typos, by length; see the module."""
    frequencies = words_of(searcher)
    words = sorted(word for word in frequencies if word.isalpha())
    documents = np.array([frequencies[word] for word in words])
    chance = random.Random(plan["seed"])
    correct = correct_words(frequencies)
    asked = sorted({word for query in judged.queries for word in searcher.analyzer.tokens(query.text)})
    typos = [(typo(word, chance), word) for word in asked if word in frequencies and word.isalpha()]
    found: dict[str, dict[str, list[float]]] = {}
    for word in chance.sample(correct, min(plan["words"], len(correct))):
        near = nearest(word, words, documents)
        row = found.setdefault(length_of(word), {})
        for least in (1, 2, 5):
            row.setdefault(f"by chance, {least}", []).append(float((documents[near] >= least).any()))
    for word, meant in typos:
        if len(word) >= LEAST and word not in frequencies:
            near = nearest(word, words, documents)
            right = [place for place in near if words[place] == meant]
            row = found.setdefault(length_of(word), {})
            row.setdefault("right word", []).append(float(bool(right)))
            share = documents[right].sum() / documents[near].sum() if near else 0.0
            row.setdefault("share", []).append(float(share))
    return {
        length: {name: {"words": len(each), "mean": float(np.mean(each))} for name, each in row.items()}
        for length, row in sorted(found.items())
    }


def typo(word: str, chance: random.Random) -> str:
    """Insert, delete, replace or exchange one letter."""
    place, letter = chance.randrange(len(word)), chance.choice("abcdefghijklmnopqrstuvwxyz")
    kinds = [
        word[:place] + letter + word[place:],
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
    ]
    return chance.choice(kinds)


def edits_of(word: str, words: Sequence[str]) -> Any:
    """Return the distance of a word from each of some words; 3 for more than 2."""
    return cdist([word], words, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)[0]


def nearest(
    word: str,
    words: Sequence[str],
    documents: Any,
    *,
    distances: Any = None,
    two_edits: int = TWO_EDITS,
    first_agrees: bool = False,
) -> list[int]:
    """Return the places of the nearest words: one edit, or two from some length on, and the most frequent ones."""
    most = 1 if len(word) < two_edits else 2
    distances = edits_of(word, words) if distances is None else distances
    near = np.flatnonzero(distances <= most).tolist()
    if first_agrees:
        near = [
            place for place in near if words[place][0] == word[0] or words[place][:2] == word[1] + word[0]
        ]
    least = min((distances[place] for place in near), default=0)
    near = [place for place in near if distances[place] == least]
    return sorted(near, key=lambda place: -documents[place])[:MOST_TERMS]


def length_of(word: str) -> str:
    """Return the length of a word as a table shows it."""
    return str(len(word)) if len(word) < LONGEST else f"{LONGEST} or more"


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    work = documents_folder(arguments.work, source)
    build_index(
        source,
        work / "best",
        model="best",
        overwrite=True,
        options=BuildOptions(threads=arguments.threads, encoding=work / "lookup.blocks"),
    )
    words = build_index(
        source,
        work / "words",
        analyzer="standard",
        overwrite=True,
        options=BuildOptions(threads=arguments.threads),
    )
    return {
        "data": judged.data,
        "quality": quality(plan, judged, work / "best"),
        "lengths": lengths(plan, judged, words),
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, collections = result["config"], result["collections"]
    fuzzy = ("bm25 only", "kept", "most frequent", "replaced")
    head = ("collection", "queries", "corrected", "without typos", "not fuzzy", *fuzzy)
    rows, changes = [], []
    for name, entry in collections.items():
        of = entry["quality"]
        label = f"{name}/{plan['collections'][name]}"
        means = [of["clean"]["not fuzzy"], *of["mistyped"].values()]
        rows.append([label, str(of["queries"]), str(of["corrected"]), *map(record.number, means)])
        changes.append(
            [
                label,
                *(difference(of["differences"][each]) for each in fuzzy[1:]),
                difference(of["of_clean"]),
            ]
        )
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/typos.py`: {plan['measure']} of the mixture of BM25 and lookup on queries for "
        "development, whose longest word has two neighbouring letters exchanged. The docstring of the script explains "
        "the systems. *Without typos* is for the queries as they are, and *corrected* is the number of mistyped "
        "queries with a word of similar spelling.",
        record.table(head, rows),
        "Differences to *bm25 only*, with 95 % intervals over the queries; the last column is the difference that "
        "*replaced* makes for queries without typos:",
        record.table(("collection", *fuzzy[1:], "without typos"), changes),
        "## Lengths",
        "Share of correct words that no document has, but for which a word of similar spelling is found by chance: any "
        "word, and words of at least two and five documents. Then the share of typos for which the right word is "
        "found, and the mean share of its documents among those of all words that are found.",
    ]
    for name, entry in collections.items():
        parts += [f"### {name}", record.table(LENGTHS, length_rows(entry["lengths"]))]
    return "\n\n".join([*parts, record.about(dict(result))])


LENGTHS = (
    "letters",
    "correct words",
    "by chance",
    "2 documents",
    "5 documents",
    "typos",
    "right word",
    "share",
)


def length_rows(lengths: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table of lengths."""
    for length, row in lengths.items():
        cells = [length]
        for names in (("by chance, 1", "by chance, 2", "by chance, 5"), ("right word", "share")):
            of_words = [row.get(name) for name in names]
            cells.append(str(of_words[0]["words"] if of_words[0] else 0))
            cells += [record.number(each and each["mean"], digits=2) for each in of_words]
        yield cells


def difference(entry: Mapping[str, Any]) -> str:
    """Format a difference with its interval."""
    return (
        f"{record.number(entry['difference'], signed=True)} {record.interval(entry['interval'], signed=True)}"
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "typos.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
