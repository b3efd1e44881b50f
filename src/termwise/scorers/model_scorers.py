"""Models of termwise as scorers of any text: from a name, a folder or an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from termwise.collection import OpenStatistics
from termwise.encode import open_document_encoder
from termwise.encode.document_encoder import built_precision, check_network
from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError, UsageError
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.index.container import REBUILD
from termwise.indexing.model_choice import chosen_model, model_of
from termwise.models import CountModel, Lookup, Model, Model1, NetworkModel
from termwise.records import Document
from termwise.scorers.count_weigher import CountWeigher
from termwise.scorers.encoder_weigher import EncoderWeigher, RowFrequencies
from termwise.scorers.lookup_scorer import LookupScorer
from termwise.scorers.row_scorer import RowScorer
from termwise.scorers.token_statistics import Background
from termwise.search.mixture import Mixture
from termwise.text import Analyzer, analyzer_from_spec, make_analyzer

DEFAULT_ANALYZER = "english"

_BATCH = 1024


def model_scorer(
    model: str | Path | Model,
    background: Background,
    *,
    settings: dict[str, str] | None = None,
    analyzer: str | Analyzer | None = None,
    name: str | None = None,
    threads: int = 1,
) -> RowScorer | LookupScorer:
    """Return a model as a scorer of any text.

    Parameters
    ----------
    model : str, Path or Model
        A model, its name, or the folder of an encoder or a translation table; see `termwise.build_index`.
    background : Background
        Collection for the statistics. For an encoder with a power of the idf, the document frequency of a term
        is the number of documents that contain it; an index also counts documents that were expanded with it.
    settings : dict of str to str, optional
        Parameters of a model given by name or folder. A translation table keeps all of its weights unless ``keep`` is
        set, because nothing is stored.
    analyzer : str or Analyzer, optional
        Analyzer of a count model; by default ``english``, or the analyzer of the table.
    name : str, optional
        Name of the scorer in tables.
    threads : int, optional
        Threads of a network.

    Raises
    ------
    ParameterError
        If the model cannot weigh single texts, or a network is given an analyzer.
    TermwiseError
        See `termwise.build_index`.
    """
    chosen = chosen_model(model, settings or {})
    if isinstance(chosen, Model1) and "keep" not in (settings or {}) and not isinstance(model, Model):
        chosen = replace(chosen, keep=0)
    if isinstance(chosen, NetworkModel):
        if analyzer is not None:
            raise ParameterError(
                "a network uses the analyzer that it was trained with",
                facts=[("model", chosen.name), ("analyzer", analyzer)],
                fixes=["omit the analyzer"],
            )
        encoder = open_document_encoder(chosen, threads=threads)
        if isinstance(chosen, Lookup):
            return LookupScorer(chosen, encoder, name=name)
        frequencies = None
        if encoder.idf_power:
            counts = background.tokens(encoder.analyzer).counts
            opened = OpenStatistics(counts, counts.n_terms)
            frequencies = RowFrequencies(opened.document_frequencies, counts.n_documents)
        return RowScorer(EncoderWeigher(chosen, encoder, frequencies, name=name))
    if isinstance(chosen, CountModel):
        if analyzer is None and chosen.analyzer is not None:
            analyzer = analyzer_from_spec(chosen.analyzer)
        elif not isinstance(analyzer, Analyzer):
            analyzer = make_analyzer(analyzer or DEFAULT_ANALYZER)
        return RowScorer(CountWeigher(chosen, analyzer, background.tokens(analyzer), name=name))
    raise ParameterError(
        "this model cannot weigh texts outside an index",
        facts=[("model", chosen.name)],
        fixes=["name bm25, jm, dirichlet, a translation table or an encoder"],
    )


def index_scorer(
    index: Index, *, background: Background | None = None, name: str | None = None, threads: int = 1
) -> RowScorer | LookupScorer:
    """Return the model of an index as a scorer of any text, with the statistics of its collection.

    Scores are those of the index before quantisation; for the form ``terms`` of lookup those of its vectors.

    Parameters
    ----------
    index : Index
        Of any model except a fusion of several, or external weights.
    background : Background, optional
        Collection of the index. A count model needs it if the index stores no texts.
    name : str, optional
        By default the name of the folder.
    threads : int, optional
        Threads of a network.

    Raises
    ------
    UsageError
        If the model cannot weigh other texts, or there are no texts to count.
    ParameterError
        If the documents of the index are cut into chunks: other texts would be whole.
    VocabularyMismatchError
        If the encoder is not the one that the index was built with.
    TermwiseError
        If the model cannot be loaded.
    """
    index.check_not_cut("a scorer of other texts")
    described = index.manifest.encoder
    name = index.path.resolve().name if name is None else name
    model = model_of(index)
    if model is None:
        raise UsageError(
            "an index of fused models or external weights cannot weigh other texts",
            facts=[("index", index.path), ("model", described.model.name or "unknown model")],
            fixes=["mix the scorers of the single indexes: FIRST+SECOND,alpha=0.5"],
        )
    if isinstance(model, NetworkModel):
        encoder = open_document_encoder(model, threads=threads, precision=built_precision(described.network))
        check_network(
            described.network,
            encoder,
            index=index.path,
            fixes=["put the encoder of the index back into its folder", REBUILD],
        )
        if isinstance(model, Lookup):
            return LookupScorer(model, encoder, name=name)
        frequencies = RowFrequencies(np.asarray(index.document_frequencies), len(index))
        return RowScorer(EncoderWeigher(model, encoder, frequencies, name=name))
    if not isinstance(model, CountModel):
        raise UsageError(
            "an index of external weights cannot weigh other texts",
            facts=[("index", index.path), ("model", model.name)],
        )
    if background is None and not index.stores_text:
        raise UsageError(
            "the index stores no texts to count the statistics from",
            facts=[("index", index.path)],
            fixes=[
                Fix.use("{}, the collection of the index", collection=Code("COLLECTION")),
                Fix.build(store_text=True),
            ],
        )
    analyzer = analyzer_of(index)
    statistics = (background or stored_texts(index)).tokens(analyzer)
    return RowScorer(CountWeigher(model, analyzer, statistics, name=name))


def part_scorers(
    mixture: Mixture, *, background: Background | None = None, threads: int = 1
) -> list[RowScorer | LookupScorer]:
    """Return the models of the parts of a mixture as scorers of any text; its stored texts replace `background`."""
    if mixture.index.stores_text:
        background = stored_texts(mixture.index)
    return [
        index_scorer(part.index, background=background, name=part.name, threads=threads)
        for part in mixture.parts
    ]


def stored_texts(index: Index) -> Background:
    """Return the stored texts of an index as a background collection."""

    def documents() -> Iterator[Document]:
        for first in range(0, index.documents, _BATCH):
            ordinals = index.chunks.starts[first : first + _BATCH]
            for doc_id, text in zip(index.doc_ids(ordinals), index.document_texts(ordinals), strict=True):
                yield Document(doc_id, text or "")

    return Background(documents, length=index.documents, name=str(index.path))
