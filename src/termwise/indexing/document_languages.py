"""Languages of the documents of a build whose analyzer depends on an attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import final

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, near_names
from termwise.fixes import Call, Code, Fix
from termwise.records import Document
from termwise.text.analyzer_by_attribute import OTHER, AnalyzerByAttribute, lacks_dictionary

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
    >>> languages.notes()[0]
    "2 of 3 documents have no known language in lang, and the analyzer english-parts: 1 with '??', 1 without a value"
    """

    def __init__(self, analyzer: AnalyzerByAttribute) -> None:
        self._analyzer = analyzer
        self._documents = 0
        self._unknown: Counter[str | None] = Counter()
        self._others: set[str] = set()
        self._unsplit: Counter[str] = Counter()

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents, with languages if they are detected.

        Raises
        ------
        ParameterError
            If an attribute is no string, or at the end, if no document has the attribute.
        """
        name, specs = self._analyzer.attribute, self._analyzer.specs
        unsplit = {language for language, spec in specs.items() if lacks_dictionary(spec["name"])}
        for document in documents:
            document = self._analyzer.with_language(document)
            language = self._analyzer.language(document.attributes)
            if language == OTHER:
                self._unknown[document.attributes.get(name)] += 1  # type: ignore[index]
            elif language in unsplit:
                self._unsplit[language] += 1
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

    def notes(self) -> list[str]:
        """Return lines about documents without a known language, and those whose compounds need a dictionary."""
        notes = [self._note_of_unknown()] if self._unknown else []
        if self._unsplit:
            notes.append(
                f"compounds such as Winterjacke are one word in documents in {', '.join(sorted(self._unsplit))} "
                f"({sum(self._unsplit.values()):,}): pip install 'termwise[simplemma]' and build again to split them"
            )
        return notes

    def _note_of_unknown(self) -> str:
        values = [
            f"{count:,} without a value" if value is None else f"{count:,} with {shown(value)}"
            for value, count in self._unknown.most_common(SHOWN)
        ]
        unknown = sum(self._unknown.values())
        return (
            f"{unknown:,} of {self._documents:,} documents have no known language in {self._analyzer.attribute}, and "
            f"the analyzer {self._analyzer.specs[OTHER]['name']}: {', '.join(values)}"
        )
