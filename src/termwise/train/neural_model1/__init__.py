"""Neural Model 1: a small network that learns T(t|u) from rankings, and is exported as a translation table.

The form without context: the network sees two word pieces, a query's and a document's, and nothing around them. So all
it can say fits into a table, and whoever indexes or searches with that table needs no network.

A notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers
for ranking. Whoever uses this package in earnest should take advice of their own. No default path of termwise depends
on it: nothing imports it but its own verb, ``termwise train neural-model1``, and the re-ranker over vectors of an
encoder, `termwise.yardsticks`, which has verbs of its own; and no table made by it ships.

References
----------
L. Boytsov and Z. Kolter, Exploring classic and neural lexical translation models for information retrieval, ECIR 2021,
arXiv 2102.06815.
"""
