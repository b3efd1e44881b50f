"""The definition of every number: slow, obvious loops in float64.

A faster kernel of the same name is admitted by agreeing with the function here.
"""

from termwise.kernels.reference.counting import count_rows
from termwise.kernels.reference.likelihood import excess_rows, log_sigmoid
from termwise.kernels.reference.pooling import keep_largest, max_rows
from termwise.kernels.reference.retrieval import quantise, score_rows, top_k
from termwise.kernels.reference.weighting import (
    atire_idf,
    bm25_weights,
    dirichlet_weights,
    jelinek_mercer_weights,
    lucene_idf,
    lucene_length,
    robertson_idf,
    row_lengths,
)

__all__ = [
    "atire_idf",
    "bm25_weights",
    "count_rows",
    "dirichlet_weights",
    "excess_rows",
    "jelinek_mercer_weights",
    "keep_largest",
    "log_sigmoid",
    "lucene_idf",
    "lucene_length",
    "max_rows",
    "quantise",
    "robertson_idf",
    "row_lengths",
    "score_rows",
    "top_k",
]
