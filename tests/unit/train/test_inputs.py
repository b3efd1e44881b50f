"""From texts to tensors: special pieces, truncation, padding, targets."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from termwise.encode.encoder_manifest import SpecialIds  # noqa: E402
from termwise.errors import ModelFormatError  # noqa: E402
from termwise.text import Vocabulary  # noqa: E402
from termwise.text.cleaned_analyzer import clean_vocabulary  # noqa: E402
from termwise.text.wordpiece import WordPieceAnalyzer  # noqa: E402
from termwise.train.inputs import Pieces, distinct_terms, occurrences, special_ids  # noqa: E402


def test_special_pieces_are_looked_up_in_the_vocabulary(pieces, number):
    assert pieces.special == SpecialIds(
        document=number("[unused0]"),
        query=number("[unused1]"),
        cls=number("[CLS]"),
        sep=number("[SEP]"),
        pad=number("[PAD]"),
    )
    bert = Pieces(WordPieceAnalyzer.shipped(), "tilde").special
    assert bert == SpecialIds(document=1, query=2, cls=101, sep=102, pad=0)
    other = Pieces(WordPieceAnalyzer.shipped(), "tildev2").special
    assert other == SpecialIds(document=101, query=101, cls=101, sep=102, pad=0)
    named = Vocabulary(["<s>", "<pad>", "</s>", "[unused7]", "[unused2]"])
    assert special_ids(named, "tilde") == SpecialIds(document=3, query=4, cls=0, sep=2, pad=1)


@pytest.mark.parametrize(
    ("missing", "what"), [("[CLS]", "cls"), ("[SEP]", "sep"), ("[PAD]", "pad"), ("[unused1]", "query")]
)
def test_a_vocabulary_without_special_pieces(missing, what):
    tokens = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "word"]
    tokens.remove(missing)
    with pytest.raises(ModelFormatError) as error:
        special_ids(Vocabulary(tokens), "tilde")
    assert dict(error.value.facts)["missing"] == what


def test_only_tilde_needs_markers():
    assert special_ids(Vocabulary(["[CLS]", "[SEP]", "[PAD]"]), "splade-doc").document == 0


def test_the_marker_replaces_cls(pieces, number):
    row = pieces("wing flutter")
    framed = pieces.framed(pieces.special.document, row)
    assert framed.tolist() == [number("[unused0]"), number("wing"), number("flutter"), number("[SEP]")]
    assert number("[CLS]") not in framed


def test_each_part_ends_with_a_separator_and_empty_later_parts_are_skipped(pieces, number):
    sep, cls = number("[SEP]"), number("[CLS]")
    none = np.empty(0, dtype=np.int64)
    wing, lift = np.array([number("wing")]), np.array([number("lift")])
    assert pieces.framed(cls, wing, lift).tolist() == [cls, wing[0], sep, lift[0], sep]
    assert pieces.framed(cls, wing, none).tolist() == [cls, wing[0], sep]
    assert pieces.framed(cls, none).tolist() == [cls, sep]


def test_padding(pieces, number):
    ids, mask = pieces.padded([pieces("wing"), pieces("lift drag")])
    assert ids.tolist() == [[number("wing"), number("[PAD]")], [number("lift"), number("drag")]]
    assert mask.tolist() == [[1, 0], [1, 1]]
    assert ids.dtype == mask.dtype == torch.int64


def test_targets_are_the_distinct_kept_terms_without_unknown_words(pieces, analyzer, number):
    kept = clean_vocabulary(analyzer.vocabulary, "repo")
    text = pieces("the wing , wings of zebra")
    assert number("[UNK]") in text
    rows, terms = distinct_terms([text, pieces("of the ?"), pieces("lift")], kept)
    assert rows.tolist() == [0, 2]
    assert terms.tolist() == [number("wing"), number("lift")]
    rows, terms = occurrences([text, pieces("of the ?"), pieces("lift")], kept)
    assert rows.tolist() == [0, 0, 2]
    assert terms.tolist() == [number("wing"), number("wing"), number("lift")]


def test_a_batch_of_stop_words(pieces, analyzer):
    kept = clean_vocabulary(analyzer.vocabulary, "repo")
    for listed in (distinct_terms, occurrences):
        rows, terms = listed([pieces("the of"), pieces("")], kept)
        assert rows.shape == terms.shape == (0,)
        assert rows.dtype == terms.dtype == torch.int64


def test_vocabularies_of_more_terms_than_sixteen_bits_number(tmp_path):
    words = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(40_000))]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    pieces = Pieces(WordPieceAnalyzer.from_file(tmp_path / "vocab.txt"), "tilde")
    row = pieces("w32767 w39999 w39999")
    assert row.tolist() == [32_773, 40_005, 40_005]
    _, terms = distinct_terms([row], np.ones(len(words), dtype=np.bool_))
    assert terms.tolist() == [32_773, 40_005]
    ids, _ = pieces.padded([pieces.framed(pieces.special.document, row)])
    assert ids.max().item() == 40_005
