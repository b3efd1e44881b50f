"""mteb: a model of termwise as a search model that `mteb.evaluate` indexes and searches with."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from termwise._version import __version__
from termwise.collection.record_collection import RecordCollection
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, MissingExtraError, ParameterError
from termwise.fixes import Fix
from termwise.indexing import BuildOptions, build_index
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.recipes import RECIPES
from termwise.models import Lookup, Model, NetworkModel
from termwise.records import Query, Ranking, Run
from termwise.search import Search, Searcher
from termwise.text import Analyzer
from termwise.validation import check_threads

if TYPE_CHECKING:
    from mteb.models import ModelMeta


class TermwiseSearch:
    """Search model of mteb (its `SearchProtocol`) that builds an index for each retrieval or re-ranking task.

    Parameters
    ----------
    model, analyzer, options : optional
        See `termwise.build_index`; the model can be a mixture, such as ``"best"``. With ``BuildOptions(encoding=…)``,
        documents that a network encoded once are not encoded again.
    search : Search, optional
        Weighting of all queries, for example for queries that are whole documents.
    threads : int, optional
        Threads of searches; results do not depend on it.
    name : str, optional
        Name of the model in the results of mteb; by default ``termwise/`` and the name of the model.

    Examples
    --------
    >>> model = TermwiseSearch("bm25")
    >>> model.mteb_model_meta.name
    'termwise/bm25'
    """

    def __init__(
        self,
        model: str | Path | Model = "bm25",
        *,
        analyzer: str | Analyzer | None = None,
        search: Search = Search(),  # noqa: B008
        threads: int = 1,
        options: BuildOptions = BuildOptions(),  # noqa: B008
        name: str | None = None,
    ) -> None:
        check_threads(threads)
        self._is_mixture = isinstance(model, str) and model in RECIPES
        self._model = model if self._is_mixture else chosen_model(model)
        self._analyzer = analyzer
        self._search = search
        self._threads = threads
        self._options = options
        self._name = name or f"termwise/{model if self._is_mixture else chosen_model(model).name}"
        self._searcher: Searcher | None = None
        self._remove: Callable[[], object] = lambda: None

    def __repr__(self) -> str:
        return f"TermwiseSearch({self._name!r})"

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """Description of the model; raises `MissingExtraError` if mteb is not installed."""
        try:
            from mteb.models import ModelMeta
        except ImportError as error:
            raise MissingExtraError.of("mteb", "mteb", "the description of a model for mteb") from error
        has_network = self._is_mixture or isinstance(self._model, NetworkModel)
        dense = isinstance(self._model, Lookup) and self._model.keep is None
        return ModelMeta(
            loader=None,
            name=self._name,
            revision=__version__,
            release_date=None,
            languages=None,
            n_parameters=None if has_network else 0,
            memory_usage_mb=None,
            max_tokens=None,
            embed_dim=None,
            license="apache-2.0",
            open_weights=True,
            public_training_code=None,
            public_training_data=None,
            framework=["ONNX"] if has_network else [],
            similarity_fn_name=None,
            use_instructions=False,
            training_datasets=None,
            model_type=["hybrid" if self._is_mixture else "dense" if dense else "sparse"],
        )

    def index(
        self,
        corpus: Iterable[Mapping[str, Any]],
        *,
        task_metadata: object,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Mapping[str, Any],
        num_proc: int | None,
        **kwargs: object,
    ) -> None:
        """Index the documents of a task in a temporary folder, which is removed with this object or the next index.

        Parameters
        ----------
        corpus : datasets.Dataset or other iterable of mappings
            With ``id``, ``text`` and optionally ``title``. It is read several times by a mixture.
        task_metadata, hf_split, hf_subset, encode_kwargs, num_proc, **kwargs
            Part of the protocol; not used.

        Raises
        ------
        MalformedRecordError
            If a document has no identifier or no text; the error names its number from 0.
        TermwiseError
            See `termwise.build_index`.
        """
        documents = RecordCollection(
            "corpus", lambda: corpus, source="documents", id_fields=("id",), body_fields=("text",)
        )
        self._remove()
        self._searcher = None
        folder = tempfile.mkdtemp(prefix="termwise-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._searcher = build_index(
            documents,
            Path(folder) / "task.tw",
            model=self._model,
            analyzer=self._analyzer,
            options=self._options,
        )

    def search(
        self,
        queries: Iterable[Mapping[str, Any]],
        *,
        task_metadata: object,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: Mapping[str, Any],
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        num_proc: int | None,
        **kwargs: object,
    ) -> dict[str, dict[str, float]]:
        """Search for the queries of a task, or re-rank the candidates of each.

        Parameters
        ----------
        queries : datasets.Dataset or other iterable of mappings
            With ``id``, ``text`` and optionally ``instruction``, which is added to the text. The turns of a
            conversation are joined.
        top_k : int
            Largest number of results of a query.
        top_ranked : mapping of str to sequence of str, optional
            Candidates of each query in a re-ranking task. A query without candidates has no results.
        task_metadata, hf_split, hf_subset, encode_kwargs, num_proc, **kwargs
            Part of the protocol; not used.

        Returns
        -------
        dict of str to dict of str to float
            Scores of documents by query. Equal scores are set apart by the smallest steps of float32, in the order of
            the ranking: mteb would put them in the order of the identifiers.

        Raises
        ------
        ParameterError
            If there is no index yet.
        MalformedRecordError
            If a query has no identifier or text; the error names its number from 0.
        UnknownIdError
            If a candidate is not in the index.
        """
        if self._searcher is None:
            raise ParameterError("there is no index to search", fixes=[Fix.python("model.index(corpus, …)")])
        asked = [_query(number, record) for number, record in enumerate(queries)]
        candidates = None
        if top_ranked is not None:
            listed = {query_id: list(dict.fromkeys(doc_ids)) for query_id, doc_ids in top_ranked.items()}
            candidates = Run(
                Ranking(doc_ids, np.zeros(len(doc_ids)), query_id) for query_id, doc_ids in listed.items()
            )
        run = self._searcher.rank_many(
            asked, k=top_k, search=self._search, candidates=candidates, threads=self._threads
        )
        found: dict[str, dict[str, float]] = {query.query_id: {} for query in asked}
        return found | {ranking.query_id: separated_scores(ranking) for ranking in run}


def separated_scores(ranking: Ranking) -> dict[str, float]:
    """Return the scores of a ranking by document, lowered to the next float32 where they would not decrease.

    Evaluators that sort by score, such as trec_eval, read scores as float32, and order equal ones by identifier.

    Examples
    --------
    >>> separated_scores(Ranking(["b", "a", "c"], [2.0, 2.0, 1.0]))
    {'b': 2.0, 'a': 1.9999998807907104, 'c': 1.0}
    """
    scores = ranking.scores.astype(np.float32)
    if (scores[1:] >= scores[:-1]).any():
        for place in range(1, len(scores)):
            if scores[place] >= scores[place - 1]:
                scores[place] = np.nextafter(scores[place - 1], np.float32(-np.inf))
    return dict(zip(ranking.doc_ids, scores.tolist(), strict=True))


def _query(number: int, record: Mapping[str, Any]) -> Query:
    query_id, text = record.get("id"), record.get("text")
    if isinstance(text, list):
        turns: list[Any] = [turn.get("content") if isinstance(turn, Mapping) else turn for turn in text]
        text = " ".join(turns) if all(isinstance(turn, str) for turn in turns) else text
    for field, value in (("id", query_id), ("text", text)):
        if not isinstance(value, str):
            raise MalformedRecordError(
                "a query is not in the expected form",
                facts=[("query", number), ("field", field), ("expected", "a string"), ("seen", shown(value))],
            )
    instruction = record.get("instruction")
    return Query(str(query_id), f"{text} {instruction}" if isinstance(instruction, str) else str(text))
