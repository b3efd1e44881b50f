"""Data sets of pairs: miniatures of all file layouts, query rules, and swapped answers."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import random

import pytest

from termwise.errors import DataError, DuplicateIdError, MalformedRecordError, MissingFileError
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.run_suite import ProbeSamples
from termwise.probes.core.sample import Samples, draw_order
from termwise.probes.language import Entity, Parsed, Span, Token
from termwise.probes.sources.transfer.answer_swaps import shares_word, swapped_answer
from termwise.probes.sources.transfer.data_sets import DATA_SETS, FAMILY
from termwise.probes.sources.transfer.json_array import read_json_array
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.pairs import (
    TextPair,
    common_chunk,
    common_chunks,
    given_query,
    shared_lemma,
)
from termwise.probes.sources.transfer.probe import PairProbe, TransferProbe
from termwise.probes.sources.transfer.summaries import in_published_tenth

STOPS = frozenset({"the", "a", "of", "is", "who", "what"})
NAMES = {
    "ada byron": "PERSON",
    "al green": "PERSON",
    r"bo \g<9>": "PERSON",
    "bonn": "GPE",
    "rome": "GPE",
}


class Words:
    """Language with tokens between spaces, lemmas without a final s, chunks that begin with n, and five names."""

    name = "words"

    def parse(self, text):
        tokens, place = [], 0
        for word in text.split():
            start = text.index(word, place)
            place = start + len(word)
            tag = "NUM" if word.isdigit() else "NOUN" if word.isalnum() else "PUNCT"
            tokens.append(Token(word, start, place, word.removesuffix("s"), tag))
        chunks = tuple(Span(i, i + 1) for i, token in enumerate(tokens) if token.text.lower().startswith("n"))
        whole = NAMES.get(text.lower())
        entities = (Entity(0, len(tokens), whole),) if whole else ()
        return Parsed(text, tuple(tokens), (), chunks, entities)


LANGUAGE = Words()
INPUTS = ProbeInputs(LANGUAGE, STOPS)


def probes_of(name, folder):
    """Return the probes of a data set by their names."""
    inputs = ProbeInputs(language=LANGUAGE, stop_words=STOPS, folders={name: folder})
    probes = FAMILY.make(inputs)
    assert all(probe.definition.endswith(".") for probe in probes)
    return {probe.name: probe for probe in probes}


def lines(path, *texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def records(path, *objects):
    lines(path, *(json.dumps(each) for each in objects))


def contents(probe, seed=0):
    return [(sample.sample_id, sample.query, sample.first, sample.second) for sample in probe.samples(seed)]


# Queries


def test_a_common_chunk_is_longer_than_five_characters_and_in_both_texts():
    query_of = common_chunk(INPUTS)
    pair = TextPair("1", "the Nightingale nests Noise", "nightingale noise nests nutmegs")
    assert query_of(pair, random.Random(0)) == "nightingale"
    assert query_of(TextPair("2", "Noises", "nothing"), random.Random(0)) is None
    assert query_of(TextPair("3", "Noises", "noises", query="given"), random.Random(0)) == "given"


def test_chunks_of_exactly_five_characters_are_too_short():
    parsed = LANGUAGE.parse("noise Noises nests nested")
    assert common_chunks(parsed, parsed) == ["nested", "noises"]


def test_the_chunk_depends_on_the_pair_and_the_seed_only():
    text = " ".join(f"number{n}" for n in range(30))
    pairs = [TextPair(str(n), text, f"{text} {n}") for n in range(10)]
    probe = TransferProbe(PairProbe("p", "P", ""), lambda: pairs, common_chunk(INPUTS))
    turned = TransferProbe(PairProbe("p", "P", ""), lambda: pairs[::-1][:7], common_chunk(INPUTS))
    queries = {sample.sample_id: sample.query for sample in probe.samples(3)}
    assert {sample.sample_id: sample.query for sample in turned.samples(3)}.items() < queries.items()
    assert len(set(queries.values())) > 3
    assert queries != {sample.sample_id: sample.query for sample in probe.samples(4)}


@pytest.mark.parametrize(
    ("query", "first", "second", "kept"),
    [
        ("old Windmills", "Windmill .", "the windmills turn", True),  # case does not matter
        ("windmill", "Windmills turn", "WINDMILL", True),
        ("windmill", "windmill", "mill", False),
        ("the 12 ?", "the 12 ?", "the 12 ?", False),  # neither stop words nor numbers nor punctuation
        ("mill wind", "mill", "wind", False),  # one lemma has to be in all three
    ],
)
def test_a_lemma_is_shared_by_query_and_both_texts(query, first, second, kept):
    found = shared_lemma(INPUTS)(TextPair("1", first, second, query=query), random.Random(0))
    assert found == (query if kept else None)


def test_pairs_without_query_or_text_and_identical_pairs_make_no_sample():
    pairs = [
        TextPair("1", "one", "two", query="q"),
        TextPair("2", "same", "same", query="q"),
        TextPair("3", "one", "two"),
        TextPair("4", "one", " ", query="q"),
        TextPair("5", "one", "two", query=""),
    ]
    probe = TransferProbe(PairProbe("p", "P", ""), lambda: pairs, given_query)
    assert [sample.sample_id for sample in probe.samples(0)] == ["1"]
    keeping = TransferProbe(PairProbe("p", "P", "", keep_identical=True), lambda: pairs, given_query)
    assert [sample.identical for sample in keeping.samples(0)] == [False, True]


def test_pairs_that_are_not_drawn_are_not_parsed():
    parsed = []

    def noted_query(pair, random):
        parsed.append(pair.pair_id)
        return pair.query

    pairs = [TextPair(str(at), "one", f"two {at}", query="one" if at % 3 else None) for at in range(60)]
    probe = TransferProbe(PairProbe("some@mine", "Some", ""), lambda: pairs, noted_query)
    some = ProbeSamples.of(probe, seed=5, limit=6)
    assert 6 <= len(parsed) < 30
    assert some.omitted == 60 - len(parsed)
    everything = Samples.of(probe.samples(5))
    order = sorted(everything, key=lambda one: draw_order(5, one.sample_id))
    assert some.samples == Samples.of(order[:6])


# Files of pairs


def test_pair_files_can_be_compressed_and_have_two_sets_of_field_names(tmp_path):
    path = tmp_path / "pairs.jsonl.gz"
    items = [
        {"id": "1", "query": "q", "doc_a": "a", "doc_b": "b", "source": {"line": 3}},
        {"id": "2", "query": None, "first": "c", "second": "d"},
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, items)).encode()))
    one, two = read_pairs(path)
    assert (one.pair_id, one.query, one.first, one.second, one.facts) == (
        "1",
        "q",
        "a",
        "b",
        {"source": {"line": 3}},
    )
    assert (two.query, two.first, two.second) == (None, "c", "d")


@pytest.mark.parametrize(
    "record",
    [
        {"query": "q", "doc_a": "a", "doc_b": "b"},
        {"id": "", "query": "q", "doc_a": "a", "doc_b": "b"},
        {"id": "1", "query": "q", "doc_a": "a"},
        {"id": "1", "query": "q", "doc_a": "a", "doc_b": None},
        {"id": "1", "query": 7, "doc_a": "a", "doc_b": "b"},
    ],
)
def test_a_damaged_pair_is_refused_with_its_line(tmp_path, record):
    records(tmp_path / "pairs.jsonl", {"id": "0", "query": "q", "doc_a": "a", "doc_b": "b"}, record)
    with pytest.raises(MalformedRecordError) as refused:
        list(read_pairs(tmp_path / "pairs.jsonl"))
    assert ("line", 2) in refused.value.facts


# Data sets in their original files


def jfleg(folder, split="dev"):
    lines(folder / split / f"{split}.src", "the nightingal sing ", "Nothing nowhere")
    lines(folder / split / f"{split}.spellchecked.src", "the nightingale sing", "nothing nowhere")
    for number in range(4):
        lines(folder / split / f"{split}.ref{number}", f"The nightingale sings {number}", "Nothing nowhere")


def test_jfleg(tmp_path):
    jfleg(tmp_path)
    probes = probes_of("jfleg", tmp_path)
    assert list(probes) == ["fluency@jfleg", "fluency-spellchecked@jfleg"]
    plain = list(probes["fluency@jfleg"].samples(0))
    assert [sample.sample_id for sample in plain] == [f"jfleg-dev-1-{number}" for number in range(4)]
    assert all(sample.identical for sample in plain)
    spelt = list(probes["fluency-spellchecked@jfleg"].samples(0))
    assert spelt[2].first == "The nightingale sings 2"
    assert spelt[2].second == "the nightingale sing"
    assert (spelt[2].query, spelt[2].query_id) == ("nightingale", "dev-0")
    assert not any(sample.identical for sample in spelt)
    assert len(spelt) == 8


def test_original_files_and_pair_files_give_the_same_samples(tmp_path):
    jfleg(tmp_path / "original")
    pairs = [
        {
            "id": f"jfleg-dev-{line}-{ref}",
            "query": None,
            "doc_a": (f"The nightingale sings {ref}", "Nothing nowhere")[line],
            "doc_b": ("the nightingal sing", "Nothing nowhere")[line],
            "doc_b_spellchecked": ("the nightingale sing", "nothing nowhere")[line],
            "source": {"split": "dev", "line": line, "ref": ref},
        }
        for line in range(2)
        for ref in range(4)
    ]
    records(tmp_path / "pairs" / "dev.jsonl", *pairs)
    original, ready = probes_of("jfleg", tmp_path / "original"), probes_of("jfleg", tmp_path / "pairs")
    for name, probe in original.items():
        assert Samples.of(probe.samples(0)).content == Samples.of(ready[name].samples(0)).content


def test_jfleg_files_of_different_length_are_refused(tmp_path):
    jfleg(tmp_path)
    lines(tmp_path / "dev" / "dev.ref2", "one line")
    with pytest.raises(DataError, match="different numbers of lines"):
        list(probes_of("jfleg", tmp_path)["fluency@jfleg"].samples(0))


def test_an_incomplete_part_is_refused(tmp_path):
    jfleg(tmp_path)
    jfleg(tmp_path, "test")
    (tmp_path / "test" / "test.ref3").unlink()
    with pytest.raises(MissingFileError, match=r"test\.ref3"):
        probes_of("jfleg", tmp_path)


def test_mspc(tmp_path):
    head = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    lines(
        tmp_path / "msr_paraphrase_train.txt",
        f"\ufeff{head}",
        '1\t10\t11\tThe newspaper "says" so\tSo says the newspaper',
        "0\t12\t13\tA newspaper\tnewspapers",
        "1\t14\t15\tThe newspaper\tThe newspaper",
    )
    probe = probes_of("mspc", tmp_path)["paraphrase@mspc"]
    assert probe.symmetric
    assert contents(probe) == [
        ("mspc-train-0", "newspaper", 'The newspaper "says" so', "So says the newspaper")
    ]
    lines(tmp_path / "msr_paraphrase_train.txt", head, "1\t10\t11\tonly one")
    with pytest.raises(MalformedRecordError, match="5 columns"):
        list(probe.samples(0))


def test_turkcorpus_restores_parentheses_and_prefers_the_top_folder(tmp_path):
    lines(tmp_path / "tune.8turkers.tok.norm", "nightingales -lrb- birds -rrb- sing")
    for number in range(8):
        lines(tmp_path / f"tune.8turkers.tok.turk.{number}", f"nightingales sing {number} -lrb- !")
    lines(tmp_path / "GEM" / "tune.8turkers.tok.turk.5", "another", "form")
    probes = probes_of("turkcorpus", tmp_path)
    assert list(probes) == ["simplicity@turkcorpus"]
    found = contents(probes["simplicity@turkcorpus"])
    assert len(found) == 8
    assert found[5] == (
        "wikiturk-tune-0-5",
        "nightingales",
        "nightingales sing 5 ( !",
        "nightingales ( birds ) sing",
    )


def test_turkcorpus_with_capitals_is_a_separate_probe(tmp_path):
    pair = {
        "id": "1",
        "query": None,
        "doc_a": "Nightingale",
        "doc_b": "nightingale",
        "source": {"split": "x", "row": "9"},
    }
    records(tmp_path / "test.jsonl", pair)
    records(tmp_path / "test.truecased.jsonl", pair)
    probes = probes_of("turkcorpus", tmp_path)
    assert list(probes) == ["simplicity@turkcorpus", "simplicity-cased@turkcorpus"]
    (sample,) = probes["simplicity-cased@turkcorpus"].samples(0)
    assert sample.query_id == "x-9"


def test_wnc(tmp_path):
    row = "77\ttok\ttok\tThe horrible newspaper\tThe newspaper\tpos\trel"
    same = "78\ttok\ttok\tnewspapers\tnewspapers\tpos\trel"
    other = "77\ttok\ttok\ta vile newspaper\ta newspaper\tpos\trel"
    lines(tmp_path / "biased.full", row, same, row, other)
    probe = probes_of("wnc", tmp_path)["neutrality@wnc"]
    samples = Samples.of(probe.samples(0))
    assert sorted((sample.first, sample.second) for sample in samples) == [
        ("The newspaper", "The horrible newspaper"),
        ("a newspaper", "a vile newspaper"),
    ]
    assert {sample.query_id for sample in samples} == {"revision 77"}
    lines(tmp_path / "biased.full", "77\tonly\tthree")
    with pytest.raises(MalformedRecordError, match="5 columns"):
        list(probe.samples(0))


@pytest.mark.parametrize("form", ["columns", "xml"])
def test_gyafc(tmp_path, form):
    place = tmp_path / "GYAFC_Corpus" / "Family_Relationships" / "tune"
    lines(place / "formal", "One should call a friend", "Unmapped friend")
    lines(place / "formal.qids", "5-q", "_")
    for number in range(4):
        lines(place / f"informal.ref{number}", f"call ur friends {number}", "x")
    other = tmp_path / "GYAFC_Corpus" / "Entertainment_Music" / "test"
    lines(other / "informal", "that song rocks")
    lines(other / "informal.qids", "6-q")
    for number in range(4):
        lines(other / f"formal.ref{number}", "I enjoy that song" if number else "I enjoy it")
    if form == "columns":
        lines(tmp_path / "questions.tsv", "5-q\tDo Friends matter & why?", "6-q\tBest song ?")
    else:
        lines(
            tmp_path / "FullOct2007.xml.part1",
            "<ystfeed>",
            '<vespaadd><document type="wisdom"><uri>5</uri><subject>Do Friends matter &amp; why?</subject>',
            "<content>x</content></document></vespaadd>",
            '<vespaadd><document type="wisdom"><uri>6</uri><subject>Best song ?</subject></document></vespaadd>',
        )
    probes = probes_of("gyafc", tmp_path)
    assert list(probes) == ["formality@gyafc", "formality-entertainment@gyafc", "formality-family@gyafc"]
    family = list(probes["formality-family@gyafc"].samples(0))
    assert [sample.second for sample in family] == [f"call ur friends {number}" for number in range(4)]
    assert {sample.first for sample in family} == {"One should call a friend"}
    assert {(sample.query, sample.query_id) for sample in family} == {("Do Friends matter & why?", "5-q")}
    music = list(probes["formality-entertainment@gyafc"].samples(0))
    assert [(sample.first, sample.second) for sample in music] == [
        ("I enjoy that song", "that song rocks")
    ] * 3
    assert len(list(probes["formality@gyafc"].samples(0))) == 7


def test_gyafc_needs_the_questions(tmp_path):
    place = tmp_path / "Family_Relationships" / "tune"
    for name in ("formal", "formal.qids", *(f"informal.ref{number}" for number in range(4))):
        lines(place / name, "x")
    with pytest.raises(MissingFileError, match=r"questions\.tsv"):
        probes_of("gyafc", tmp_path)


# Summaries


def test_the_first_byte_of_a_hash_selects_the_published_tenth():
    names = [f"{number}.summary" for number in range(500)]
    taken = [name for name in names if in_published_tenth(name)]
    assert taken == [
        name for name in names if int(hashlib.sha256(name.encode()).hexdigest()[:2], 16) in range(0, 256, 10)
    ]
    assert 30 < len(taken) < 75


def test_summaries_with_titles(tmp_path):
    items = [
        {
            "id": str(number),
            "title": "Storm",
            "summary": "A storm came .",
            "body": f"Storms {number} came and went",
        }
        for number in range(40)
    ]
    items[9]["summary"] = items[10]["summary"] = " "
    items[33]["title"] = "Wind"
    records(tmp_path / "xsum.jsonl", *items)
    probe = probes_of("xsum", tmp_path)["succinctness@xsum"]
    assert [sample.sample_id for sample in probe.samples(0)] == [
        f"xsum-{number}" for number in (8, 25, 29, 35)
    ]
    (first, *_) = probe.samples(0)
    assert (first.query, first.first, first.second) == ("Storm", "A storm came .", "Storms 8 came and went")


def test_the_identifier_without_suffix_is_hashed_for_cnn_and_daily_mail(tmp_path):
    items = [{"id": str(n), "title": "Storm", "summary": "Storm", "body": f"storms {n}"} for n in range(60)]
    records(tmp_path / "news.jsonl", *items)
    for name in ("cnn", "dailymail"):
        probe = probes_of(name, tmp_path)[f"succinctness@{name}"]
        expected = [f"{name}-{n}" for n in range(60) if in_published_tenth(str(n))]
        assert [sample.sample_id for sample in probe.samples(0)] == expected
        assert expected


def test_summary_files_of_xsum(tmp_path):
    sections = (
        ("URL", "http://x"),
        ("TITLE", "Storm"),
        ("FIRST-SENTENCE", "A storm ."),
        ("RESTBODY", "Storms\nwent"),
    )
    lines(tmp_path / "8.summary", *(f"[SN]{name}[SN]\n{text}\n" for name, text in sections))
    probe = probes_of("xsum", tmp_path)["succinctness@xsum"]
    assert contents(probe) == [("xsum-8", "Storm", "A storm .", "Storms\nwent")]
    lines(tmp_path / "8.summary", "[SN]TITLE[SN]\nStorm\n")
    with pytest.raises(MalformedRecordError, match="RESTBODY"):
        contents(probe)


def test_scitldr_in_both_forms(tmp_path):
    original = {
        "source": ["Storms come .", "They go ."],
        "target": ["A storm .", "x"],
        "paper_id": "p",
        "title": "Storm",
    }
    records(tmp_path / "one" / "dev.jsonl", original)
    pair = {"id": "scitldr-dev-p", "query": "Storm", "doc_a": "A storm .", "doc_b": "Storms come . They go ."}
    records(tmp_path / "two" / "dev.jsonl", pair)
    one, two = (probes_of("scitldr", tmp_path / each)["succinctness@scitldr"] for each in ("one", "two"))
    assert (
        contents(one) == contents(two) == [("scitldr-dev-p", "Storm", "A storm .", "Storms come . They go .")]
    )


# Factuality


def test_a_substitute_is_inserted_literally():
    text = "Ada Byron met AdaByron and Ada Byronson. ada byron left."
    changed, substitute = swapped_answer(text, "Ada Byron", ["Ada Byron", r"Bo \g<9>"], random.Random(0))
    assert substitute == r"Bo \g<9>"  # would be an error, or a group, in a template
    assert changed == r"Bo \g<9> met Bo \g<9> and Ada Byronson. Bo \g<9> left."


def test_a_substitute_that_changes_nothing_is_not_drawn():
    alike = ["ADA BYRON", "Ada Byron", "Al Green"]
    found = {swapped_answer("Ada Byron", "Ada Byron", alike, random.Random(seed)) for seed in range(50)}
    assert found == {("Al Green", "Al Green")}
    assert swapped_answer("Ada Byron", "Ada Byron", alike[:2], random.Random(0)) is None
    assert swapped_answer("nobody", "Ada Byron", alike, random.Random(0)) is None


@pytest.mark.parametrize(
    ("answer", "question", "there"),
    [
        ("Ada Byron", "Who was ADA ?", True),
        ("Ada Byron", "Who was Adam?", False),
        ("C++", "Is C++ old?", True),
    ],
)
def test_answers_with_a_word_of_the_question(answer, question, there):
    assert shares_word(answer, question) is there


def question(text, answers, *passages):
    return {
        "question": text,
        "answers": answers,
        "positive_ctxs": [
            {"title": "T", "text": passage, "passage_id": str(number)}
            for number, passage in enumerate(passages)
        ],
        "negative_ctxs": [],
    }


QUESTIONS = [
    question("who wrote the first program", ["Ada Byron"], "It was Ada Byron .", "No name here"),
    question("who sang it", ["Al Green"], "Al Green sang ."),
    question("who is ada", ["Ada Byron"], "Ada Byron again"),
    question("who is it", ["Al Green", "Albert Green"], "Al Green again"),
    question("what is the old capital", ["Bonn"], "Bonn was it"),
    question("what is the city of seven hills", ["Rome"], "Rome is it"),
    question("what colour", ["red"], "red it is"),
]


def test_natural_questions(tmp_path):
    (tmp_path / "biencoder-nq-train.json").write_text(json.dumps(QUESTIONS, indent=2))
    probes = probes_of("nq", tmp_path)
    assert list(probes) == [f"factuality-{kind}@nq" for kind in ("person", "gpe", "loc", "norp", "org")]
    people = list(probes["factuality-person@nq"].samples(0))
    assert [(sample.query, sample.first, sample.second) for sample in people] == [
        ("who wrote the first program", "It was Ada Byron .", "It was Al Green ."),
        ("who sang it", "Al Green sang .", "Ada Byron sang ."),
    ]
    assert people[0].facts == {
        "passage": "0",
        "answer": "Ada Byron",
        "substitute": "Al Green",
        "type": "PERSON",
    }
    places = list(probes["factuality-gpe@nq"].samples(0))
    assert [sample.second for sample in places] == ["Rome was it", "Bonn is it"]
    assert list(probes["factuality-org@nq"].samples(0)) == []


def test_the_order_of_questions_does_not_matter(tmp_path):
    hashes = set()
    for name, items in (("one", QUESTIONS), ("two", QUESTIONS[::-1])):
        records(tmp_path / name / "nq-train.jsonl", *items)
        hashes.add(Samples.of(probes_of("nq", tmp_path / name)["factuality-person@nq"].samples(5)).content)
    assert len(hashes) == 1


def test_answers_without_names_are_refused(tmp_path):
    records(tmp_path / "nq-train.jsonl", QUESTIONS[-1])
    with pytest.raises(DataError, match="finds no name in any answer"):
        list(probes_of("nq", tmp_path)["factuality-person@nq"].samples(0))


@pytest.mark.parametrize(
    "wrong", [{"answers": "Ada"}, {"answers": [1]}, {"positive_ctxs": ["x"]}, {"question": None}]
)
def test_a_damaged_question_is_refused(tmp_path, wrong):
    records(tmp_path / "nq-train.jsonl", QUESTIONS[0], {**QUESTIONS[1], **wrong})
    with pytest.raises(MalformedRecordError, match="positive_ctxs") as refused:
        list(probes_of("nq", tmp_path)["factuality-person@nq"].samples(0))
    assert ("line", 2) in refused.value.facts


def test_an_endless_object_is_refused_before_the_end_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("termwise.probes.sources.transfer.json_array._CHUNK", 8)
    monkeypatch.setattr("termwise.probes.sources.transfer.json_array._LARGEST", 50)
    (tmp_path / "a.json").write_bytes(b'[{"a": 1}, {"a": x}' + 200 * b" " + b"\xff]")
    with pytest.raises(MalformedRecordError, match="damaged"):
        list(read_json_array(tmp_path / "a.json"))


def test_an_array_is_read_in_chunks(tmp_path, monkeypatch):
    items = [{"n": n, "t": 'é"]}, \\ [{' * n} for n in range(20)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    monkeypatch.setattr("termwise.probes.sources.transfer.json_array._CHUNK", 7)
    assert [record for _, record in read_json_array(path)] == items
    path.write_text("[]")
    assert list(read_json_array(path)) == []


@pytest.mark.parametrize("text", ["", "{}", '[{"a": 1}', '[{"a": 1}, {"a"', "[1]", '[{"a": 1} x]'])
def test_a_damaged_array_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(MalformedRecordError):
        list(read_json_array(tmp_path / "a.json"))


def test_xquad_in_all_forms(tmp_path):
    questions = [
        ("a", "who wrote it", "Ada Byron wrote it", "Ada Byron"),
        ("b", "who sang it", "Al Green sang", "Al Green"),
    ]
    records(
        tmp_path / "lines" / "qa.jsonl",
        *(
            {"id": i, "question": q, "context": c, "answer": a, "context_id": n}
            for n, (i, q, c, a) in enumerate(questions)
        ),
    )
    paragraphs = [
        {"context": c, "qas": [{"id": i, "question": q, "answers": [{"text": a, "answer_start": 0}]}]}
        for i, q, c, a in questions
    ]
    original = tmp_path / "original" / "xquad.en.json"
    lines(original, json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
    one, two = (
        probes_of("xquad", tmp_path / each)["factuality-person@xquad"] for each in ("lines", "original")
    )
    assert contents(one) == contents(two)
    assert [row[3] for row in contents(one)] == ["Al Green wrote it", "Ada Byron sang"]
    lines(original, '{"data": [{"title": "T"}]}')
    with pytest.raises(MalformedRecordError, match="SQuAD"):
        list(probes_of("xquad", tmp_path / "original")["factuality-person@xquad"].samples(0))
    records(tmp_path / "pairs.jsonl", {"id": "1", "query": "q", "doc_a": "a", "doc_b": "b", "answer": "a"})
    assert contents(probes_of("xquad", tmp_path / "pairs.jsonl")["factuality@xquad"]) == [
        ("1", "q", "a", "b")
    ]


def test_with_ready_pairs_answers_are_swapped_only_if_the_language_finds_names(tmp_path, monkeypatch):
    records(tmp_path / "pairs.jsonl", {"id": "1", "query": "q", "doc_a": "a", "doc_b": "b"})
    records(tmp_path / "qa.jsonl", {"id": "1", "question": "q", "context": "c", "answer": "a"})
    assert list(probes_of("xquad", tmp_path)) == ["factuality@xquad"]
    monkeypatch.setitem(NAMES, "napoleon was born in france.", "GPE")
    assert len(probes_of("xquad", tmp_path)) == 6


def test_truthfulqa(tmp_path):
    with (tmp_path / "TruthfulQA.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["Type", "Question", "Best Answer", "Correct Answers", "Incorrect Answers"])
        table.writerow(["x", "Why, blue?", 'Of "light"', "y", "Of paint; Of\nsea;"])
    probe = probes_of("truthfulqa", tmp_path)["factuality@truthfulqa"]
    assert contents(probe) == [
        ("truthfulqa-0-0", "Why, blue?", 'Of "light"', "Of paint"),
        ("truthfulqa-0-1", "Why, blue?", 'Of "light"', "Of\nsea"),
    ]
    lines(tmp_path / "TruthfulQA.csv", "Type,Question", "x,y")
    with pytest.raises(MalformedRecordError, match="Best Answer"):
        contents(probe)


def test_onestop(tmp_path):
    stars = "*******"
    lines(
        tmp_path / "ADV-ELE.txt",
        "nightingales vocalise",
        "nightingales sing",
        stars,
        "nightly x",
        "nightly x",
        stars,
    )
    probe = probes_of("onestop", tmp_path)["simplicity-sentences@onestop"]
    assert contents(probe) == [
        ("onestop-ADV-ELE-0", "nightingales", "nightingales sing", "nightingales vocalise")
    ]
    records(tmp_path / "documents.jsonl", {"id": "1", "query": "Birds", "doc_a": "easy", "doc_b": "hard"})
    assert contents(probes_of("onestop", tmp_path)["simplicity@onestop"]) == [("1", "Birds", "easy", "hard")]
    lines(tmp_path / "ADV-ELE.txt", "alone", stars)
    with pytest.raises(MalformedRecordError, match="two sentences"):
        contents(probe)


# All data sets


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_folder_without_the_files_is_refused(tmp_path, name):
    with pytest.raises(MissingFileError) as refused:
        probes_of(name, tmp_path)
    labels = [label for label, _ in refused.value.facts]
    assert labels[0] == "folder"
    assert any(label.startswith("looked for") for label in labels)
    with pytest.raises(MissingFileError, match="no such folder"):
        probes_of(name, tmp_path / "nowhere")


def test_without_a_folder_there_is_no_probe():
    assert FAMILY.make(ProbeInputs(language=LANGUAGE, stop_words=STOPS, folders={"another": None})) == []


def test_duplicate_pair_identifiers_are_refused(tmp_path):
    pair = {"id": "1", "query": "q", "doc_a": "a", "doc_b": "b"}
    records(tmp_path / "pairs.jsonl", pair, pair)
    with pytest.raises(DuplicateIdError):
        Samples.of(probes_of("truthfulqa", tmp_path)["factuality@truthfulqa"].samples(0))


SHARED = {
    ("jfleg", "jfleg_fluency", "fluency@jfleg"): (6_004, 829),
    ("jfleg", "jfleg_fluency", "fluency-spellchecked@jfleg"): (6_004, 433),
    ("mspc", "mspc_paraphrase", "paraphrase@mspc"): (3_900, 0),
    ("turkcorpus", "wikiturk_simplicity", "simplicity@turkcorpus"): (18_872, 3_091),
    ("turkcorpus", "wikiturk_simplicity", "simplicity-cased@turkcorpus"): (18_872, 1_528),
    ("wnc", "wnc_neutrality_sample", "neutrality@wnc"): (1_100, 5),
    ("scitldr", "scitldr_succinctness", "succinctness@scitldr"): (3_229, 0),
    ("xquad", "xquad_factuality", "factuality@xquad"): (269, 0),
    ("truthfulqa", "truthfulqa_factuality", "factuality@truthfulqa"): (3_353, 0),
    ("onestop", "onestop_simplicity", "simplicity@onestop"): (189, 0),
}
"""Pairs, and how many of them have equal texts."""


@pytest.mark.shared
@pytest.mark.parametrize("key", SHARED, ids=lambda key: key[2])
def test_counts_of_data_sets(shared, key):
    name, folder, probe_name = key
    pairs = list(probes_of(name, shared / "probes" / folder)[probe_name].pairs())
    assert (len(pairs), sum(pair.first == pair.second for pair in pairs)) == SHARED[key]
    assert len({pair.pair_id for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("nq", "nq-train.json", '[{"a": ' + 20_000 * "["),
        ("xquad", "xquad.en.json", 20_000 * "["),
        ("truthfulqa", "TruthfulQA.csv", f"Question,Best Answer,Incorrect Answers\na,b,{200_000 * 'c'}\n"),
    ],
)
def test_deep_nesting_and_long_fields_are_refused(name, file, text, tmp_path):
    lines(tmp_path / file, text)
    probe = next(iter(probes_of(name, tmp_path).values()))
    limit = csv.field_size_limit(1 << 17)  # a setting of the process, which readers of collections raise
    try:
        with pytest.raises(MalformedRecordError) as caught:
            list(probe.samples(0))
    finally:
        csv.field_size_limit(limit)
    facts = dict(caught.value.facts)
    assert facts["file"] == tmp_path / file
    if name == "truthfulqa":
        assert facts["line"] == 2
