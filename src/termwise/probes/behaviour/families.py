"""All families of behaviour probes."""

from __future__ import annotations

from termwise.probes.behaviour import (
    fact_swaps,
    gender,
    injection,
    length,
    negation,
    noise,
    position,
    queries,
    stuffing,
)
from termwise.probes.core.probe_inputs import Family

FAMILIES: tuple[Family, ...] = (
    negation.FAMILY,
    stuffing.FAMILY,
    injection.FAMILY,
    position.FAMILY,
    length.FAMILY,
    noise.FAMILY,
    queries.FAMILY,
    fact_swaps.FAMILY,
    gender.FAMILY,
)
"""In the order of tables."""
