"""Encoders of kind lookup: a dense document encoder, and a query table that is fitted to its vectors.

The score of a document is the inner product of its vector with the sum of one row for each token of the query, so a
query needs no network. `train_lookup` computes the vectors of many short texts with the encoder, and solves a linear
least-squares problem for the rows. The document encoder is not changed.

References
----------
G. Ma et al., LightRetriever: a LLM-based text retrieval architecture with extremely faster query inference, 2025,
arXiv 2505.12260. Its query table is trained together with the document encoder.
"""
