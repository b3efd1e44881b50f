"""Probes beyond the published ones: negation, stuffing, injection, position, length, noise, queries, facts, gender.

Most are manipulations of the written passages and of every judged collection.
"""
