"""Manipulations that add text: the query, generated queries, a sentence of a non-relevant text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import DuplicateIdError, MalformedRecordError
from termwise.probes.manipulations.base import Manipulation, ManipulationContext
from termwise.probes.manipulations.positions import has_word, place_of
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.probes.sources.transfer.pair_files import is_list


def add_nonrelevant_sentence(text: str, context: ManipulationContext, *, before: bool) -> str | None:
    """Add a sentence of a text that is judged not relevant to the query."""
    sentence = _nonrelevant_sentence(text, context)
    return None if sentence is None else in_a_row(*((sentence, text) if before else (text, sentence)))


def _nonrelevant_sentence(text: str, context: ManipulationContext) -> str | None:
    """Draw a sentence of a text of the lowest grade that is neither this text nor a copy of it."""
    candidates = [
        other.text
        for other in context.judged.of(context.about.query_id)
        if other.grade == context.judged.lowest
        and other.doc_id != context.about.doc_id
        and other.text != text
    ]
    context.random.shuffle(candidates)
    for candidate in candidates:
        parsed = context.language.parse(candidate)
        places = [place_of(parsed, sentence) for sentence in parsed.sentences]
        sentences = [sentence for start, end in places if has_word(sentence := candidate[start:end])]
        if sentences:
            return context.random.choice(sentences)
    return None


def query_expansion(queries_of: Mapping[str, Sequence[str]]) -> Manipulation:
    """Return the manipulation that appends up to four generated queries, as in doc2query (Nogueira & Lin, 2019)."""
    return Manipulation(
        "append-queries",
        "Text + generated queries",
        "the text followed by generated queries",
        lambda text, context: in_a_row(text, *queries_of.get(context.about.doc_id, ())[:4]),
    )


def read_generated_queries(path: Path) -> dict[str, tuple[str, ...]]:
    r"""Read generated queries by document from JSON lines, plain or compressed: ``{"doc_id": ..., "queries": [...]}``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "queries.jsonl"
    ...     _ = path.write_text('{"doc_id": "d1", "queries": ["what do cats eat"]}\n')
    ...     read_generated_queries(path)
    {'d1': ('what do cats eat',)}
    """
    queries_of: dict[str, tuple[str, ...]] = {}
    for line, record in read_json_lines(path):
        doc_id, queries = record.get("doc_id"), record.get("queries")
        if not isinstance(doc_id, str) or not is_list(queries, str):
            expected = '{"doc_id": "...", "queries": ["...", ...]}'
            raise MalformedRecordError.at(path, line, expected=expected, seen=str(record))
        if doc_id in queries_of:
            raise DuplicateIdError(
                "a document has two lines of queries",
                facts=[("file", path), ("line", line), ("document", doc_id)],
            )
        queries_of[doc_id] = tuple(queries)
    return queries_of
