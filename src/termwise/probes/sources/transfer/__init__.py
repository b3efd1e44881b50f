"""Probes made from data sets of text pairs: paraphrases, corrections, simplifications, summaries, answers."""
