"""Languages of the documents of a build whose analyzer depends on an attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import final

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, near_names
from termwise.fixes import Call, Code, Fix
from termwise.records import Document
from termwise.text.analyzer_by_attribute import OTHER, AnalyzerByAttribute

SHOWN = 5
"""Number of unknown values that a note names."""


@final
class DocumentLanguages:
    """Detects languages if the analyzer does, and counts the documents without a known one.

    Parameters
    ----------
    analyzer : AnalyzerByAttribute

    Examples
    --------
    >>> from termwise.text import make_analyzer_by_attribute
    >>> languages = DocumentLanguages(make_analyzer_by_attribute("lang"))
    >>> texts = [Document("a", "Jacke", {"lang": "de"}), Document("b", "jas", {"lang": "??"}), Document("c", "coat")]
    >>> _ = list(languages.of(texts))
    >>> languages.note()
    "2 of 3 documents have no known language in lang, and the analyzer standard: 1 with '??', 1 without a value"
    """

    def __init__(self, analyzer: AnalyzerByAttribute) -> None:
        self._analyzer = analyzer
        self._documents = 0
        self._unknown: Counter[str | None] = Counter()
        self._others: set[str] = set()

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents, with languages if they are detected.

        Raises
        ------
        ParameterError
            If an attribute is no string, or at the end, if no document has the attribute.
        """
        name = self._analyzer.attribute
        for document in documents:
            document = self._analyzer.with_language(document)
            if self._analyzer.language(document.attributes) == OTHER:
                self._unknown[document.attributes.get(name)] += 1  # type: ignore[index]
            if self._unknown[None] > self._documents:
                self._others.update(document.attributes)
            self._documents += 1
            yield document
        if self._documents and self._unknown[None] == self._documents:
            near = near_names(name, self._others)
            raise ParameterError(
                "no document has the attribute that decides about its analyzer",
                facts=[
                    ("attribute", name),
                    ("documents", self._documents),
                    ("their attributes", ", ".join(sorted(self._others)) or "none"),
                ],
                fixes=[
                    *([f"did you mean {' or '.join(near)}?"] if near else []),
                    Fix.use("keep the field as an attribute: {}", attributes=[name]),
                    Fix.use(
                        "detect languages: {}",
                        analyzer=Call.of("make_analyzer_by_attribute", name, detect=True),
                    ),
                    Fix.use("choose one analyzer for all documents: {}", analyzer=Code("NAME")),
                ],
            )

    def note(self) -> str | None:
        """Return a line about documents without a known language; None if there are none."""
        if not self._unknown:
            return None
        values = [
            f"{count:,} without a value" if value is None else f"{count:,} with {shown(value)}"
            for value, count in self._unknown.most_common(SHOWN)
        ]
        unknown = sum(self._unknown.values())
        return (
            f"{unknown:,} of {self._documents:,} documents have no known language in {self._analyzer.attribute}, and "
            f"the analyzer {self._analyzer.specs[OTHER]['name']}: {', '.join(values)}"
        )
