"""Targets of an export, one module each."""
