"""Probes that change a text: each manipulation is a function and an entry of `registry`."""
