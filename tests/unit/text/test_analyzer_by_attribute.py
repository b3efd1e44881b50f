"""Analyzers that an attribute of the document chooses."""

from __future__ import annotations

import pickle

import pytest

from termwise.errors import (
    MissingExtraError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.records import Document
from termwise.text import (
    AnalyzerByAttribute,
    AnalyzerSpec,
    analyzer_from_spec,
    make_analyzer,
    make_analyzer_by_attribute,
)
from termwise.text.analyzer_by_attribute import LANGUAGE_CODES, analyzers_of_languages, parse_choice, readings
from termwise.text.language_detection import detected_language


@pytest.fixture(scope="module")
def by_lang() -> AnalyzerByAttribute:
    return make_analyzer_by_attribute("lang")


def test_each_language_has_its_analyzer_and_prefix(by_lang):
    sentences = {
        "de": ("Die Jacken sind warm", ["de:jack", "de:warm"]),
        "en": ("the jackets are warm", ["en:jacket", "en:warm"]),
        "fr": ("l'hiver et les vestes", ["fr:hiv", "fr:vest"]),
        "und": ("The Jackets", ["und:jacket"]),
    }
    for language, (text, tokens) in sentences.items():
        assert by_lang.of_language(language).tokens(text) == tokens
        words = by_lang.words_of(language).tokens(text)
        assert [f"{language}:{word}" for word in words] == tokens


@pytest.mark.parametrize("code", LANGUAGE_CODES)
def test_all_codes_have_an_analyzer(by_lang, code):
    assert (
        by_lang.words_of(code).spec.fingerprint
        == make_analyzer(analyzers_of_languages()[code]).spec.fingerprint
    )


@pytest.mark.parametrize(
    ("value", "language"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("pt_BR", "pt"),
        ("German", "de"),
        ("nb", "no"),
        ("nn-NO", "no"),
        ("japanese", "ja"),
        ("und", "und"),
        ("xx", "und"),
        ("", "und"),
        (None, "und"),
    ],
)
def test_values_name_languages(by_lang, value, language):
    assert by_lang.language({} if value is None else {"lang": value}) == language


def test_a_value_that_is_no_string_is_refused(by_lang):
    with pytest.raises(ParameterError, match="another value than a string"):
        by_lang.language({"lang": ("de", "en")})


def test_a_text_without_a_language_has_the_tokens_of_all(by_lang):
    both = by_lang.limited_to(["de", "en"])
    assert both.tokens("the Jacken") == ["de:the", "de:jack", "en:jacken"]
    analysis = both.analyze("the Jacken")
    assert analysis.tokens == ("de:the", "de:jack", "en:jacken")
    assert analysis.spans.tolist() == [[0, 3], [4, 10], [4, 10]]
    assert by_lang.limited_to([]).tokens("Jacken") == []
    assert by_lang.limited_to([]).analyze("Jacken").tokens == ()


def test_readings(by_lang):
    english = make_analyzer("english")
    assert readings(english) == (english,)
    assert [each.tokens("Jacken") for each in readings(by_lang, "de")] == [["de:jack"]]
    assert len(readings(by_lang)) == len(LANGUAGE_CODES) + 1
    assert [each.tokens("Jacken") for each in readings(by_lang.limited_to([]))] == [["und:jacken"]]


def test_analyzers_of_values_and_of_others():
    chosen = make_analyzer_by_attribute("kind", {"code": "code", "de": "standard"}, default="english")
    assert chosen.of_language(chosen.language({"kind": "code"})).tokens("getUser") == [
        "code:getuser",
        "code:get",
        "code:user",
    ]
    assert chosen.of_language("de").tokens("Jacken") == ["de:jacken"]
    assert chosen.of_language("und").tokens("Jackets") == ["und:jacket"]


def test_an_equal_analyzer_is_made_from_the_specification():
    made = make_analyzer_by_attribute("lang", {"de": "standard"}, default="whitespace")
    again = analyzer_from_spec(made.spec)
    assert isinstance(again, AnalyzerByAttribute)
    assert again.spec.fingerprint == made.spec.fingerprint
    assert again.limited_to(["de"]).spec.fingerprint == made.spec.fingerprint
    assert pickle.loads(pickle.dumps(again.limited_to(["de"]))).tokens("Jacken") == ["de:jacken"]
    assert made.spec.fingerprint != make_analyzer_by_attribute("lang").spec.fingerprint


@pytest.mark.parametrize(
    "options",
    [
        {"attribute": "lang"},
        {"attribute": 3, "analyzers": {"und": {}}},
        {"attribute": "lang", "analyzers": {"de": {}}},
        {"attribute": "lang", "analyzers": {"und": "standard"}},
        {"attribute": "lang", "analyzers": {"und": {}}, "detector": "py3langid"},
    ],
)
def test_a_damaged_specification_is_refused(options):
    with pytest.raises(ParameterError, match="has an attribute and analyzers"):
        analyzer_from_spec(AnalyzerSpec("by-attribute", options))


def test_another_version_of_unicode_is_refused(by_lang):
    options = {**by_lang.spec.options, "unicode": "1.0"}
    with pytest.raises(VocabularyMismatchError, match="another version of Unicode"):
        analyzer_from_spec(AnalyzerSpec("by-attribute", options))


@pytest.mark.parametrize("name", ["wordpiece", "bert-token"])
def test_only_analyzers_of_words_can_be_chosen(name):
    with pytest.raises(ParameterError, match="a tokenizer and steps"):
        make_analyzer_by_attribute("lang", {"de": name})
    with pytest.raises(ParameterError, match="a tokenizer and steps"):
        make_analyzer_by_attribute("lang", default=name)


def test_unknown_names(by_lang):
    with pytest.raises(UnknownNameError, match="germn"):
        make_analyzer_by_attribute("lang", {"de": "germn"})
    with pytest.raises(UnknownNameError, match="xx"):
        by_lang.named("xx")
    with pytest.raises(ParameterError, match="without a colon"):
        make_analyzer_by_attribute("la:ng")


@pytest.mark.parametrize("text", ["", ":de=german", "lang:", "lang:de", "lang:=german", "lang:de=,fr=french"])
def test_a_choice_of_another_form_is_refused(text):
    with pytest.raises(ParameterError, match="another form"):
        parse_choice(text)


def test_languages_are_detected_where_the_attribute_is_missing():
    pytest.importorskip("py3langid")
    detecting = make_analyzer_by_attribute("lang", detect=True)
    texts = {
        "de": "Eine wasserdichte Jacke für lange Touren in den Bergen",
        "en": "A waterproof jacket for long walks in the mountains",
        "fr": "Une veste imperméable pour de longues randonnées en montagne",
    }
    for language, text in texts.items():
        assert detecting.with_language(Document("d", text)).attributes == {"lang": language}
    given = Document("d", texts["de"], {"lang": "fr", "price": 3})
    assert detecting.with_language(given) is given
    code = Document("d", "AB-1200/X", {"price": 3})
    assert detecting.with_language(code) is code
    without = make_analyzer_by_attribute("lang")
    assert without.with_language(Document("d", texts["de"])).attributes == {}


def test_languages_that_are_named_are_detected_only():
    pytest.importorskip("py3langid")
    few = make_analyzer_by_attribute("lang", {"en": "english-parts", "fr": "french"}, detect=True)
    assert few.detector is not None
    assert few.detector["languages"] == ["en", "fr"]
    assert analyzer_from_spec(few.spec).spec.fingerprint == few.spec.fingerprint


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "py3langid", None)
    with pytest.raises(MissingExtraError) as caught:
        detected_language("text", ["de", "sv"])
    assert caught.value.fixes == ("pip install 'termwise[languages]'",)


def test_another_release_of_the_library_is_refused():
    pytest.importorskip("py3langid")
    with pytest.raises(VocabularyMismatchError, match="another version of the library"):
        detected_language("text", ["de"], "py3langid 0.0.1")


def test_the_name_of_an_analyzer_by_attribute():
    named = make_analyzer("by-attribute:lang:de=standard,en=english-parts")
    made = make_analyzer_by_attribute("lang", {"de": "standard", "en": "english-parts"})
    assert named.spec.fingerprint == made.spec.fingerprint
    for name in ("by-attribute", "by-attribute:"):
        with pytest.raises(ParameterError, match="another form"):
            make_analyzer(name)
