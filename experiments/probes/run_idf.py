"""Document frequencies of query terms, recovered from the scores of a BM25 run.

    python experiments/probes/run_idf.py --data PROBES --idf WORK/idf.tsv

PROBES is a folder with the judged passages and BM25 runs of TREC DL 2019 and 2020, with the names in `TRACKS`. Only
some passages of MS MARCO are there, all found for these queries, so that counts over them give wrong idf. The runs are
by Anserini with the idf of the whole collection: a score is the sum of idf · tf/(tf + k1·(1 − b + b·dl/avgdl)) over the
query terms. All but the idf is known, so the idf is the solution of a linear regression over all scores of both runs.
Some texts here differ from those of the index, so the sum of absolute residuals is minimised, not that of squares.

``--idf`` is written for ``termwise probe --idf``. It has words of the queries, which are not published with termwise.
The results are ``results/probes_idf.md`` and ``.json``: nDCG@10 of rankers that re-rank the run, with counts of the
passages and with the recovered frequencies, by all judgments.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.collection import open_collection, read_qrels, read_queries, read_run  # noqa: E402
from termwise.evaluate import Evaluator  # noqa: E402
from termwise.kernels.weighting import lucene_length  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.records import Document, Ranking, Run  # noqa: E402
from termwise.scorers import Background, WordFrequencies  # noqa: E402
from termwise.text import WordAnalyzer  # noqa: E402
from termwise.text.standard_words import StandardWords  # noqa: E402
from termwise.text.token_filters import LOWER_CASE, PORTER, WordStep, stop_words  # noqa: E402

TRACKS = {"dl19": "trec_dl19_passage_subset", "dl20": "trec_dl20_passage_subset"}

DOCUMENTS, TOKENS = 8_841_823, 352_316_036
"""Passages of MS MARCO, and their tokens in Anserini's index. With an average length of 39.8 in place of the quotient,
the median residual is ten times as large."""

K1, B = 0.9, 0.4

EXACT = 0.001
"""Largest absolute residual of a score whose text is that of the index; scores have four decimals."""

LEAST = 3
"""Least number of such scores with a term whose idf is used."""

STEPS = 100

RANKERS = ("bm25", "bm25,lengths=lucene", "jm", "dirichlet")
MEASURE = "nDCG@10"
REACH = 0.005


def without_possessive(word: str) -> str:
    """Remove a final ``'s`` from a word, as Lucene's EnglishPossessiveFilter does."""
    return word[:-2] if word[-2:-1] in ("'", "’", "＇") and word[-1:] in ("s", "S") else word


ANSERINI = WordAnalyzer(
    "anserini-english",
    StandardWords(),
    [WordStep("possessive", without_possessive), LOWER_CASE, stop_words("lucene-english"), PORTER],
)


@dataclass(frozen=True)
class Track:
    """Queries and run of a track, with the texts of all available passages."""

    queries: Mapping[str, str]
    texts: Mapping[str, str]
    run: Run
    evaluator: Evaluator

    @classmethod
    def read(cls, folder: Path) -> Track:
        """Read the files of a track."""
        return cls(
            {one.query_id: one.text for one in read_queries(folder / "queries.tsv")},
            {one.doc_id: one.text for one in open_collection(folder / "docs.jsonl.gz").documents()},
            read_run(folder / "run.bm25.txt"),
            Evaluator(read_qrels(folder / "qrels.full.txt"), [MEASURE]),
        )

    def documents(self) -> list[Document]:
        """Return the available passages."""
        return [Document(*one) for one in self.texts.items()]


@dataclass(frozen=True)
class Fit:
    """Estimated idf of each term, number of scores used for each estimate, and residuals of all scores."""

    idf: Mapping[str, float]
    left_out: int
    residuals: npt.NDArray[np.float64]


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--idf", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    about = record.provenance(["termwise", "numpy", "ir-measures"])
    tracks = {name: Track.read(given.data / folder) for name, folder in TRACKS.items()}
    fit = fitted(*equations(list(tracks.values())))
    words = frequencies(fit.idf, tracks.values())
    size = f"documents={DOCUMENTS}\taverage_length={TOKENS / DOCUMENTS:.4f}\n"
    record.write_whole(given.idf, size + "".join(f"{word}\t{df}\n" for word, df in words.items()))
    about["data"] = {
        f"{name}/{file}": record.file_hash(given.data / TRACKS[name] / file)
        for name in tracks
        for file in ("docs.jsonl.gz", "queries.tsv", "qrels.full.txt", "run.bm25.txt")
    }
    kept = {
        "provenance": about,
        "terms": len(fit.idf),
        "words": len(words),
        "left out": fit.left_out,
        "scores": len(fit.residuals),
        "exact": float((fit.residuals < EXACT).mean()),
        "median residual": float(np.median(fit.residuals)),
        "tracks": {name: qualities(track, WordFrequencies.read(given.idf)) for name, track in tracks.items()},
    }
    about["seconds"] = record.seconds()
    record.save(kept, page(kept), given.out, "probes_idf")


def equations(
    tracks: Sequence[Track],
) -> tuple[list[str], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the query terms, their saturated frequencies in the passages of the runs, and the scores."""
    rows: list[dict[str, float]] = []
    scores: list[float] = []
    for track in tracks:
        for query_id, ranking in track.run.rankings.items():
            asked = Counter(ANSERINI.tokens(track.queries[query_id]))
            for doc_id, score in zip(ranking.doc_ids, ranking.scores, strict=True):
                if doc_id not in track.texts:
                    continue
                tokens = Counter(ANSERINI.tokens(track.texts[doc_id]))
                length = int(lucene_length(np.array([tokens.total()]))[0])
                norm = K1 * (1 - B + B * length / (TOKENS / DOCUMENTS))
                rows.append({term: n * tokens[term] / (tokens[term] + norm) for term, n in asked.items()})
                scores.append(float(score))
    terms = sorted({term for row in rows for term in row})
    return terms, np.array([[row.get(term, 0.0) for term in terms] for row in rows]), np.array(scores)


