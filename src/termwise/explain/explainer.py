"""Explanations computed from an index and its query encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.dense_retrieval import BestWindow, best_window
from termwise.engine.query_encoder import QueryEncoder, left_out_by_a_language
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import RankedOrdinals, best_chunks
from termwise.engine.subwords import is_known
from termwise.engine.text_conditions import TextConditions
from termwise.explain.attribution import Span, TranslationShares
from termwise.explain.chunks import DocumentText, chunk_window, in_document, text_of_chunk
from termwise.explain.explanation import (
    Competitor,
    Contribution,
    Explanation,
    Origin,
    TextCondition,
    Window,
)
from termwise.explain.feedback import feedback_name, feedback_score
from termwise.explain.field_shares import DocumentFields
from termwise.explain.word_boundaries import whole_matches
from termwise.index import Index
from termwise.text.analyzer import unknown_token
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute


def explain(
    index: Index,
    encoder: QueryEncoder,
    vector: QueryVector,
    query: str,
    doc_ids: Sequence[str],
    ordinals: npt.NDArray[np.int64],
    texts_of: Index | None = None,
) -> list[Explanation]:
    """Explain the scores of documents, given with their positions, for one query; see `Results.explain`.

    `texts_of` is an index that stores the texts of the documents, if this one does not.
    """
    of_encoder = added_terms(encoder, query)
    query_spans = encoder.analyzer.analyze(of_encoder.without_replaced(query)).spans_by_token()
    without_pieces = unknown_token(encoder.analyzer)
    unknown = {
        span
        for token, spans in query_spans.items()
        if token == without_pieces or not is_known(index, token)
        for span in spans
    }
    if isinstance(encoder.analyzer, AnalyzerByAttribute):  # a word is unknown if all languages lack it
        known = [span for token, spans in query_spans.items() if is_known(index, token) for span in spans]
        unknown = {(start, end) for start, end in unknown if not any(a < end and start < b for a, b in known)}
        unknown -= left_out_by_a_language(encoder.analyzer, query, unknown) if unknown else set()
    unknown |= of_encoder.replaced
    added: dict[str, Origin] = {}
    for each in of_encoder.terms:
        term = each.term
        unknown = {
            (start, end)
            for start, end in unknown
            if not any(first <= start and end <= last for first, last in each.spans)
        }
        if term not in query_spans or term in added:
            added[term] = each.origin
        elif each.origin == "synonym":
            continue  # the term is typed
        query_spans[term] = tuple(sorted({*query_spans.get(term, ()), *each.spans}))
    explanations = []
    chunks, scores, _ = best_chunks(index, vector, ordinals)
    texts = DocumentText.read(texts_of or index, ordinals)
    with_weights = index.term_vectors is None and any(text is not None for text in texts)
    translations = TranslationShares.of(index) if with_weights else None
    for position, (doc_id, ordinal) in enumerate(zip(doc_ids, ordinals.tolist(), strict=True)):
        spend()
        chunk, whole = int(chunks[position]), texts[position]
        fields = DocumentFields.of(index, chunk)
        window = chunk_window(index, ordinal, chunk, whole)
        text = text_of_chunk(whole, window)
        best = best_window(index, vector, chunk)
        contributions = _contributions(
            index, encoder, vector, chunk, best, query_spans, added, text, fields, translations
        )
        explanation = Explanation(
            query=query,
            doc_id=doc_id,
            score=float(scores[position]),
            constant=vector.constant,
            contributions=_largest_first(_with_pieces(contributions, query, text)),
            unknown=tuple(sorted(unknown)),
            text=text,
            windows=() if best is None else (_window(best, index, encoder, text),),
            index=index.name,
        )
        if window is not None:
            explanation = in_document(explanation, whole, window)
        explanations.append(explanation)
    return explanations


def with_conditions(
    explanations: list[Explanation], conditions: TextConditions | None, index: Index
) -> list[Explanation]:
    """Add conditions on texts to the explanations of documents of an index."""
    if conditions is None:
        return explanations
    ordinals = index.find_many([explanation.doc_id for explanation in explanations])
    found = list(conditions.in_text(ordinals))
    return [
        replace(
            explanation,
            conditions=tuple(
                TextCondition(phrase.text, excluded, bool(contained[place]))
                for phrase, excluded, contained in found
            ),
        )
        for place, explanation in enumerate(explanations)
    ]


def _window(best: BestWindow, index: Index, encoder: QueryEncoder, text: str | None) -> Window:
    # Only vectors need the code that reads documents; other searches load none of it.
    from termwise.explain.best_windows import located

    return located(best, index, encoder.analyzer, text)


def _contributions(
    index: Index,
    encoder: QueryEncoder,
    vector: QueryVector,
    ordinal: int,
    best: BestWindow | None,
    query_spans: Mapping[str, tuple[Span, ...]],
    added: Mapping[str, Origin],
    text: str | None,
    fields: DocumentFields | None,
    translations: TranslationShares | None,
) -> list[Contribution]:
    if text is None:
        spans, translations = {}, None
    elif fields is None:
        spans = encoder.analyzer.analyze(text).spans_by_token()
    else:
        spans = fields.spans(encoder.analyzer, text)
    if index.term_vectors is not None:
        return _vector_contributions(index, vector, best, query_spans, added, None if text is None else spans)
    terms, impacts = index.row(ordinal)
    impact_of = dict(zip(terms.tolist(), impacts.tolist(), strict=True))
    always_exact = index.manifest.encoder.model.exact
    shift = 2**index.manifest.quantiser.bias_bits if index.manifest.background and not vector.exact else 1
    scale = index.manifest.quantiser.scale
    contributions = []
    for term, weight in zip(vector.terms.tolist(), vector.weights.tolist(), strict=True):
        token = index.vocabulary.token(term)
        impact = impact_of.get(term, 0)
        origin: Origin = "exact"
        if impact == 0:
            origin = "absent"
        elif token in added:
            origin = added[token]
        elif not always_exact and token not in spans:
            origin = "unknown" if text is None else "expansion" if translations is None else "translation"
        count = len if fields is None else fields.count
        sources = () if impact == 0 or translations is None else translations.sources(term, spans, count)
        found = spans.get(token, ())
        contributions.append(
            Contribution(
                term=token,
                origin=origin,
                query_weight=weight / shift * vector.query_scale,
                weight=impact * scale,
                score=weight * impact * vector.unit,
                query_spans=query_spans.get(token, ()),
                spans=found,
                sources=sources,
                fields=() if fields is None or impact == 0 else fields.shares(found, sources),
            )
        )
    if vector.background:
        bias = index.bias(ordinal)
        contributions.append(
            Contribution(
                term=index.vocabulary.token(index.manifest.terms),
                origin="background",
                query_weight=vector.background * vector.query_scale,
                weight=bias * scale / shift,
                score=vector.background * bias * vector.unit,
            )
        )
    return contributions


def _vector_contributions(
    index: Index,
    vector: QueryVector,
    best: BestWindow | None,
    query_spans: Mapping[str, tuple[Span, ...]],
    added: Mapping[str, Origin],
    spans: Mapping[str, tuple[Span, ...]] | None,
) -> list[Contribution]:
    """Return the contributions to a score by vectors; `spans` is None without a stored text."""
    products = np.zeros(len(vector.terms), dtype=np.int64) if best is None else best.products
    scale, unit = 1.0 if best is None else best.scale, vector.term_unit
    contributions = []
    for term, units, product in zip(
        vector.terms.tolist(), vector.weights.tolist(), products.tolist(), strict=True
    ):
        token = index.vocabulary.token(term)
        origin: Origin = "unknown" if spans is None else "exact" if token in spans else "vector"
        origin = added.get(token, origin)
        contributions.append(
            Contribution(
                term=token,
                origin="absent" if product == 0 else origin,
                query_weight=units * vector.query_scale,
                weight=product * scale * (unit / vector.query_scale),
                score=units * product * scale * unit,
                query_spans=query_spans.get(token, ()),
                spans=() if spans is None else spans.get(token, ()),
            )
        )
    if vector.moved is not None:
        score = 0.0 if best is None else feedback_score(vector, best)
        weight = vector.moved.weight
        contributions.append(
            Contribution(feedback_name(index, vector.moved), "feedback", weight, score / weight, score)
        )
    return contributions


def _with_pieces(contributions: list[Contribution], query: str, text: str | None) -> list[Contribution]:
    """Correct the origin of terms of which the text has only a piece of another word."""
    if text is None:
        return contributions
    matches = whole_matches(query, text, [(part.query_spans, part.spans) for part in contributions])
    return [
        replace(part, origin="piece") if part.origin == "exact" and part.spans and not whole else part
        for part, whole in zip(contributions, matches, strict=True)
    ]


def _largest_first(contributions: list[Contribution]) -> tuple[Contribution, ...]:
    return tuple(sorted(contributions, key=lambda contribution: -contribution.score))


def with_ranks(
    explanations: Sequence[Explanation],
    index: Index,
    documents: npt.NDArray[np.int64],
    neighbours: npt.NDArray[np.int64],
    ranked: RankedOrdinals,
) -> list[Explanation]:
    """Add the rank of each document, some neighbours, and the number of ranked documents."""
    ordinals, scores = ranked
    with_rank = []
    for explanation, document, count in zip(
        explanations, documents.tolist(), neighbours.tolist(), strict=True
    ):
        matches = np.flatnonzero(ordinals == document)
        position = int(matches[0]) if len(matches) else len(ordinals)
        competitors = tuple(
            Competitor(i + 1, index.doc_id(int(ordinals[i])), float(scores[i]))
            for i in range(max(0, position - count), min(len(ordinals), position + count + 1))
            if i != position
        )
        rank = position + 1 if len(matches) else None
        with_rank.append(replace(explanation, rank=rank, competitors=competitors, results=len(ordinals)))
    return with_rank
