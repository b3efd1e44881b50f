import pytest

from termwise.errors import UnknownNameError
from termwise.text import Vocabulary, clean_vocabulary, stop_list
from termwise.text.wordpiece import WordPieceAnalyzer

# The counts of the TILDE paper and of its published code, for the vocabulary of uncased BERT.
vocabulary = WordPieceAnalyzer.shipped().vocabulary


def kept(mode):
    flags = clean_vocabulary(vocabulary, mode)
    return {token for token, flag in zip(vocabulary, flags, strict=True) if flag}


def test_the_number_of_tokens_kept():
    assert clean_vocabulary(vocabulary, "paper").sum() == 28_403
    assert clean_vocabulary(vocabulary, "repo").sum() == 28_402
    assert clean_vocabulary(vocabulary, "none").sum() == 30_522


def test_the_modes_differ_in_one_piece():
    assert kept("paper") - kept("repo") == {"##s"}


def test_dropped_tokens_are_stop_words_and_symbols():
    dropped = set(vocabulary) - kept("paper")
    words = {token for token in dropped if token.isascii() and token.isalpha()}
    symbols = dropped - words
    assert len(words) == 143
    assert words <= stop_list("nltk-english")
    assert stop_list("nltk-english") - words - {"how", "what", "when", "which", "why", "who", "where"} == {
        word for word in stop_list("nltk-english") if "'" in word
    } | {"needn", "mightn", "mustn"}
    assert len(symbols) == 1_976
    specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    unused = {token for token in symbols if token.startswith("[unused")}
    punctuation = {token for token in symbols if len(token) == 1 and token.isascii()}
    assert specials <= symbols
    assert len(unused) == 994
    assert len(punctuation) == 30  # all of ASCII's but - and _
    assert "..." in symbols
    assert sum(not token.isascii() for token in symbols) == 946


def test_kept_tokens():
    continued = {token for token in kept("repo") if token.startswith("##")}
    assert len(continued) == 5_827
    assert sum(not token.isascii() for token in continued) == 954
    assert sum(token.isascii() and not token[2:].isalnum() for token in continued) == 32
    assert {"-", "_", "how", "where", "b", "##!", "2015"} <= kept("repo")
    assert sum(token.isdigit() and token.isascii() for token in kept("repo")) == 861
    assert sum(len(token) == 1 and token.isascii() and token.isalpha() for token in kept("repo")) == 18


def test_a_single_hash_is_a_symbol_and_the_background_is_not_counted():
    small = Vocabulary(["#", "##", "#a", "##!", "!", ""], background=True)
    assert clean_vocabulary(small, "paper").tolist() == [False, True, True, True, False, True]


def test_an_unknown_mode():
    with pytest.raises(UnknownNameError, match="unknown cleaning mode 'papers'"):
        clean_vocabulary(vocabulary, "papers")  # type: ignore[arg-type]
