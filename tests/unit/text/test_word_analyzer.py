import pickle
import threading

import numpy as np
import pytest

from termwise.text import (
    LOWER_CASE,
    Analyzer,
    StandardWords,
    WhitespaceWords,
    WordAnalyzer,
    stop_words,
    word_cache,
)


class Counted:
    """A step that counts how often it runs."""

    name = "counted"

    def __init__(self):
        self.runs = 0

    def __call__(self, word):
        self.runs += 1
        return None if word == "drop" else word.upper()


def test_steps_run_in_order_and_the_first_none_ends_them():
    counted = Counted()
    analyzer = WordAnalyzer("mine", WhitespaceWords(), [stop_words("lucene-english"), counted])
    assert analyzer.tokens("the The drop it") == ["THE"]
    assert counted.runs == 2


def test_without_steps_the_words_are_the_tokens():
    analyzer = WordAnalyzer("mine", WhitespaceWords())
    assert analyzer.tokens("The  End.") == ["The", "End."]
    assert analyzer.vocabulary is None
    assert isinstance(analyzer, Analyzer)


def test_spans_are_those_of_the_original_text():
    analyzer = WordAnalyzer("mine", StandardWords(), [LOWER_CASE, stop_words("lucene-english")])
    text = "İİ The ΟΔΟΣ in İzmir"
    analysis = analyzer.analyze(text)
    assert analysis.tokens == ("i\u0307i\u0307", "οδοσ", "i\u0307zmir")
    assert [text[start:end] for start, end in analysis.spans] == ["İİ", "ΟΔΟΣ", "İzmir"]
    assert analysis.spans.dtype == np.int32


def test_no_tokens_have_no_spans():
    analysis = WordAnalyzer("mine", StandardWords(), [LOWER_CASE]).analyze("")
    assert analysis.tokens == ()
    assert analysis.spans.shape == (0, 2)


def test_the_cache_is_bounded_and_does_not_change_results(monkeypatch):
    monkeypatch.setattr(word_cache, "_MOST", 3)
    monkeypatch.setattr(word_cache, "_LONGEST", 4)
    counted = Counted()
    analyzer = WordAnalyzer("mine", WhitespaceWords(), [counted])
    text = "a b c d drop abcde a b c d drop abcde"
    assert analyzer.tokens(text) == ["A", "B", "C", "D", "ABCDE"] * 2
    assert len(analyzer._forms) <= 3
    assert "abcde" not in analyzer._forms
    runs = counted.runs
    assert analyzer.tokens("a") == analyzer.tokens("a") == ["A"]
    assert counted.runs <= runs + 1


def test_analyzers_are_equal_if_their_parts_are():
    one = WordAnalyzer("mine", StandardWords(), [LOWER_CASE])
    two = WordAnalyzer("mine", StandardWords(), (LOWER_CASE,))
    one.tokens("remembered words do not count")
    assert one == two
    assert hash(one) == hash(two)
    assert one != WordAnalyzer("mine", StandardWords())


def test_the_cache_is_not_pickled():
    analyzer = WordAnalyzer("mine", StandardWords(), [LOWER_CASE])
    before = len(pickle.dumps(analyzer))
    analyzer.tokens(" ".join(map(str, range(1000))))
    assert len(pickle.dumps(analyzer)) == before
    assert pickle.loads(pickle.dumps(analyzer)).tokens("A B") == ["a", "b"]


def test_threads_share_an_analyzer(monkeypatch):
    from termwise.text import make_analyzer

    monkeypatch.setattr(word_cache, "_MOST", 50)
    analyzer = make_analyzer("english")
    texts = [
        " ".join(f"running{n} universities cities" for n in range(start, start + 40)) for start in range(200)
    ]
    expected = [make_analyzer("english").tokens(text) for text in texts]
    seen = {}

    def work(number):
        seen[number] = [analyzer.tokens(text) for text in texts]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen[number] == expected for number in range(4))


def test_an_analyzer_cannot_be_changed():
    analyzer = WordAnalyzer("mine", StandardWords())
    with pytest.raises(AttributeError):
        analyzer.steps = ()  # type: ignore[misc]
