"""All families of probes beyond the published ones."""

from __future__ import annotations

from termwise.probes.behaviour import (
    gender,
    injection,
    length,
    negation,
    noise,
    position,
    queries,
    stuffing,
    swaps,
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
    swaps.FAMILY,
    gender.FAMILY,
)
"""In the order of tables."""
