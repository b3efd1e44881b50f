"""Chinese and Japanese words of dictionaries."""

import builtins
import pickle
import threading

import pytest

from termwise import Document, build_index
from termwise.errors import MissingExtraError, VocabularyMismatchError
from termwise.text import AnalyzerSpec, analyzer_from_spec, library_analyzer, make_analyzer, segmenters

SENTENCES = {
    "chinese": (
        "北京清华大学是中国的ＴＶ大学，㐀𠀀x 한국",
        "北京 清华 清华大学 华大 大学 是 中国 的 tv 大学 㐀 𠀀 x 한국",
        "北京 清华 清华大学 华大 大学 是 中国 的 ＴＶ 大学 㐀 𠀀 x 한국",
    ),
    "japanese": (
        "東京都で美味しいラーメンを食べました。ｶﾞｲﾄﾞ 한국ＴＶ",
        "東京 都 美味しい ラーメン 食べる ガイド 한국tv",
        "東京 都 美味しい ラーメン 食べ ｶﾞｲﾄﾞ 한국ＴＶ",
    ),
}
LIBRARIES = {"chinese": "jieba", "japanese": "fugashi"}


@pytest.fixture(params=SENTENCES)
def name(request):
    pytest.importorskip(LIBRARIES[request.param], reason=f"needs termwise[{request.param}]")
    return request.param


def test_words_and_their_spans(name):
    sentence, tokens, words = SENTENCES[name]
    analysis = make_analyzer(name).analyze(sentence)
    assert " ".join(analysis.tokens) == tokens
    assert " ".join(sentence[start:end] for start, end in analysis.spans) == words
    assert make_analyzer(name).tokens(sentence) == tokens.split()


def test_the_specification_names_the_versions(name):
    expected = {
        "chinese": {"jieba", "dictionary", "unicode"},
        "japanese": {"fugashi", "unidic-lite", "unicode"},
    }
    spec = make_analyzer(name).spec
    assert set(spec.options) == expected[name]
    for again in (analyzer_from_spec(spec), pickle.loads(pickle.dumps(make_analyzer(name)))):
        assert again.spec == spec
        assert again.tokens(SENTENCES[name][0]) == SENTENCES[name][1].split()


def test_another_version_is_refused(name):
    library = {"chinese": "jieba", "japanese": "unidic-lite"}[name]
    other = AnalyzerSpec(name, {**make_analyzer(name).spec.options, library: "0.1"})
    with pytest.raises(VocabularyMismatchError, match="another version of its dictionary") as caught:
        analyzer_from_spec(other)
    assert dict(caught.value.facts)["made with"] == f"{library} 0.1"


def test_a_long_run_is_split(name, monkeypatch):
    monkeypatch.setattr(segmenters, "_LONGEST", 2)
    analysis = make_analyzer(name).analyze("大学大学大")
    assert [tuple(span) for span in analysis.spans] == [(0, 2), (2, 4), (4, 5)]


def test_threads_share_an_analyzer(name):
    analyzer = make_analyzer(name)
    sentence, tokens, _ = SENTENCES[name]
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.extend(analyzer.tokens(sentence) for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [tokens.split()] * 200


def test_matched_words_are_marked(name, tmp_path):
    sentence = SENTENCES[name][0]
    searcher = build_index([Document("a", sentence)], tmp_path / "index", analyzer=name, store_text=True)
    query, word = {"chinese": ("清华大学在哪里", "清华大学"), "japanese": ("食べる", "食べ")}[name]
    explanation = searcher.explain(query, "a")
    spans = [span for part in explanation.contributions for span in part.spans]
    assert word in {sentence[start:end] for start, end in spans}


@pytest.mark.parametrize("missing", LIBRARIES)
def test_a_missing_library_is_named(missing, monkeypatch):
    library, real = LIBRARIES[missing], builtins.__import__

    def importing(module, *arguments):
        if module == library:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(module, *arguments)

    library_analyzer._LIBRARIES[missing].cache_clear()
    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingExtraError, match=library) as caught:
        make_analyzer(missing)
    assert missing in str(caught.value)
