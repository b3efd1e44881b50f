"""Texts for the training of a query table: queries, and sentences of passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np

from termwise.collection.lines import read_json_lines, read_lines, refuse_pipe
from termwise.collection.training_pairs import PairSource, read_sources
from termwise.errors import EmptyCollectionError, MalformedRecordError, MissingFileError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.storage.safe_read import is_folder, path_exists

SENTENCES = 2
"""Largest number of sentences of a passage."""

SHORTEST, LONGEST = 20, 400
"""Smallest and largest number of characters of a sentence that is used."""

_CUT = 600
_LEAST = 3
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_ENDINGS = (".txt", ".jsonl")
_EXPECTED = '{"text": text} or {"text": text, "source": name}, not empty'


@dataclass(frozen=True)
class TrainingTexts:
    """Texts without duplicates, in a fixed order, with the number of texts from each source."""

    texts: Sequence[str]
    sources: Mapping[str, int]


def read_texts(paths: Sequence[str | Path], *, most: int = 0, seed: int = 0) -> TrainingTexts:
    """Read texts; repeated ones are dropped. Of more than `most`, that many are drawn and keep their order; 0 for all.

    Parameters
    ----------
    paths : sequence of str or Path
        Each is one of

        - a file ``.txt``, plain or ``.gz``: one text a line;
        - a file ``.jsonl``, plain or ``.gz``: ``{"text": ...}`` on each line, with an optional ``"source"``;
        - a folder of training pairs, see `read_sources`: its queries, and up to two sentences of each passage, see
          `texts_of_pairs`.
    """
    sources: dict[str, str] = {}
    for path in map(Path, paths):
        empty = True
        for source, text in _texts(path, Random(seed)):
            sources.setdefault(text, source)
            empty = False
        if empty:
            raise EmptyCollectionError("there are no texts", facts=[("path", path)])
    texts = list(sources)
    if 0 < most < len(texts):
        drawn = np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])
        texts = [texts[number] for number in drawn.tolist()]
    return TrainingTexts(texts, dict(sorted(Counter(sources[text] for text in texts).items())))


def texts_of_pairs(
    source: PairSource, random: Random, *, queries: int | None = None, passages: int | None = None
) -> Iterator[str]:
    """Yield queries, and then up to `SENTENCES` sentences of each passage, in random order.

    At most `queries` queries and `passages` passages are used. A text has at most 600 characters, and single spaces
    between words.
    """
    all_queries, all_passages = list(source.queries), list(source.passages)
    random.shuffle(all_queries)
    random.shuffle(all_passages)
    yield from _tidied(all_queries[:queries])
    for passage in all_passages[:passages]:
        sentences = [
            sentence.strip()
            for sentence in _SENTENCE_END.split(passage)
            if SHORTEST <= len(sentence) <= LONGEST
        ]
        yield from _tidied(random.sample(sentences, min(SENTENCES, len(sentences))))


def _texts(path: Path, random: Random) -> Iterator[tuple[str, str]]:
    """Yield source and text."""
    if is_folder(path):
        for part in read_sources(path):
            for sentence in texts_of_pairs(part, random):
                yield part.name, sentence
        return
    if not path_exists(path):
        raise MissingFileError(f"no such file or folder: {path}", fixes=["check the path"])
    refuse_pipe(path)
    name = path.name.removesuffix(".gz")
    stem, ending = Path(name).stem, Path(name).suffix
    if ending not in _ENDINGS:
        raise ParameterError(
            "texts are read from a file .txt or .jsonl, or from a folder of training pairs",
            facts=[("path", path)],
            fixes=[
                "rename the file by its format: one text a line in .txt, one JSON object a line in .jsonl"
            ],
        )
    if ending == ".txt":
        for _, line in read_lines(path):
            yield stem, line.strip()
        return
    for number, record in read_json_lines(path):
        text, named = record.get("text"), record.get("source", stem)
        if not isinstance(text, str) or not text.strip() or not isinstance(named, str) or not named:
            raise MalformedRecordError.at(
                path,
                number,
                expected=_EXPECTED,
                seen=str(record),
                message="a text is not valid",
                fixes=["for training pairs, give the folder of the file"] if "query" in record else [],
            )
        yield named, text


def _tidied(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts that are long enough, cut and with single spaces between words."""
    cut = (" ".join(text.split())[:_CUT] for text in texts)
    return (text for text in cut if len(text) >= _LEAST)
