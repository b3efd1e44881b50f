"""Pairs from data sets: paraphrases, corrected sentences, simplified ones, and what else people have written twice."""

from termwise.probes.sources.transfer.answer_swaps import Answers, Question, SwapProbe
from termwise.probes.sources.transfer.family import DATA_SETS, FAMILY, transfer_probes
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import Asking, CommonChunk, GivenQuery, SharedLemma

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
