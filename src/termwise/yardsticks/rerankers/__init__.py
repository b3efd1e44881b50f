"""Networks that re-rank and are trained here: one loop, one format of windows and one folder for all kinds.

A kind is one module with a subclass of `network.Reranker` and a line in `kinds.KINDS`.
"""
