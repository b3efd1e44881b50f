"""Train an encoder of kind lookup: fit a query table to the vectors of a dense encoder, and write both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from termwise._version import __version__
from termwise.encode.document_tokenizer import DocumentTokenizer
from termwise.encode.network_inputs import prompt_pieces
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.progress import Execution
from termwise.storage.atomic_file import written_whole
from termwise.storage.file_record import folder_fingerprint, texts_fingerprint
from termwise.text import WordPieceAnalyzer
from termwise.text.cleaned_analyzer import CleanMode, clean_vocabulary
from termwise.train.base_encoder import base_name
from termwise.train.data.teacher_vectors import FOLDER as VECTORS
from termwise.train.data.teacher_vectors import Shards, VectorsManifest, teacher_vectors
from termwise.train.data.tokenised_texts import TokenisedTexts
from termwise.train.dense_encoder import DenseEncoder, load_dense_encoder
from termwise.train.export.card_facts import check_card_facts, lookup_card_facts
from termwise.train.export.folder_writer import CARD, FOLDER, EncoderContents, write_encoder_folder
from termwise.train.export.model_card import model_card
from termwise.train.inputs import special_ids
from termwise.train.lookup.query_table import (
    fit_query_table,
    refuse_equal,
    refuse_few_texts,
    refuse_no_tokens,
)
from termwise.train.lookup.settings import LookupSettings
from termwise.train.lookup.texts import read_texts
from termwise.train.networks import LookupNetwork, positions, report_slow_bfloat16, torch_threads
from termwise.train.run_folder import RunFolder, check_sources
from termwise.validation import check
from termwise.vectors import TermVectors

_MAY_CHANGE = ("cleaning", "centred", "ridge", "steps", "document_prompt", "vocabulary", "held_out", "batch")
"""Settings that the vectors do not depend on, which may change when a run is resumed."""


def train_lookup(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    teacher: str | Path,
    settings: LookupSettings = LookupSettings(),  # noqa: B008
    resume: bool = False,
    card: Mapping[str, Any] | None = None,
    execution: Execution = Execution(),  # noqa: B008
) -> dict[str, Any]:
    """Fit a query table to a dense encoder, and write both as an encoder folder of kind lookup.

    Parameters
    ----------
    texts : sequence of str or Path
        Short texts that resemble queries, see `termwise.train.lookup.texts.read_texts`.
    out : str or Path
        The encoder folder. Its folder ``training`` holds the vectors of the texts; it may be removed at the end.
    teacher : str or Path
        The dense encoder, see `termwise.train.dense_encoder.load_dense_encoder`. It is written to the encoder folder
        as an ONNX graph.
    settings : LookupSettings, optional
    resume : bool, optional
        Continue an interrupted run, or start if there is none. Vectors that are stored are not computed again. For a
        finished run the table is fitted again, also with other settings of the table.
    card : mapping, optional
        Facts for the model card; see `check_card_facts`. ``base`` describes the dense encoder.
    execution : Execution, optional
        Its threads are those of torch.

    Returns
    -------
    dict
        JSON-like facts: ``teacher``, ``pooling``, ``query_prompt`` and ``dimensions``; ``texts``, and their number
        by source in ``sources``; ``tokens`` of the texts that are in the query vocabulary; ``terms`` with a row;
        ``fitted``, the texts that the table was fitted to; ``residuals`` and ``cosine``, see `QueryTable`;
        ``settings``; ``seconds``. All but the last are in ``encoder.json`` under ``trained``.

    Raises
    ------
    ParameterError
        If an argument has another type, texts are longer than the input of the encoder, a prompt leaves no room for a
        text, there are too few different texts, or their vectors are equal.
    ForeignFolderError
        If the folder holds something else, a run although `resume` is false, or another run.
    EmptyCollectionError
        If there are no texts, or none has a token of the query vocabulary.
    TermwiseError
        If texts, encoder or folder cannot be used.
    """
    check_sources("texts", texts)
    check("teacher", teacher, isinstance(teacher, str | Path), "a name or a folder")
    check("settings", settings, isinstance(settings, LookupSettings), "LookupSettings")
    check("card", card, isinstance(card, Mapping | None), "facts by name, or None")
    check_card_facts(card or {})
    begin = time.monotonic()
    run = RunFolder.of(FOLDER, out, resume=resume, execution=execution, base=teacher)
    out, progress, say = Path(out), execution.progress, execution.say
    if run.recorded() is None:
        run.report_resumption(0, 0)
    read = read_texts(texts, most=settings.max_texts, seed=settings.seed)
    refuse_few_texts(len(read.texts), settings)
    report_slow_bfloat16(settings.precision, say)
    encoder = load_dense_encoder(teacher, say=say)
    encoder = replace(
        encoder,
        query_prompt=settings.query_prompt or encoder.query_prompt,
        document_prompt=settings.document_prompt or encoder.document_prompt,
        analyzer=_query_analyzer(encoder, settings.vocabulary),
    )
    _check_length(encoder, settings)
    vocabulary = encoder.analyzer.vocabulary
    manifest = VectorsManifest(
        encoder=folder_fingerprint(encoder.folder),
        texts=texts_fingerprint(read.texts),
        count=len(read.texts),
        dimensions=encoder.network.config.hidden_size,
        length=settings.length,
    )
    identity = {"kind": LookupNetwork.kind, "vectors": asdict(manifest), "settings": asdict(settings)}
    say(
        f"{len(read.texts):,} texts ({', '.join(f'{name} {count:,}' for name, count in read.sources.items())})"
    )
    with run.claimed(identity, may_change=_MAY_CHANGE):
        most = settings.length - 2
        prompted = [encoder.query_prompt + text for text in read.texts]
        tokenised = TokenisedTexts.of(prompted, encoder.tokenizer, most=most, progress=progress)
        asked = tokenised
        if encoder.analyzer is not encoder.tokenizer or encoder.query_prompt:
            asked = TokenisedTexts.of(read.texts, encoder.analyzer, most=most, progress=progress)
        kept = query_vocabulary(encoder.analyzer, settings.cleaning)
        counts = asked.counts(kept)
        refuse_no_tokens(counts.nnz, texts=len(tokenised))
    with torch_threads(execution.threads):
        vectors: Shards = teacher_vectors(
            encoder,
            tokenised,
            run.path / VECTORS,
            manifest,
            batch=settings.batch,
            bfloat16=settings.precision == "bfloat16",
            progress=progress,
            say=say,
        )
    refuse_equal(vectors)
    fit_start = time.monotonic()
    table = fit_query_table(counts, vectors, settings=settings, progress=progress)
    term_vectors = TermVectors.of(table.rows, vocabulary.id)
    terms = int(term_vectors.known.sum())
    say(
        f"fitted {terms:,} rows to {table.texts:,} texts in {time.monotonic() - fit_start:.0f} s: residual "
        f"{table.residuals[-1]:.4f}"
        + ("" if table.cosine is None else f", mean cosine {table.cosine:.4f} on held-out texts")
    )
    facts: dict[str, Any] = {
        "package": __version__,
        "kind": LookupNetwork.kind,
        "teacher": base_name(teacher),
        "pooling": encoder.network.pooling,
        "query_prompt": encoder.query_prompt,
        "dimensions": term_vectors.dimensions,
        "texts": len(read.texts),
        "sources": dict(read.sources),
        "tokens": int(kept[asked.numbers].sum()),
        "terms": terms,
        "fitted": table.texts,
        "residuals": [round(value, 6) for value in table.residuals],
        "cosine": None if table.cosine is None else round(table.cosine, 6),
        "settings": asdict(replace(settings, vocabulary=Path(settings.vocabulary).name)),
    }
    say(f"writing the encoder to {out}: ONNX in float32 and int8, compared with torch")
    contents = EncoderContents(
        cleaning=settings.cleaning,
        length=encoder.length,
        term_vectors=term_vectors,
        document_tokenizer=encoder.tokenizer if isinstance(encoder.tokenizer, DocumentTokenizer) else None,
        document_prompt=encoder.document_prompt,
    )
    write_encoder_folder(encoder.network, encoder.analyzer, out, contents, trained=facts, weights="left out")
    with written_whole(out / CARD) as write:
        write(model_card(lookup_card_facts(out, facts, card or {})))
    return {**facts, "seconds": round(time.monotonic() - begin, 1)}


def query_vocabulary(analyzer: WordPieceAnalyzer, cleaning: CleanMode) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Mark the tokens that may have a row, which exclude special ones and the unknown token."""
    vocabulary = analyzer.vocabulary
    kept = clean_vocabulary(vocabulary, cleaning)
    kept[[*asdict(special_ids(vocabulary, LookupNetwork.kind)).values(), analyzer.unknown]] = False
    return kept


