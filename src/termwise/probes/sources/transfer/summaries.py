"""Summaries beside what they sum up, with a title: XSum, CNN and Daily Mail, as users have them.

The first text is the summary, the second the body, the query the title, if the three share a lemma. Files have one JSON
object a line: ``id``, ``title``, ``summary``, ``body``. Of XSum the ``.summary`` files of its authors are read as well
(Narayan et al., EMNLP 2018). The published experiments take a tenth of each set, see `in_the_tenth`; so do these
probes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from termwise.collection import read_json_lines
from termwise.collection.lines import opened
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import SharedLemma


class Summary(NamedTuple):
    """A text with its summary and its title."""

    summary_id: str
    title: str
    summary: str
    body: str


class Source(NamedTuple):
    """A data set of summaries: its name, its title, the files that it may have, what ends the names that are hashed."""

    name: str
    title: str
    patterns: tuple[str, ...]
    hashed_ending: str


XSUM = Source("xsum", "XSum", ("*.jsonl", "*.summary"), ".summary")
CNN = Source("cnn", "CNN", ("*.jsonl",), "")
DAILY_MAIL = Source("dailymail", "Daily Mail", ("*.jsonl",), "")


def in_the_tenth(name: str) -> bool:
    """Tell whether a name belongs to the published tenth: the first byte of its SHA-256 is a multiple of 10.

    That holds of 26 bytes out of 256.

    Examples
    --------
    >>> [number for number in range(40) if in_the_tenth(f"{number}.summary")]
    [8, 10, 25, 29, 33, 35]
    """
    return hashlib.sha256(name.encode("utf-8")).digest()[0] % 10 == 0


def summary_probe(
    source: Source, folder: Path, material: ProbeInputs, *, tenth: bool = True
) -> TransferProbe:
    """Make the row of a data set.

    Parameters
    ----------
    source : Source
    folder : Path
    material : ProbeInputs
    tenth : bool, optional
        Whether only the published tenth is taken; the name of the probe says where it is not.

    Raises
    ------
    MissingFileError
        If there is no file of it.
    """
    paths = any_of(folder, source.title, source.patterns)

    def read() -> Iterator[Pair]:
        for one in _summaries(paths):
            if not tenth or in_the_tenth(one.summary_id + source.hashed_ending):
                yield Pair(f"{source.name}-{one.summary_id}", one.summary, one.body, query=one.title)

    return TransferProbe(
        f"succinctness{'' if tenth else '-whole'}@{source.name}",
        f"Succinctness {source.title}" + ("" if tenth else " (whole)"),
        read,
        SharedLemma(material.language, material.stop_words),
        definition=define_pair("the summary of an article of the news", "the article without it"),
    )


def probes_of(source: Source) -> Callable[[Path, ProbeInputs], Sequence[Probe]]:
    """Return what makes the row of a data set."""
    return lambda folder, material: [summary_probe(source, folder, material)]


def _summaries(paths: Sequence[Path]) -> Iterator[Summary]:
    for path in paths:
        if ".summary" in path.suffixes:
            yield _sections(path)
            continue
        for number, record in read_json_lines(path):
            yield Summary(
                *(string_of(record, (name,), path, number) for name in ("id", "title", "summary", "body"))
            )


def _sections(path: Path) -> Summary:
    with opened(path) as stream:
        parts = stream.read().decode("utf-8", "replace").split("[SN]")
    said = {name.strip(): text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=False)}
    wanted = ("TITLE", "FIRST-SENTENCE", "RESTBODY")
    if not all(name in said for name in wanted):
        raise MalformedRecordError.at(
            path, 1, expected=f"sections {', '.join(wanted)}", seen=", ".join(said) or "no section"
        )
    return Summary(path.name.split(".")[0], *(said[name] for name in wanted))
