"""Data sets of summaries with a title: XSum, CNN, Daily Mail and SciTLDR.

The first text is the summary, the second the article or abstract, the query the title if all three share a lemma. Files
have JSON lines with ``id``, ``title``, ``summary`` and ``body``. For XSum (Narayan et al., EMNLP 2018) the ``.summary``
files of its authors are read as well. Of the three news data sets only the tenth of the published experiments is used,
see `in_published_tenth`. SciTLDR (Cachola et al., 2020) has abstracts of papers with one-sentence summaries by their
authors; the original files have lists of sentences, ``source`` and ``target``, with ``paper_id`` and ``title``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.collection.lines import read_bytes
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import define_pair
from termwise.probes.sources.transfer.pair_files import Record, is_list, read_pairs, string_of, strings_of
from termwise.probes.sources.transfer.pairs import TextPair, shared_lemma
from termwise.probes.sources.transfer.probe import Layout, PairDataSet, PairProbe, by_layout, by_pattern

_SECTIONS = ("TITLE", "FIRST-SENTENCE", "RESTBODY")


def in_published_tenth(name: str) -> bool:
    """Return whether a name belongs to the published tenth: the first byte of its SHA-256 is a multiple of 10.

    This holds for 26 of 256 bytes.

    Examples
    --------
    >>> [number for number in range(40) if in_published_tenth(f"{number}.summary")]
    [8, 10, 25, 29, 33, 35]
    """
    return hashlib.sha256(name.encode("utf-8")).digest()[0] % 10 == 0


def _news(name: str, title: str, *patterns: str, hashed_suffix: str = "") -> PairDataSet:
    """Return a data set of news; the suffix completes the identifiers that select the published tenth."""

    def read(path: Path, variant: str) -> Iterator[TextPair]:
        for summary_id, query, summary, body in _summaries(path):
            if in_published_tenth(summary_id + hashed_suffix):
                yield TextPair(f"{name}-{summary_id}", summary, body, query=query)

    definition = define_pair("the summary of a news article", "the article without the summary")
    rows = (PairProbe(f"succinctness@{name}", f"Succinctness {title}", definition),)
    return PairDataSet(by_pattern(title, patterns, read), shared_lemma, rows)


def _summaries(path: Path) -> Iterator[list[str]]:
    """Yield identifier, title, summary and body of each article of a file."""
    if ".summary" in path.suffixes:
        yield _sections(path)
        return
    for line, record in read_json_lines(path):
        yield strings_of(record, ("id", "title", "summary", "body"), path, line)


def _sections(path: Path) -> list[str]:
    parts = read_bytes(path).decode("utf-8", "replace").split("[SN]")
    sections = {name.strip(): text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=False)}
    if not all(name in sections for name in _SECTIONS):
        seen = ", ".join(sections) or "no section"
        raise MalformedRecordError.at(path, 1, expected=f"sections {', '.join(_SECTIONS)}", seen=seen)
    return [path.name.split(".")[0], *(sections[name] for name in _SECTIONS)]


XSUM = _news("xsum", "XSum", "*.jsonl", "*.summary", hashed_suffix=".summary")
CNN = _news("cnn", "CNN", "*.jsonl")
DAILY_MAIL = _news("dailymail", "Daily Mail", "*.jsonl")


def _scitldr(split: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    (path,) = paths
    first = next(read_json_lines(path), None)
    if first is None or "target" not in first[1]:
        yield from read_pairs(path)
        return
    for line, record in read_json_lines(path):
        paper_id = string_of(record, ("paper_id",), path, line)
        sentences, summaries = (_string_list(record, name, path, line) for name in ("source", "target"))
        yield TextPair(
            f"scitldr-{split}-{paper_id}",
            summaries[0] if summaries else "",
            " ".join(sentences),
            query=string_of(record, ("title",), path, line),
            facts={"source": {"split": split, "paper_id": paper_id}},
        )


def _string_list(record: Record, name: str, path: Path, line: int) -> list[str]:
    value = record.get(name)
    if not is_list(value, str):
        raise MalformedRecordError.at(path, line, expected=f"a list of strings {name!r}", seen=repr(value))
    return value


SCITLDR = PairDataSet(
    by_layout(
        "SciTLDR", Layout("any", {split: [f"{split}.jsonl"] for split in ("train", "dev", "test")}, _scitldr)
    ),
    shared_lemma,
    (
        PairProbe(
            "succinctness@scitldr",
            "Succinctness SciTLDR",
            define_pair("a one-sentence summary of a paper by its authors", "the abstract of the paper"),
        ),
    ),
)