def _query_analyzer(encoder: DenseEncoder, vocabulary: str) -> WordPieceAnalyzer:
    """Return the tokenizer of queries: that of the encoder, or the word pieces of a file."""
    if not vocabulary:
        return encoder.analyzer
    if not isinstance(encoder.tokenizer, DocumentTokenizer):
        raise ParameterError(
            "this encoder has word pieces, which are also those of the query table",
            facts=[("encoder", encoder.folder), ("vocabulary", vocabulary)],
            fixes=["leave out the setting vocabulary"],
        )
    return WordPieceAnalyzer.from_file(vocabulary)


def _check_length(encoder: DenseEncoder, settings: LookupSettings) -> None:
    most = positions(encoder.network)
    if settings.length > most:
        raise ParameterError(
            "the texts are longer than the input of the encoder",
            facts=[("length", settings.length), ("encoder", f"{most:,} positions")],
            fixes=[Fix.use(length=most)],
        )
    for kind, prompt, length in (
        ("query", encoder.query_prompt, settings.length),
        ("document", encoder.document_prompt, encoder.length),
    ):
        pieces = len(prompt_pieces(encoder.tokenizer, prompt))
        if pieces >= length - 2:
            longer = min(most, pieces + LookupSettings.length)
            raise ParameterError(
                f"the {kind} prompt of the encoder leaves no room for a text",
                facts=[("prompt", f"{pieces} pieces"), ("length", f"{length}, 2 special pieces included")],
                fixes=[
                    *([Fix.use(length=longer)] if kind == "query" and pieces < longer - 2 else []),
                    f"shorten {kind}_prompt, or use an encoder with a shorter prompt",
                ],
            )
