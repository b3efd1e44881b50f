"""Kinds of re-ranking networks, by the name in commands and manifests."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from termwise.errors import UnknownNameError
from termwise.yardsticks.rerankers.network import Reranker

KINDS: dict[str, tuple[str, str]] = {
    "cross-encoder": ("cross_encoder", "CrossEncoder"),
    "cedr-knrm": ("cedr", "CedrKnrm"),
    "cedr-drmm": ("cedr", "CedrDrmm"),
    "cedr-pacrr": ("cedr", "CedrPacrr"),
    "epic": ("epic", "Epic"),
    "qlm-bert": ("query_likelihood", "QueryLikelihood"),
    "bert-model1": ("bert_model1", "BertModel1"),
}
"""Names of the module and the class of each kind; a module is imported when its kind is used."""


def network_type(kind: str) -> type[Reranker]:
    """Return the class of a kind of network, or raise `UnknownNameError`.

    Examples
    --------
    >>> network_type("cedr-knrm").title
    'CEDR-KNRM'
    """
    if kind not in KINDS:
        raise UnknownNameError.of("kind of re-ranking network", kind, KINDS)
    module, name = KINDS[kind]
    return cast("type[Reranker]", getattr(import_module(f"termwise.yardsticks.rerankers.{module}"), name))
