"""The models of termwise as scorers of any text: by name, by folder, or as an index has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from termwise.encode import open_document_encoder
from termwise.encode.encoder_manifest import Precision
from termwise.engine.query_encoder import FUSION, analyzer_of
from termwise.errors import ParameterError, UsageError
from termwise.index import Index
from termwise.indexing.model_choice import chosen_model
from termwise.models import (
    CountModel,
    Model,
    Model1,
    NetworkModel,
    model_from_parameters,
)
from termwise.records import Document
from termwise.scorers.background import Background
from termwise.scorers.count_weigher import CountWeigher
from termwise.scorers.encoder_weigher import EncoderWeigher, RowFrequencies
from termwise.scorers.row_scorer import RowScorer
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
    precision: Precision | None = None,
) -> RowScorer:
    """Return a model as a scorer of any text.

    Parameters
    ----------
    model : str, Path or Model
        A model, its name, the folder of an encoder or of a translation table; see `termwise.build_index`.
    background : Background
        Collection whose statistics texts are weighed with. A network that multiplies by a power of the idf takes the
        number of documents that say a term, where an index also counts those that were expanded by it.
    settings : dict of str to str, optional
        Parameters of a model given by name or folder. A translation table has all of its weights unless ``keep`` says
        otherwise: what an index saves in room is nothing here.
    analyzer : str or Analyzer, optional
        What cuts texts for a model of counts, by default ``english``, or that of the table.
    name : str, optional
        What the scorer is called in tables.
    threads, precision
        Of a network, see `termwise.encode.open_document_encoder`.

    Raises
    ------
    ParameterError
        If the model is of another kind, or an analyzer comes with a network.
    TermwiseError
        As `termwise.build_index` does.
    """
    chosen = chosen_model(model, settings or {})
    if isinstance(chosen, Model1) and "keep" not in (settings or {}) and not isinstance(model, Model):
        chosen = replace(chosen, keep=0)
    if isinstance(chosen, NetworkModel):
        if analyzer is not None:
            raise ParameterError(
                "a network cuts texts in the way it was trained with",
                facts=[("model", chosen.name), ("analyzer", analyzer)],
                fixes=["leave the analyzer out"],
            )
        encoder = open_document_encoder(chosen, threads=threads, precision=precision)
        frequencies = None
        if encoder.idf_power:
            counts = background.tokens(encoder.analyzer).counts
            frequencies = RowFrequencies(counts.document_frequencies, counts.n_documents)
        return RowScorer(EncoderWeigher(chosen, encoder, frequencies, name=name))
    if isinstance(chosen, CountModel):
        cut = _analyzer(chosen, analyzer)
        return RowScorer(CountWeigher(chosen, cut, background.tokens(cut), name=name))
    raise ParameterError(
        "this model has no weights for texts that were not weighed elsewhere",
        facts=[("model", chosen.name)],
        fixes=["name bm25, jm, dirichlet, a translation table or an encoder"],
    )


def index_scorer(
    index: Index,
    *,
    background: Background | None = None,
    name: str | None = None,
    threads: int = 1,
) -> RowScorer:
    """Return the model of an index as a scorer of any text, with the statistics of its collection.

    Scores are those of the index before its weights were rounded to one byte.

    Parameters
    ----------
    index : Index
        Of any model but a sum of several, or weights made elsewhere.
    background : Background, optional
        Collection that the index was made of. A model of counts needs it where the index keeps no texts.
    name : str, optional
        By default that of the folder.
    threads : int, optional
        Of a network.

    Raises
    ------
    UsageError
        If the model cannot weigh other texts, or there is nothing to count.
    TermwiseError
        If the model cannot be made again.
    """
    described = index.manifest.encoder.get("model", {})
    kind = str(described.get("name", "unknown model"))
    name = index.path.resolve().name if name is None else name
    if kind == FUSION or not described:
        raise UsageError(
            "an index of several models, or of weights made elsewhere, cannot weigh other texts",
            facts=[("index", index.path), ("model", kind)],
            fixes=["name the indexes it was made of, and mix them: FIRST+SECOND,alpha=0.5"],
        )
    model = model_from_parameters(kind, described.get("parameters", {}))
    if isinstance(model, NetworkModel):
        precision = (index.manifest.encoder.get("network") or {}).get("precision")
        encoder = open_document_encoder(model, threads=threads, precision=precision)
        frequencies = RowFrequencies(np.asarray(index.document_frequencies), len(index))
        return RowScorer(EncoderWeigher(model, encoder, frequencies, name=name))
    if not isinstance(model, CountModel):
        raise UsageError(
            "the weights of this index were made elsewhere, and other texts have none",
            facts=[("index", index.path), ("model", kind)],
        )
    if background is None:
        background = _stored(index)
    analyzer = analyzer_of(index)
    return RowScorer(CountWeigher(model, analyzer, background.tokens(analyzer), name=name))


def _analyzer(model: CountModel, analyzer: str | Analyzer | None) -> Analyzer:
    if analyzer is None and model.analyzer is not None:
        return analyzer_from_spec(model.analyzer)
    return analyzer if isinstance(analyzer, Analyzer) else make_analyzer(analyzer or DEFAULT_ANALYZER)


def _stored(index: Index) -> Background:
    if not index.stores_text:
        raise UsageError(
            "this index keeps no texts, so the statistics of its collection have to come from elsewhere",
            facts=[("index", index.path)],
            fixes=["--collection COLLECTION, what the index was made of", "build it with --store-text"],
        )

    def documents() -> Iterator[Document]:
        for first in range(0, len(index), _BATCH):
            ordinals = np.arange(first, min(first + _BATCH, len(index)), dtype=np.int64)
            for doc_id, text in zip(index.doc_ids(ordinals), index.texts(ordinals), strict=True):
                yield Document(doc_id, text or "")

    return Background(documents, length=len(index), name=str(index.path))
