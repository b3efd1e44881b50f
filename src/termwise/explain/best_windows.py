"""Character ranges of the windows of a text, computed again as the encoder of an index did."""

from __future__ import annotations

from collections.abc import Sequence

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import DOCUMENT_TOKENIZER
from termwise.encode.network_inputs import PieceTokenizer, window_sizes, window_spans
from termwise.engine.dense_retrieval import BestWindow
from termwise.errors import TermwiseError
from termwise.explain.attribution import Span
from termwise.explain.explanation import Window
from termwise.index import Index
from termwise.index.encoder_description import NetworkRecord
from termwise.text import Analyzer, CleanedAnalyzer


def located(best: BestWindow, index: Index, analyzer: Analyzer, text: str | None) -> Window:
    """Return the best window of a text with its character range.

    Parameters
    ----------
    best : BestWindow
    index : Index
        Its manifest has the length and the overlap of the windows.
    analyzer : Analyzer
        Analyzer of queries, whose word pieces are those of documents unless the manifest names another tokenizer.
    text : str or None
        Text of the document.
    """
    spans = [] if text is None else _spans(index.manifest.encoder.network, analyzer, text)
    stored = _with_vectors(index, analyzer, text or "", spans)
    if len(stored) != best.count:  # the text or the tokenizer is another one
        return Window(best.number + 1, best.count, None, None)
    number = stored[best.number]
    return Window(number + 1, len(spans), *spans[number])


def _with_vectors(index: Index, analyzer: Analyzer, text: str, spans: Sequence[Span]) -> list[int]:
    """Return the windows that have a vector. With a query table, a window without a known term has none."""
    network, table = index.manifest.encoder.network, index.term_vectors
    every = list(range(len(spans)))
    if network is None or table is None or network.settings.get("documents") != "table" or len(spans) < 2:
        return every
    known, numbers = table.known, [index.vocabulary.number(token) for token in analyzer.tokens(text)]
    places = analyzer.analyze(text).spans[[number is not None and bool(known[number]) for number in numbers]]
    return [n for n in every if ((places[:, 0] < spans[n][1]) & (places[:, 1] > spans[n][0])).any()]


def _spans(network: NetworkRecord | None, analyzer: Analyzer, text: str) -> list[Span]:
    if network is None or network.length is None:
        return []
    tokenizer = _tokenizer(network, analyzer)
    if tokenizer is None:
        return []
    size, overlap = window_sizes(length=network.length, overlap=network.overlap, positions=network.length)
    return window_spans(tokenizer, text, size=size, overlap=overlap, prompt=network.document_prompt)


def _tokenizer(network: NetworkRecord, analyzer: Analyzer) -> PieceTokenizer | None:
    """Return the tokenizer of documents; None if it is in an encoder folder that is not there, or has changed."""
    own = network.document_tokenizer
    if not own:
        return analyzer.uncleaned if isinstance(analyzer, CleanedAnalyzer) else None
    try:
        folder = EncoderFolder.open(network.name)
        return folder.document_tokenizer if folder.manifest.files[DOCUMENT_TOKENIZER].sha256 == own else None
    except (TermwiseError, KeyError):
        return None
