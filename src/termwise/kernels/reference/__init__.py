"""Definition of each number in plain loops in float64, which the tests compare with the fast kernels.

A function has the name and the parameters of its kernel, with sequences instead of arrays, unless its docstring states
others.
"""

from termwise.kernels.reference.counting import count_rows
from termwise.kernels.reference.interpolation_metrics import (
    query_steps,
    query_values,
    undominated,
    value_of_ranks,
)
from termwise.kernels.reference.likelihood import excess_rows, log_sigmoid, pruning_keys
from termwise.kernels.reference.pairs import pair_scores
from termwise.kernels.reference.pooling import keep_largest, max_rows
from termwise.kernels.reference.retrieval import quantise, score_rows, top_k
from termwise.kernels.reference.translation import (
    expected_counts,
    gather_translations,
    likely_cells,
    model1_scores,
    model1_weight,
    model1_weights,
    transpose,
    usual_weights,
)
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
    "expected_counts",
    "gather_translations",
    "jelinek_mercer_weights",
    "keep_largest",
    "likely_cells",
    "log_sigmoid",
    "lucene_idf",
    "lucene_length",
    "max_rows",
    "model1_scores",
    "model1_weight",
    "model1_weights",
    "pair_scores",
    "pruning_keys",
    "quantise",
    "query_steps",
    "query_values",
    "robertson_idf",
    "row_lengths",
    "score_rows",
    "top_k",
    "transpose",
    "undominated",
    "usual_weights",
    "value_of_ranks",
]
