import json
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import MissingFileError, ParameterError, UnknownNameError
from termwise.text import (
    Analyzer,
    AnalyzerSpec,
    CleanedAnalyzer,
    WordPieceAnalyzer,
    analyzer_from_spec,
    clean_vocabulary,
    make_analyzer,
)

raw = WordPieceAnalyzer.shipped()
MODES = ("paper", "repo", "none")
every_mode = pytest.mark.parametrize("mode", MODES)
TEXT = "The runner's [MASK] naïve 東京 heap_sort of £3.50 isn't re-sorted; what cats, what dogs?"


def test_stop_words_and_symbols_are_removed_from_a_sentence():
    assert CleanedAnalyzer.shipped(cleaning="repo").tokens(TEXT) == [
        *("runner", "naive", "heap", "_", "sort", "50", "-", "sorted"),
        *("what", "cats", "what", "dogs"),
    ]
    assert CleanedAnalyzer.shipped(cleaning="none").tokens(TEXT) == raw.tokens(TEXT)


def test_the_modes_differ_in_the_possessive_piece():
    assert CleanedAnalyzer.shipped(cleaning="paper").tokens("embeddings") == ["em", "##bed", "##ding", "##s"]
    assert CleanedAnalyzer.shipped(cleaning="repo").tokens("embeddings") == ["em", "##bed", "##ding"]


@cache
def cleaned(mode):
    return CleanedAnalyzer.shipped(cleaning=mode), clean_vocabulary(raw.vocabulary, mode)


@every_mode
@given(st.text(max_size=60))
def test_it_is_the_pieces_without_those_that_are_dropped(mode, text):
    analyzer, mask = cleaned(mode)
    whole = raw.analyze(text)
    left = [
        (token, tuple(span))
        for token, span in zip(whole.tokens, whole.spans.tolist(), strict=True)
        if mask[raw.vocabulary.number(token)]
    ]
    analysis = analyzer.analyze(text)
    assert list(zip(analysis.tokens, map(tuple, analysis.spans.tolist()), strict=True)) == left
    assert analyzer.tokens(text) == [token for token, _ in left]
    assert analysis.spans.shape == (len(left), 2)
    assert analysis.spans.dtype == np.int32


@every_mode
def test_numbers_are_those_of_the_whole_vocabulary(mode):
    analyzer = CleanedAnalyzer.shipped(cleaning=mode)
    assert isinstance(analyzer, Analyzer)
    assert analyzer.vocabulary == raw.vocabulary
    assert len(analyzer.removed) == {"paper": 2_119, "repo": 2_120, "none": 0}[mode]


@every_mode
def test_the_analyzer_is_restored_from_its_spec_and_from_a_pickle(mode):
    analyzer = CleanedAnalyzer.shipped(cleaning=mode)
    told = json.loads(json.dumps(dict(analyzer.spec.options)))
    for again in (
        analyzer_from_spec(AnalyzerSpec(analyzer.spec.name, told)),
        pickle.loads(pickle.dumps(analyzer)),
    ):
        assert isinstance(again, CleanedAnalyzer)
        assert again.spec.fingerprint == analyzer.spec.fingerprint
        assert again.tokens(TEXT) == analyzer.tokens(TEXT)


def test_every_mode_and_every_vocabulary_has_its_own_fingerprint(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("[UNK]\nsort\nthe\n##ed\n")
    made = [CleanedAnalyzer.shipped(cleaning=mode) for mode in MODES]
    made.append(make_analyzer(f"wordpiece-clean:{file}"))
    assert len({analyzer.spec.fingerprint for analyzer in made} | {raw.spec.fingerprint}) == 5


def test_a_vocabulary_of_ones_own_travels_with_the_spec(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("[UNK]\nsort\nthe\n##ed\n")
    analyzer = make_analyzer(f"wordpiece-clean:{file}")
    file.unlink()
    again = analyzer_from_spec(analyzer.spec)
    assert again.tokens("the sorted unknowable sort") == ["sort", "##ed", "sort"]
    assert [again.vocabulary.number(token) for token in again.tokens("sorted")] == [1, 3]


def test_the_name_of_the_raw_analyzer_does_not_matter():
    one = CleanedAnalyzer.of(WordPieceAnalyzer.shipped(name="bert-token"))
    assert one.spec.fingerprint == make_analyzer("wordpiece-clean").spec.fingerprint


def test_a_spec_without_a_cleaning_or_with_another_one():
    with pytest.raises(ParameterError, match="needs a cleaning"):
        analyzer_from_spec(AnalyzerSpec("wordpiece-clean", raw.spec.options))
    for mode in ("repos", ["repo"], None):
        with pytest.raises(UnknownNameError, match="cleaning mode"):
            analyzer_from_spec(AnalyzerSpec("wordpiece-clean", {**raw.spec.options, "cleaning": mode}))


def test_files_that_cannot_be_read_and_names_without_one(tmp_path):
    with pytest.raises(MissingFileError, match="wordpiece-clean:PATH"):
        make_analyzer(f"wordpiece-clean:{tmp_path / 'nowhere.txt'}")
    with pytest.raises(ParameterError, match="needs a vocabulary file"):
        make_analyzer("wordpiece-clean:")
