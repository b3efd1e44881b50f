"""Fingerprints: digests that identify the scores of a scorer, used as keys of the score cache."""

from __future__ import annotations

import json
from hashlib import sha256

from termwise.scorers.protocol import TextScorer


def fingerprint_of(scorer: TextScorer) -> str | None:
    """Return the fingerprint of a scorer; None where it has none, so that its scores must not be cached.

    Two scorers with equal fingerprints give equal scores.
    """
    fingerprint: str | None = getattr(scorer, "fingerprint", None)
    return fingerprint


def text_fingerprint(text: str) -> str:
    """Return ``sha256:`` and the digest of a text.

    Examples
    --------
    >>> text_fingerprint("")[:15]
    'sha256:e3b0c442'
    """
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def json_fingerprint(value: object) -> str:
    """Return ``sha256:`` and the digest of JSON-like data with sorted keys."""
    return text_fingerprint(json.dumps(value, sort_keys=True))
