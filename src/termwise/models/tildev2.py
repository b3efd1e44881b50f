"""TILDEv2: one weight for each distinct piece of the document, computed by a network in context.

    w(t, d) = max over the occurrences j of t in d of  relu(u . h[j] + c)
    score(q, d) = sum over the terms of the query, with repetitions, of w(t, d)

h[j] is the output of the network for the piece at position j [1]_. A term that is absent from the document weighs 0. To
weigh other terms, the document is expanded first: the terms that a TILDE encoder finds most likely are appended, and
the network weighs them like the others [1]_.

Departures from the published code [2]_: `expansion_terms` is the number of appended terms, in the code the number of
examined terms before stop words, symbols and pieces of the text are removed (``counting="raw"`` does the same);
`expansion_lift` prefers terms that are likely in this document and unlikely in others (0 as in the code); weights are
not rounded to 16-bit floats; documents longer than a window are split into overlapping windows, each expanded
separately, and a term gets its largest weight over the windows.

.. [1] S. Zhuang and G. Zuccon, *Fast Passage Re-ranking with Contextualized Exact Term Matching and Efficient
   Passage Expansion*, arXiv 2108.08513, 2021.
.. [2] https://github.com/ielab/TILDE, commit 9751709.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.models.base import NetworkModel
from termwise.models.checks import LONGEST_WINDOW, UNIT, WINDOWS, Range, between
from termwise.models.idf_power import POWER

Counting = Literal["new", "raw"]
"""What `expansion_terms` counts: appended terms, or terms examined before filtering."""

AS_TRAINED, NO_EXPANSION = "as-trained", "none"
"""Values of `TildeV2.expansion_encoder`: expansion as in training, and no expansion."""


@dataclass(frozen=True, kw_only=True)
class TildeV2(NetworkModel):
    """TILDEv2 with its settings; the module documents the formulas.

    Parameters
    ----------
    encoder : str, optional
        Encoder of kind ``tildev2``: name of one that ships with the package, or path of a folder.
    expansion_encoder : str, optional
        Encoder of kind ``tilde`` that expands documents: one that ships, a folder, or ``none``. The default
        ``as-trained`` is the encoder that expanded the training passages, or none if they were not expanded; it is
        looked up among the shipped encoders and beside the encoder's folder.
    expansion_terms : int, optional
        Number of expansion terms, 1 or more; by default the number recorded in the encoder.
    counting : {"new", "raw"}, optional
        ``new``: `expansion_terms` terms are appended. ``raw``: the `expansion_terms` most likely terms of the
        vocabulary are examined, and those that pass the filter and are not in the text are appended, as in the
        published code. With ``raw``, `expansion_terms` is comparable between converted published checkpoints only:
        the training setting ``prior_bias``, as in the shipped encoder, makes stop terms unlikely, so that nearly all of
        these terms are appended. By default the value of the encoder's training.
    expansion_lift : float, optional
        Terms are ranked by ln P(t|d) − expansion_lift · floor(t), where the floor of the expansion encoder is the mean
        of ln P(t|d) over passages. 0 ranks by likelihood, as published; 1 by likelihood relative to other passages. By
        default the value of the encoder's training.
    length : int, optional
        Pieces of a window of the text, including the two special tokens and excluding expansions; by default the length
        of the encoder.
    overlap : int, optional
        Pieces shared by neighbouring windows of a long document, fewer than the pieces of a window; by default an
        eighth of a window.
    idf_power : float, optional
        Power of the collection's idf that weights are multiplied by, 0 to 4, see `termwise.models.idf_power`. 0 is the
        published form; the default is the value recorded in the encoder.

    Raises
    ------
    ParameterError
        If a value is out of range, or expansion settings come with ``expansion_encoder="none"``.
    UnknownNameError
        If there is no such way of counting.

    Examples
    --------
    >>> TildeV2(expansion_terms=100).expansion_encoder
    'as-trained'
    """

    encoder: str = "tildev2"
    expansion_encoder: str = AS_TRAINED
    expansion_terms: int | None = None
    counting: Counting | None = None
    expansion_lift: float | None = None
    length: int | None = None
    overlap: int | None = None
    idf_power: float | None = None

    name: ClassVar[str] = "tildev2"
    ranges: ClassVar[Mapping[str, Range]] = {
        "expansion_terms": between(1, LONGEST_WINDOW),
        "expansion_lift": UNIT,
        **WINDOWS,
        "idf_power": POWER,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        expansion = {name: getattr(self, name) for name in ("expansion_terms", "counting", "expansion_lift")}
        given = [(name, value) for name, value in expansion.items() if value is not None]
        if self.expansion_encoder == NO_EXPANSION and given:
            raise ParameterError(
                "expansion settings need an expansion encoder",
                facts=[("expansion_encoder", self.expansion_encoder), *given],
                fixes=[f"omit {' and '.join(expansion)}", "omit expansion_encoder"],
            )
