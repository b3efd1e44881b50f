"""BERT-Model1: neural Model 1 over the vectors of an encoder that reads query and document together.

A notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers
for ranking, of which this is one. Whoever uses it in earnest should take advice of their own. No default path of
termwise depends on it, and no network made by it ships.
"""
