"""Pairs from data sets: paraphrases, corrected sentences, simplified ones, and what else people have written twice."""

from termwise.probes.transfer.family import DATA_SETS, FAMILY, transfer_probes
from termwise.probes.transfer.pair import Pair
from termwise.probes.transfer.probe import TransferProbe
from termwise.probes.transfer.queries import Asking, CommonChunk, GivenQuery, SharedLemma
from termwise.probes.transfer.reading import read_pairs
from termwise.probes.transfer.swapping import Answers, Question, SwapProbe

__all__ = [
    "DATA_SETS",
    "FAMILY",
    "Answers",
    "Asking",
    "CommonChunk",
    "GivenQuery",
    "Pair",
    "Question",
    "SharedLemma",
    "SwapProbe",
    "TransferProbe",
    "read_pairs",
    "transfer_probes",
]
