"""Rankers put to the test in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.collection import read_run
from termwise.probes.core.reference_rankings import DEPTH
from termwise.probes.core.thresholds import parse_delta
from termwise.probes.session import ProbeSession
from termwise.progress import Progress, no_progress
from termwise.scorers.protocol import TextScorer
from termwise.validation import (
    check,
    check_callable,
    check_count,
    check_names,
    check_path,
    check_threads,
    is_integer,
)


def probe_rankers(
    scorers: Sequence[str | TextScorer],
    *,
    suites: Sequence[str | Path] = ("quick",),
    judged: Sequence[str | Path] = (),
    collection: str | Path | None = None,
    data: Mapping[str, str | Path] | None = None,
    delta: str | float = "median",
    candidates: str | Path | None = None,
    depth: int = DEPTH,
    limit: int | None = None,
    seed: int = 0,
    stop_words: str | Path | None = None,
    language: str | None = None,
    threads: int = 1,
    device: str | None = None,
    out: str | Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Ask rankers controlled questions, as ``termwise probe`` does.

    Parameters
    ----------
    scorers : sequence of str or TextScorer
        Rankers: objects, or what the verb takes: ``"bm25,b=0.5"``, ``"NAME=tildev2"``, a folder, an address, a run
        file, or ``"bm25+tildev2,alpha=0.4"`` of two that are named before.
    suites : sequence of str or Path, optional
        Names of suites, ``"probe:NAME"`` where ``*`` stands for any letters, and YAML files.
    judged : sequence of str or Path, optional
        Judged collections: folders in BEIR layout, or ``"NAME=COLLECTION,QUERIES,QRELS"``. Without one, questions about
        Python's documentation.
    collection : str or Path, optional
        What term statistics are counted on; the first judged collection if not given.
    data : mapping of str to path, optional
        Data sets of pairs, by the name of their kind.
    delta : str or float, optional
        What counts as a tie: ``"median"``, ``"by-query"``, ``"by-rank"``, or a number.
    candidates : path, optional
        A run that the gaps are taken from; what BM25 ranks first if not given.
    depth : int, optional
        Candidates of each query that gaps are taken from.
    limit : int, optional
        Samples of a probe, at the most; if not given, 100 of the suite ``quick`` and all of others.
    seed : int, optional
        Of whatever is drawn.
    stop_words : path, optional
        A file of stop words, one a line; 179 English ones if not given.
    language : {"spacy", "rules"}, optional
        What finds sentences, noun chunks and names; spaCy, if not given, where it is installed.
    threads : int, optional
        Of networks.
    device : str, optional
        Where networks of sentence-transformers run.
    out : path, optional
        Folder for the page, tables, samples and scores. With it, scores are kept, and the same call goes on where one
        was interrupted.
    progress : callable, optional
        Called with a stage, what is done, and its total.

    Returns
    -------
    dict
        The numbers of the report; see `termwise.probes.report.report_of`, which says what a cell has.

    Raises
    ------
    TermwiseError
        If something that is named cannot be read, or a ranker fails.

    Examples
    --------
    >>> report = probe_rankers(["bm25", "jm"], suites=["probe:length-doubled@written"], delta=0.1, language="rules")
    >>> [(cell["scorer"], cell["positive"] > cell["negative"]) for cell in report["cells"]]
    [('bm25', True), ('jm', False)]
    """
    rule = parse_delta(delta)
    several = isinstance(scorers, Sequence) and not isinstance(scorers, str | bytes) and len(scorers) > 0
    check("scorers", scorers, several, "a list of rankers, also of one: ['bm25']")
    asked, collections = _texts("suites", suites), _texts("judged", judged)
    check("suites", suites, len(asked) > 0, "one suite or more: ['quick']")
    known = data is None or (isinstance(data, Mapping) and all(isinstance(name, str) for name in data))
    check("data", data, known, "a mapping from names to paths")
    places = {"collection": collection, "candidates": candidates, "stop_words": stop_words, "out": out}
    for name, place in (*places.items(), *(data or {}).items()):
        if place is not None or name in (data or {}):
            check_path(name, place)
    for name, text in (("language", language), ("device", device)):
        check(name, text, isinstance(text, str | None), "a string")
    check_callable("progress", progress)
    check_count("depth", depth, least=2)
    if limit is not None:
        check_count("limit", limit)
    check(
        "seed", seed, is_integer(seed) and abs(int(seed)) < 2**63, "a whole number below 2 to the power of 63"
    )
    check_threads(threads)
    rankings = None if candidates is None else read_run(Path(candidates))
    bench = ProbeSession.of(
        judged=collections,
        collection=None if collection is None else str(collection),
        data={name: Path(path) for name, path in (data or {}).items()},
        stop_words=None if stop_words is None else Path(stop_words),
        language=language,
        progress=progress,
    )
    wanted = bench.probes(asked)
    return bench.report(
        bench.scorers(scorers, threads=threads, device=device),
        wanted,
        out=None if out is None else Path(out),
        delta=rule,
        candidates=rankings,
        depth=depth,
        limit=limit,
        seed=int(seed),
        facts={"suites": asked},
        progress=progress,
    )


def _texts(name: str, given: Sequence[str | Path]) -> list[str]:
    """Return names and paths as texts.

    Raises
    ------
    ParameterError
        If something else is given, or one string.
    """
    ordered = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    check(name, given, ordered, "a list of names and paths, also of one: ['quick']")
    texts = [str(one) if isinstance(one, Path) else one for one in given]
    check_names(name, texts)
    return texts
