"""Character ranges of the windows of a text, computed again as the encoder of an index did."""

from __future__ import annotations

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import DOCUMENT_TOKENIZER
from termwise.encode.network_inputs import PieceTokenizer, window_sizes, window_spans
from termwise.engine.dense_retrieval import BestWindow
from termwise.errors import TermwiseError
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
    # The text or the tokenizer is another one if the numbers of windows differ.
    start, end = spans[best.number] if len(spans) == best.count else (None, None)
    return Window(best.number + 1, best.count, start, end)


def _spans(network: NetworkRecord | None, analyzer: Analyzer, text: str) -> list[tuple[int, int]]:
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
