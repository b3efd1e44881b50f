"""Relevance of documents beyond their texts, in a file that is read by searches and the service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, fields, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, final

from termwise.display.safe_text import shown
from termwise.engine.boosts import MOST_WORDS, Boost
from termwise.engine.synonyms import TWO_WAY, Synonyms
from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.search.mixture_folder import MAX_PARTS, MAX_WEIGHT
from termwise.search.query_rules import MOST_RULES, QueryRule, QueryRules
from termwise.search.stated_options import OPTIONS, check_options
from termwise.storage.json_or_toml import read_json_or_toml
from termwise.text import Analyzer
from termwise.text.analyzer_by_attribute import readings
from termwise.validation import check, check_names, check_path, is_finite_number

MOST_BYTES = 16 << 20
"""Largest relevance file."""

MOST_BOOSTS = 100
"""Largest number of boosts."""

Facts = list[tuple[str, object]]

Record = TypeVar("Record")


@final
@dataclass(frozen=True)
class Relevance:
    """Relevance beyond the texts: boosts by attributes, synonyms, rules for queries, weights of parts, and defaults.

    Parameters
    ----------
    boosts : sequence of Boost, optional
        Attributes that change the scores of documents.
    synonyms : Synonyms, optional
        Words to search for together with, or in place of, those of a query; see `termwise.engine.synonyms`.
    rules : sequence of QueryRule, optional
        Documents that come first, and documents that are no results, for some queries. See
        `termwise.search.query_rules`.
    files : tuple of Path, optional
        Files that it was read from.
    parts : mapping of str to float, optional
        For a mixture: weights of its parts by their names, in place of those of the mixture. A part that is not named
        keeps its weight.
    search : mapping of str to object, optional
        Values of `Search.match`, `Search.fuzzy`, `Search.prefix`, `Search.min_relevance` and `Search.only_words` for
        searches for words that do not state them.

    Raises
    ------
    ParameterError
        If an element has another type, a weight is out of range, or there are more than `MOST_BOOSTS`, or `MOST_RULES`.

    Examples
    --------
    >>> Relevance.of({"boosts": [{"attribute": "sold", "weight": 2, "saturation": 100}]}).boosts[0].saturation
    100
    >>> Relevance.of({"synonyms": ["sofa, couch"], "rules": [{"query": "sofa", "pin": ["p1"]}]}).rules[0].pin
    ('p1',)
    """

    boosts: tuple[Boost, ...] = ()
    synonyms: Synonyms = Synonyms()
    rules: tuple[QueryRule, ...] = ()
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    parts: Mapping[str, float] = field(default_factory=dict)
    search: Mapping[str, str | bool | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        holds = isinstance(self.boosts, list | tuple) and all(isinstance(each, Boost) for each in self.boosts)
        check(
            "boosts", self.boosts, holds and len(self.boosts) <= MOST_BOOSTS, f"at most {MOST_BOOSTS} Boost"
        )
        object.__setattr__(self, "boosts", tuple(self.boosts))
        words = sum(len(boost.contains or ()) for boost in self.boosts)
        if words > MOST_WORDS:
            raise ParameterError(
                "the boosts have too many words and phrases",
                facts=[("given", words), ("most", MOST_WORDS)],
                fixes=["leave out some elements of contains"],
            )
        check("synonyms", self.synonyms, isinstance(self.synonyms, Synonyms), "Synonyms")
        holds = isinstance(self.rules, list | tuple) and all(
            isinstance(each, QueryRule) for each in self.rules
        )
        check(
            "rules", self.rules, holds and len(self.rules) <= MOST_RULES, f"at most {MOST_RULES:,} QueryRule"
        )
        object.__setattr__(self, "rules", tuple(self.rules))
        holds = (
            isinstance(self.parts, Mapping)
            and len(self.parts) <= MAX_PARTS
            and all(isinstance(name, str) for name in self.parts)
            and all(is_finite_number(weight) and abs(weight) <= MAX_WEIGHT for weight in self.parts.values())
        )
        check(
            "parts", self.parts, holds, f"weights by names of parts, from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        )
        object.__setattr__(self, "parts", dict(self.parts))
        holds = isinstance(self.search, Mapping) and set(self.search) <= set(OPTIONS)
        check("search", self.search, holds, f"values of {', '.join(OPTIONS)}")
        check_options(**self.search)
        stated = {name: value for name, value in self.search.items() if value is not None}
        object.__setattr__(self, "search", stated)

    @cached_property
    def query_rules(self) -> QueryRules:
        """The rules, to look up queries."""
        return QueryRules(self.rules)

    def prepare(self, analyzers: Iterable[Analyzer]) -> None:
        """Analyse synonyms and rules, which takes seconds for the largest files, so that no search has to."""
        for analyzer in chain.from_iterable(map(readings, analyzers)):
            self.synonyms.matcher(analyzer)
            self.query_rules.prepare(analyzer)

    @cached_property
    def penalties(self) -> tuple[Boost, ...]:
        """Boosts with a negative weight."""
        return tuple(boost for boost in self.boosts if boost.weight < 0)

    def with_boosts(self, boosts: Iterable[Boost]) -> Relevance:
        """Return the relevance with further boosts; synonyms and rules that are analysed stay so.

        Parameters
        ----------
        boosts : iterable of Boost
            They follow the present ones.

        Raises
        ------
        ParameterError
            If there are more than `MOST_BOOSTS` together.

        Examples
        --------
        >>> relevance = Relevance((Boost("sold", 2.0, saturation=100),))
        >>> [each.attribute for each in relevance.with_boosts([Boost("brand", 1.0, values=["Acme"])]).boosts]
        ['sold', 'brand']
        """
        found = replace(self, boosts=(*self.boosts, *boosts))
        found.__dict__["query_rules"] = self.query_rules
        return found

    def naming(self, key: str) -> AbstractContextManager[None]:
        """Add a key, and the file that it is in, to errors."""
        return naming([*(("file", file) for file in self.files[:1]), ("key", key)])

    @classmethod
    def read(cls, path: str | Path) -> Relevance:
        r"""Read a relevance file in TOML or JSON.

        Parameters
        ----------
        path : str or Path
            File that ends in ``.toml`` or ``.json``, with lists ``boosts`` and ``rules`` of tables with the parameters
            of `Boost` and `QueryRule`, and either ``synonyms``, a list of lines, or ``synonyms_file``, the path of a
            file of lines from the folder of this file. ``synonym_weight`` is the weight of two-way lines without one,
            ``parts`` a table of weights of the parts of a mixture, and ``search`` a table of options of searches.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            If it is not valid TOML or JSON, or a line of synonyms has another form.
        ParameterError, UnknownNameError
            See `of`; the errors name the file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "relevance.toml"
        ...     _ = path.write_text('[[boosts]]\nattribute = "sold"\nweight = 2\nsaturation = 100\n')
        ...     Relevance.read(path).boosts[0].attribute
        'sold'
        """
        check_path("the relevance file", path)
        file = Path(path)
        return cls.of(read_body(file), file=file)  # type: ignore[arg-type]

    @classmethod
    def of(cls, body: Mapping[str, Any], *, file: Path | None = None) -> Relevance:
        """Return the relevance that JSON-like data of a relevance file describe.

        Parameters
        ----------
        body : mapping
            ``boosts`` and ``rules``: lists of mappings with the parameters of `Boost` and `QueryRule`. ``synonyms``: a
            list of lines. ``synonym_weight``: weight of two-way lines without one. ``parts``: weights of the parts of a
            mixture. ``search``: values of options of searches that do not state them.
        file : Path, optional
            File that it was read from. Without one, ``synonyms_file`` is unknown.

        Raises
        ------
        UnknownNameError
            If a key is unknown.
        ParameterError
            If a value has another type or is out of its range; the error names its key.
        """
        where: Facts = [] if file is None else [("file", file)]
        known: tuple[str, ...] = ("boosts", "synonyms", "synonym_weight", "rules", "parts", "search")
        known += () if file is None else ("synonyms_file",)
        checked = _table(body, known, "relevance", where)
        boosts = _records(Boost, "boosts", ("attribute", "weight"), checked, where)
        rules = _records(QueryRule, "rules", ("query",), checked, where)
        files: tuple[Path, ...] = () if file is None else (file,)
        lines = _list("synonyms", checked, "a list of lines", where)
        weight = checked.get("synonym_weight", TWO_WAY)
        with naming([*where, ("key", "synonym_weight")]):
            holds = is_finite_number(weight) and 0 < weight <= 1
            check("synonym_weight", weight, holds, "a number above 0 and at most 1")
        if "synonyms_file" in checked:
            assert file is not None, "the key is unknown without a file"
            with naming([*where, ("key", "synonyms_file")]):
                check("synonyms_file", lines, not lines, "no synonyms beside it")
                check_path("synonyms_file", checked["synonyms_file"])
                files = (*files, file.parent / checked["synonyms_file"])
                synonyms = Synonyms.read(files[-1], weight=weight)
        else:
            with naming([*where, ("key", "synonyms")]):
                check_names("synonyms", lines)
            synonyms = Synonyms.parse(lines, file or "synonyms", unit="element of synonyms", weight=weight)
        search = _table(checked.get("search", {}), OPTIONS, "search", where)
        for name, value in search.items():
            with naming([*where, ("key", f"search.{name}")]):
                check_options(**{name: value})
        with naming(where):
            return cls(tuple(boosts), synonyms, tuple(rules), files, checked.get("parts", {}), search)


def read_body(file: Path) -> object:
    """Return the data of a relevance file, without a check of their keys; errors as `Relevance.read`."""
    return read_json_or_toml(file, "relevance", MOST_BYTES, partial(_malformed, file))


def _list(key: str, table: Mapping[str, Any], expected: str, where: Facts) -> Sequence[Any]:
    given = table.get(key, [])
    if not isinstance(given, list | tuple):
        raise ParameterError(
            "a key of a relevance file has another type",
            facts=[*where, ("key", key), ("given", shown(given)), ("expected", expected)],
        )
    return given


def _records(
    kind: Callable[..., Record], name: str, required: Sequence[str], body: Mapping[str, Any], where: Facts
) -> list[Record]:
    """Return the records of a kind in a list of tables."""
    records = []
    for number, given in enumerate(_list(name, body, "a list of tables", where)):
        key = f"{name}[{number}]"
        table = _table(given, [each.name for each in fields(kind)], key, where)  # type: ignore[arg-type]
        missing = [each for each in required if each not in table]
        if missing:
            raise ParameterError(
                f"a table of {name} has {' and '.join(required)}",
                facts=[*where, ("key", key), ("missing", ", ".join(missing))],
            )
        with naming([*where, ("key", key)]):
            records.append(kind(**table))
    return records


@contextmanager
def naming(where: Facts) -> Iterator[None]:
    """Add facts, such as the file and the key, to errors that lack them."""
    try:
        yield
    except (ParameterError, UnknownNameError) as error:
        facts = [*(fact for fact in where if fact not in error.facts), *error.facts]
        raise type(error)(error.message, facts=facts, fixes=error.fixes) from None


def _malformed(file: Path, expected: str, seen: str) -> MalformedRecordError:
    return MalformedRecordError(
        "a relevance file cannot be read",
        facts=[("file", file), ("expected", expected), ("seen", seen[:120])],
    )


def _table(given: object, known: Sequence[str], key: str, where: Facts) -> Mapping[str, Any]:
    """Return an object with known keys only."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            "a key of a relevance file has another type",
            facts=[
                *where,
                ("key", key),
                ("given", shown(given)),
                ("expected", "an object of keys and values"),
            ],
        )
    for name in given:
        if name not in known:
            error = UnknownNameError.of("key", str(name), known)
            raise UnknownNameError(
                error.message, facts=[*where, ("in", key), *error.facts], fixes=error.fixes
            )
    return given
