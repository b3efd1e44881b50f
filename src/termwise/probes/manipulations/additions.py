"""Manipulations that add text: the query, generated queries, a sentence of a non-relevant text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

from termwise.collection import read_json_lines
from termwise.errors import DuplicateIdError, MalformedRecordError
from termwise.probes.manipulations.base import Manipulation, ManipulationContext
from termwise.probes.manipulations.positions import has_word, place_of
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.validation import check_count


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


@runtime_checkable
class QueryGenerator(Protocol):
    """Generates queries that a text answers."""

    def __call__(self, doc_id: str, text: str) -> Sequence[str]:
        """Return queries, best first; may be empty. The result depends only on the document."""


def query_expansion(generate: QueryGenerator, count: int = 4) -> Manipulation:
    """Return the manipulation that appends up to `count` generated queries, as in doc2query (Nogueira & Lin, 2019)."""
    check_count("count", count)
    return Manipulation(
        "append-queries",
        "Text + generated queries",
        "the text followed by generated queries",
        lambda text, context: in_a_row(text, *generate(context.about.doc_id, text)[:count]),
    )


def read_generated_queries(path: Path) -> QueryGenerator:
    r"""Read generated queries from JSON lines, plain or compressed: ``{"doc_id": ..., "queries": [...]}``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "queries.jsonl"
    ...     _ = path.write_text('{"doc_id": "d1", "queries": ["what do cats eat"]}\n')
    ...     queries = read_generated_queries(path)
    >>> queries("d1", "Cats eat mice."), queries("d2", "Dogs.")
    (('what do cats eat',), ())
    """
    queries_of: dict[str, tuple[str, ...]] = {}
    for line, record in read_json_lines(path):
        doc_id, queries = record.get("doc_id"), record.get("queries")
        if not isinstance(doc_id, str) or not _are_strings(queries):
            expected = '{"doc_id": "...", "queries": ["...", ...]}'
            raise MalformedRecordError.at(path, line, expected=expected, seen=str(record))
        if doc_id in queries_of:
            raise DuplicateIdError(
                "a document has two lines of queries",
                facts=[("file", path), ("line", line), ("document", doc_id)],
            )
        queries_of[doc_id] = tuple(queries)
    return lambda doc_id, text: queries_of.get(doc_id, ())


def _are_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
