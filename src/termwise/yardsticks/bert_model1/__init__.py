"""BERT-Model1: neural Model 1 over the vectors of an encoder that reads query and document together.

Notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers for
ranking. Take legal advice before production use. No default path of termwise depends on this package, and no network
made by it ships with termwise.
"""
