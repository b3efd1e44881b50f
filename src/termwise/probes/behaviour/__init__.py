"""Probes beyond the published ones: negation, stuffing, position of the answer, noise, wording.

Most are changes of texts, made over our own passages, which are always there, and over every judged collection.
"""
