"""``termwise learn-weights --method lambdamart``: boosted trees over the scores of the parts of a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from termwise.cli.options import available_processors
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note, print_json, print_text
from termwise.errors import ParameterError

if TYPE_CHECKING:
    from termwise.records import Qrel, Query

CANDIDATES = 100
"""Results of the mixture for each query of the training; those without a judgment are not relevant."""

_SHOWN = 5


def learn_trees(
    mixture: Path, queries: Sequence[Query], qrels: Sequence[Qrel], out: Path, *, seed: int, as_json: bool
) -> None:
    """Train LambdaMART on judged queries, and write a folder for ``rerank --scorer``.

    Features are the scores of the parts and those of `TextFeatures`.
    """
    from termwise.probes.core.judged_texts import JudgedTexts
    from termwise.scorers.model_scorers import part_scorers, stored_texts
    from termwise.search import Searcher
    from termwise.search.mixture import Mixture
    from termwise.yardsticks import BoostingSettings, train_gradient_boosting, write_gradient_boosting

    parts = Mixture.open(mixture)
    index = parts.index
    if not index.stores_text:
        raise ParameterError(
            "the mixture stores no texts, and the trees read texts", facts=[("mixture", mixture)]
        )
    scorers = part_scorers(parts, threads=available_processors())
    grades: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    asked = {query.query_id: query for query in queries if query.query_id in grades}
    with progress_bar() as progress:
        run = Searcher(parts).rank_many(asked.values(), k=CANDIDATES, progress=progress)
    rows: dict[str, dict[str, int]] = {}
    texts: dict[str, str] = {}
    for ranking in run:
        own = dict.fromkeys(ranking.doc_ids, 0) | grades[ranking.query_id]
        ordinals = index.find_many(list(own))
        known = [one for one, ordinal in zip(own, ordinals.tolist(), strict=True) if ordinal >= 0]
        stored = index.document_texts(ordinals[ordinals >= 0])
        texts |= {doc_id: text or "" for doc_id, text in zip(known, stored, strict=True)}
        rows[ranking.query_id] = {doc_id: own[doc_id] for doc_id in known}
    judged = JudgedTexts("judged", {one: query.text for one, query in asked.items()}, texts, rows, 0)
    settings = BoostingSettings(seed=seed)
    scorer = train_gradient_boosting(judged, stored_texts(index), parts=scorers, settings=settings)
    facts = {"method": "lambdamart", "queries": len(rows), "pairs": len(judged)}
    write_gradient_boosting(scorer, out, mixture=mixture, trained=facts)
    names = {f"part.{number}": part.name for number, part in enumerate(parts.parts, start=1)}
    gains = {names.get(name, name): gain for name, gain in scorer.gains().items()}
    if as_json:
        print_json({"folder": str(out), **facts, "gains": gains})
    else:
        print_text(
            f"{out}: boosted trees, {counted(len(rows), 'judged query')} with {counted(len(judged), 'document')}\n"
            f"Features with the largest gains: {', '.join([*gains][:_SHOWN])}.\n"
            "The trees were learned on these queries; evaluate them on other queries."
        )
    note(
        f"next: termwise rerank {quote(str(mixture))} --scorer {quote(str(out))} --run RUN --queries FILE --out FILE"
    )
