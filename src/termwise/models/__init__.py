"""Models: how documents and queries get their term weights.

Importing this package loads neither numba nor a network; kernels are loaded when a model first weighs.
"""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.models.base import CountModel, Model, NetworkModel
    from termwise.models.bm25 import BM25
    from termwise.models.count_query_encoder import CountQueryEncoder
    from termwise.models.dirichlet import QueryLikelihoodDirichlet
    from termwise.models.jelinek_mercer import QueryLikelihoodJM
    from termwise.models.lookup import Lookup
    from termwise.models.maximum_likelihood import MaximumLikelihood
    from termwise.models.model1 import Model1
    from termwise.models.registry import make_model, model_from_parameters, model_names
    from termwise.models.splade_doc import SpladeDoc
    from termwise.models.tilde import Tilde
    from termwise.models.tildev2 import TildeV2
    from termwise.models.token_weights import read_token_weights
    from termwise.models.vectors import VectorModel, read_vectors
    from termwise.models.vectors_jsonl import JsonVectors
    from termwise.models.vectors_npz import CsrVectors
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": "CountModel Model NetworkModel",
            "bm25": "BM25",
            "count_query_encoder": "CountQueryEncoder",
            "dirichlet": "QueryLikelihoodDirichlet",
            "jelinek_mercer": "QueryLikelihoodJM",
            "lookup": "Lookup",
            "maximum_likelihood": "MaximumLikelihood",
            "model1": "Model1",
            "registry": "make_model model_from_parameters model_names",
            "splade_doc": "SpladeDoc",
            "tilde": "Tilde",
            "tildev2": "TildeV2",
            "token_weights": "read_token_weights",
            "vectors": "VectorModel read_vectors",
            "vectors_jsonl": "JsonVectors",
            "vectors_npz": "CsrVectors",
        },
    )

__all__ = [
    "BM25",
    "CountModel",
    "CountQueryEncoder",
    "CsrVectors",
    "JsonVectors",
    "Lookup",
    "MaximumLikelihood",
    "Model",
    "Model1",
    "NetworkModel",
    "QueryLikelihoodDirichlet",
    "QueryLikelihoodJM",
    "SpladeDoc",
    "Tilde",
    "TildeV2",
    "VectorModel",
    "make_model",
    "model_from_parameters",
    "model_names",
    "read_token_weights",
    "read_vectors",
]
