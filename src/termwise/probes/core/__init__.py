"""Probes, samples, the effect rule and the statistics of a probe run."""
