"""Choice of how the rows of documents that are added to an index are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from termwise.encode import DocumentEncoder
from termwise.encode.document_encoder import built_precision, check_network
from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.container import REBUILD
from termwise.index.encoder_description import FUSION, EncoderDescription
from termwise.index.updater import IndexUpdater, WeighAgain
from termwise.indexing.built_statistics import built_idf, built_statistics
from termwise.indexing.context import RowSource, check_network_options, refuse_arguments
from termwise.indexing.count_rows import AddedCountRows
from termwise.indexing.model_choice import model_of, opened_encoder
from termwise.indexing.network_rows import AddedNetworkRows
from termwise.indexing.options import BuildOptions
from termwise.indexing.reweighing import weigh_again_of
from termwise.models import (
    BM25,
    CountModel,
    Lookup,
    Model,
    NetworkModel,
    Tilde,
    VectorModel,
)
from termwise.search.mixture import Mixture
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute


def check_options_of_parts(mixture: Mixture, options: BuildOptions) -> None:
    """Raise `ParameterError` if options of a network do not fit the parts of a mixture, see `open_writer`."""
    models = [model_of(part.index) for part in mixture.parts]
    running = [model for model in models if isinstance(model, NetworkModel) and model.runs_network]
    check_network_options(mixture.name, len(running), options)


LoadedNetworks = dict[Path, tuple[EncoderDescription, DocumentEncoder]]
"""Loaded networks by the folder of an index, each with the description of the model in its manifest."""


def open_rows(
    index: Index,
    options: BuildOptions,
    *,
    networks: LoadedNetworks,
    in_mixture: bool = False,
    wait: float = 0.0,
) -> RowSource:
    """Open an index for writing, and return the source of the rows of its model; see `open_writer`."""
    model = _changeable_model(index)
    source: Callable[[IndexUpdater], RowSource]
    weigh_again: WeighAgain | None = None
    if isinstance(model, NetworkModel):
        if in_mixture and not model.runs_network:
            options = replace(options, encoder=None, precision=None, providers=None)
        encoder = _encoder_of(index, model, options, networks)
        idf = built_idf(index, encoder.idf_power)
        source = partial(AddedNetworkRows, encoder=encoder, idf=idf)
    else:
        assert isinstance(model, CountModel), "models of other kinds are refused"
        if not in_mixture:
            refuse_arguments("these arguments require a model with a network", model, options.of_network())
        built_statistics(index)  # raises the error of an index without them
        analyzer = analyzer_of(index)
        has_languages = isinstance(analyzer, AnalyzerByAttribute)  # each with its own number of documents
        idf = built_idf(index, 1.0 if isinstance(model, BM25) and not has_languages else 0.0)
        weigh_again = weigh_again_of(index, options)
        source = partial(
            AddedCountRows,
            model=model,
            analyzer=analyzer,
            threads=options.threads,
        )
    updater = IndexUpdater(
        index,
        memory=options.memory,
        threads=options.threads,
        progress=options.progress,
        idf=idf,
        weigh_again=weigh_again,
        in_mixture=in_mixture,
        wait=wait,
    )
    try:
        return source(updater)
    except BaseException:
        updater.close()
        raise


def _encoder_of(
    index: Index, model: NetworkModel, options: BuildOptions, networks: LoadedNetworks
) -> DocumentEncoder:
    """Return the encoder of the network of an index, which must be the one that it was built with."""
    described = index.manifest.encoder
    before, opened = networks.get(index.path, (None, None))
    if opened is not None and before == described and options.encoder is None:
        return opened
    precision = options.precision
    if precision is None and options.encoder is None:
        precision = built_precision(described.network)
    opened = opened_encoder(model, replace(options, precision=precision))
    check_network(
        described.network,
        opened,
        index=index.path,
        fixes=[
            Fix.python("encoder=open_document_encoder(model)", "pass the encoder of the index: {}"),
            REBUILD,
        ],
    )
    networks[index.path] = described, opened
    return opened


def _changeable_model(index: Index) -> Model:
    """Return the model of an index, or raise the error of one whose documents cannot be weighed one by one."""
    name, model, reason = index.manifest.encoder.model.name, model_of(index), None
    if not name:
        reason = "the index has no description of its model"
    elif name == FUSION:
        reason = "its weights are sums over several indexes: change these, and fuse them again"
    elif model is None:
        reason = "termwise has no model of this name"
    elif isinstance(model, VectorModel):
        reason = "its weights are your own: change its rows with `termwise.index.updater.IndexUpdater`"
    elif isinstance(model, BM25) and not model.keeps_terms:
        reason = "its idf can be 0 or negative, so weights of some terms are not stored: use variant=lucene"
    elif isinstance(model, Lookup) and model.form == "terms":
        reason = "which terms it keeps depends on all documents: use form=vectors"
    elif isinstance(model, Tilde) and index.manifest.quantiser.kind == "float32":
        reason = "the floors of the exact form depend on all documents: use form=compact"
    if model is None or reason is not None:
        raise ParameterError(
            "the documents of this index cannot be changed",
            facts=[("index", index.path), ("model", name or "unknown"), ("reason", reason)],
            fixes=["build the index again with all documents"],
        )
    return model
