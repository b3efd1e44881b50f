"""Neural Model 1 without context: a network for T(t|u), trained on rankings and exported as a translation table.

The input of the network is one word piece of a query and one of a document, so its output for all pairs is a table.
Indexing and search with this table need no network.

Notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers for
ranking. Take legal advice before production use. No default path of termwise depends on this package: only
`train_neural_model1` and the re-ranker over vectors of an encoder in `termwise.yardsticks` import it, and no table made
by it ships with termwise.

References
----------
L. Boytsov and Z. Kolter, Exploring classic and neural lexical translation models for information retrieval, ECIR 2021,
arXiv 2102.06815.
"""
