r"""Terms of similar spelling, and terms with a prefix: the time for one word.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/similar_terms.py COLLECTION [COLLECTION ...]       # a minute

The collections become one index of unstemmed words and one of stems. Words of at least five letters are drawn from
their documents, and an edit at a random place makes a word that the index lacks. *first* is the first such word after
the index is opened, which reads all terms; *similar* are later ones; *prefix* are the first three letters of a word.
*found* is the share of words whose term is among the similar ones, at most five. ``--made`` adds words that begin like
one word and end like another. The process is bound to one processor. The result is printed and appended as one JSON
object to ``benchmarks/results/similar_terms.jsonl``.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import termwise

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from timing import RESULTS, about, append, pinned, say  # noqa: E402

from termwise import Document, build_index  # noqa: E402
from termwise.collection import open_collection  # noqa: E402
from termwise.engine.similar_terms import SimilarTerms  # noqa: E402
from termwise.index import Index  # noqa: E402

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mistyped(word: str, draw: random.Random) -> str:
    """Insert, delete or replace a letter, or exchange two, but not the first."""
    place = draw.randrange(1, len(word))
    letter = draw.choice(LETTERS)
    return draw.choice(
        [
            word[:place] + letter + word[place:],
            word[:place] + word[place + 1 :],
            word[:place] + letter + word[place + 1 :],
            word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :],
        ]
    )


def made(documents: Sequence[Document], words: int, draw: random.Random) -> list[Document]:
    """Return documents of words that begin like one word of the documents, and end like another."""
    known = sorted({word for document in documents for word in re.findall("[a-z]{4,}", document.text)})
    joined: set[str] = set()
    while len(joined) < words:
        one, other = draw.choice(known), draw.choice(known)
        joined.add(one[: (len(one) + 1) // 2] + other[len(other) // 2 :])
    return [Document(f"made-{number}", word) for number, word in enumerate(sorted(joined))]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its milliseconds."""
    begin = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - begin)


def measure(
    documents: Sequence[Document], analyzer: str, words: int, rounds: int, seed: int
) -> dict[str, Any]:
    """Time all look-ups in an index with one analyzer."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        build_index(documents, folder, analyzer=analyzer)
        searcher = termwise.open(folder)
        similar = searcher.backend.similar_terms
        assert similar is not None, "an analyzer of words"
        pairs: list[tuple[str, str, str]] = []  # term, mistyped word, and its token
        while len(pairs) < words:
            word = draw.choice(re.findall("[a-z]{5,}", draw.choice(documents).text) or [""])
            typed = mistyped(word, draw) if word else ""
            tokens = [similar.analyzer.tokens(each) for each in (word, typed)]
            if (
                all(map(len, tokens))
                and similar.documents(tokens[0][0])
                and not similar.documents(tokens[1][0])
            ):
                pairs.append((tokens[0][0], typed, tokens[1][0]))
        found = sum(
            term in {each.term for each in similar.nearest(token, word)} for term, word, token in pairs
        )
        # Each remembers the words that it has looked up.
        opened = [SimilarTerms(Index.open(folder), similar.analyzer) for _ in range(rounds)]
        _, word, token = pairs[0]
        first = [timed(lambda each=each: each.nearest(token, word))[1] for each in opened]
        nearest = [
            [timed(lambda each=each, w=w, t=t: each.nearest(t, w))[1] for _, w, t in pairs[1:]]
            for each in opened
        ]
        starting = [
            [timed(lambda w=w: similar.starting_with(w[:3], without=""))[1] for _, w, _ in pairs]
            for _ in range(rounds)
        ]
        figures = {"first": np.median(first), "found": found / words, "terms": len(searcher.index.vocabulary)}
        for name, times in {"similar": nearest, "prefix": starting}.items():
            middle = sorted(times, key=lambda each: float(np.mean(each)))[len(times) // 2]
            figures |= {name: np.mean(middle), f"{name}, p99": np.percentile(middle, 99)}
    figures = {name: float(value) for name, value in figures.items()}
    say(f"{analyzer}: " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))
    return figures


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and append to the results."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("collections", nargs="+")
    command.add_argument("--made", type=int, default=0, help="words to make and add, as one document each")
    command.add_argument("--words", type=int, default=300)
    command.add_argument("--rounds", type=int, default=7)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    texts = chain.from_iterable(open_collection(name).documents() for name in arguments.collections)
    documents = [Document(str(number), document.text.lower()) for number, document in enumerate(texts)]
    added = made(documents, arguments.made, random.Random(arguments.seed))
    report: dict[str, Any] = {
        "about": about(("numpy", "rapidfuzz")) | {"processor": pinned()},
        "collections": [Path(name).name for name in arguments.collections],
        "documents": len(documents),
        "made": len(added),
        "words": arguments.words,
        "rounds": arguments.rounds,
        "milliseconds": {
            analyzer: measure(
                [*documents, *added], analyzer, arguments.words, arguments.rounds, arguments.seed
            )
            for analyzer in ("standard", "english")
        },
    }
    append(report, "similar_terms", arguments.out)


if __name__ == "__main__":
    main()