def fitted(terms: list[str], rows: npt.NDArray[np.float64], scores: npt.NDArray[np.float64]) -> Fit:
    """Minimise the sum of absolute residuals by iteratively reweighted least squares."""
    weights = np.ones(len(scores))
    idf = np.zeros(len(terms))
    for _ in range(STEPS):
        weighted = rows * weights[:, None]
        before, idf = idf, np.linalg.lstsq(weighted.T @ rows, weighted.T @ scores, rcond=1e-12)[0]
        residuals = np.abs(scores - rows @ idf)
        weights = 1 / np.maximum(residuals, 1e-5)
        if np.abs(idf - before).max() < 1e-5:
            break
    support = (rows[residuals < EXACT] > 0).sum(axis=0)
    found = {term: value for term, value, n in zip(terms, idf.tolist(), support, strict=True) if n >= LEAST}
    return Fit(found, len(terms) - len(found), residuals)


def frequencies(idf: Mapping[str, float], tracks: Any) -> dict[str, int]:
    """Return the document frequency of each word of a query, from idf = ln((N + 1)/(df + .5))."""
    found = {}
    for track in tracks:
        for query in track.queries.values():
            for word in StandardWords().words(query.lower()):
                for term in ANSERINI.tokens(word):
                    if term in idf:
                        found[word] = max(1, round((DOCUMENTS + 1) / np.exp(idf[term]) - 0.5))
    return dict(sorted(found.items()))


def qualities(track: Track, words: WordFrequencies) -> dict[str, Any]:
    """Return nDCG@10 of the run, and of rankers that re-rank it with both kinds of statistics."""
    backgrounds = {
        "passages": Background(track.documents),
        "recovered": Background(track.documents, words=words),
    }
    return {
        "queries": len(track.run.rankings),
        "run": track.evaluator.evaluate(track.run).means[MEASURE],
        **{
            kind: {
                ranker: track.evaluator.evaluate(reranked(track, ranker, background)).means[MEASURE]
                for ranker in RANKERS
            }
            for kind, background in backgrounds.items()
        },
    }


def reranked(track: Track, name: str, background: Background) -> Run:
    """Return the run in the order of another ranker; ties keep the order of the run."""
    scorer = open_scorer(name, ScorerContext(background))
    rankings = []
    for query_id, ranking in track.run.rankings.items():
        ids = [doc_id for doc_id in ranking.doc_ids if doc_id in track.texts]
        scores = np.asarray(scorer.score(track.queries[query_id], [track.texts[doc_id] for doc_id in ids]))
        order = np.argsort(-scores, kind="stable").tolist()
        rankings.append(Ranking([ids[place] for place in order], scores[order].tolist(), query_id))
    return Run(rankings, name)


def page(kept: Mapping[str, Any]) -> str:
    """Return the page."""
    tracks = kept["tracks"]
    rows = [
        ["the run itself", *(cell for one in tracks.values() for cell in ("", record.number(one["run"])))]
    ]
    for ranker in RANKERS:
        cells = [
            record.number(one[kind][ranker]) for one in tracks.values() for kind in ("passages", "recovered")
        ]
        rows.append([f"`{ranker}`", *cells])
    names = {name: name.upper().replace("DL", "DL ") for name in tracks}
    head = ["ranker", *(f"{names[name]}, {kind}" for name in tracks for kind in ("passages", "recovered"))]
    differences = [
        f"{names[name]} {record.number(one['recovered']['bm25'] - one['run'], digits=4, signed=True)}"
        for name, one in tracks.items()
    ]
    within = all(abs(one["recovered"]["bm25"] - one["run"]) <= REACH for one in tracks.values())
    queries = " and ".join(str(one["queries"]) for one in tracks.values())
    return "\n".join(
        [
            "# BM25 of the probes with the idf of the whole collection",
            "",
            "nDCG@10 by all judgments of TREC DL 2019 and 2020 (`qrels.full.txt`). Each ranker re-ranks the first 100 "
            f"passages of `run.bm25.txt` for {queries} queries. *passages*: term statistics are counts of the passages "
            "that are available here. *recovered*: document frequencies of the query words are recovered from the "
            f"scores of the run, N is {DOCUMENTS:,}, and the average length {TOKENS / DOCUMENTS:.2f} tokens.",
            "",
            record.table(head, rows),
            "",
            f"Difference between `bm25` and the run: {', '.join(differences)}. The limit of {REACH}, which was written "
            f"with the result, is {'kept' if within else 'NOT kept'}.",
            "",
            f"The recovered frequencies reproduce {kept['exact']:.1%} of the {kept['scores']:,} scores of the runs to "
            f"{EXACT}; the median residual is {kept['median residual']:.1e}. The texts of the other passages differ "
            f"from those of the index. {kept['terms']} terms ({kept['words']} words) are recovered; {kept['left out']} "
            f"occur in fewer than {LEAST} passages with a reproduced score, and are estimated from the passages as all "
            "other terms are.",
            "",
            record.about(dict(kept), intervals=False),
        ]
    )


if __name__ == "__main__":
    record.script(main)
