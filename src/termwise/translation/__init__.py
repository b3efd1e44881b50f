"""Lexical translation: probabilities of query words given document words (IBM Model 1)."""

from termwise.translation.bitext import Bitext, make_bitext
from termwise.translation.em import Estimate, estimate
from termwise.translation.settings import Model1Settings
from termwise.translation.table import TranslationTable
from termwise.translation.table_folder import open_table, shipped_tables, write_table
from termwise.translation.training import train_model1
from termwise.translation.transforms import (
    above,
    cut_vocabulary,
    for_scoring,
    renormalised,
)

__all__ = [
    "Bitext",
    "Estimate",
    "Model1Settings",
    "TranslationTable",
    "above",
    "cut_vocabulary",
    "estimate",
    "for_scoring",
    "make_bitext",
    "open_table",
    "renormalised",
    "shipped_tables",
    "train_model1",
    "write_table",
]


def __dir__() -> list[str]:
    return __all__
