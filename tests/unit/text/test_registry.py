import importlib.metadata
import json
import pickle
import re
import unicodedata
from importlib.metadata import EntryPoint
from importlib.util import find_spec

import numpy as np
import pytest

import termwise
from termwise import Document, build_index
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.text import (
    Analysis,
    Analyzer,
    AnalyzerSpec,
    analyzer_from_spec,
    analyzer_names,
    make_analyzer,
    register_analyzer,
    registry,
)
from termwise.text.folding import NOT_NORMALISED
from termwise.text.language_compounds import COMPOUNDS
from termwise.text.language_parts import LANGUAGE_PARTS
from termwise.text.languages import LANGUAGES

EXTRAS = {
    "lemmas": "spacy",
    "lemmas-simple": "simplemma",
    "chinese": "jieba",
    "japanese": "fugashi",
    **{f"{name}-parts": "simplemma" for name in COMPOUNDS},
}
PARTS = tuple(f"{name}-{kind}" for name in (*COMPOUNDS, *LANGUAGE_PARTS) for kind in ("parts", "codes"))
NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in EXTRAS and find_spec(EXTRAS[name]) is None,
            reason=f"needs termwise[{EXTRAS.get(name)}], which scripts/setup dev installs",
        ),
    )
    for name in analyzer_names()
    if name != "scibert-token"
]
every_analyzer = pytest.mark.parametrize("name", NAMES)

PARAGRAPH = (
    "The world’s naïve café isn't in ΟΔΟΣ or Straße; İstanbul has 1,234.5 km² of O'Neill's snake_case. "
    "See https://example.org/a-b?c=d_e&f=1 or mail me@host.example! 東京の人 likes カタカナ and 한국어, "
    "🇩🇪👩‍👩‍👧❤️ 1️⃣ हिन्दी नमस्ते, שלום עליכם, สวัสดี, U.S.A. running universities 3D C++ e-mail x\u0301y."
)

# A fingerprint promises an output for ever. If one of these changes without the other, old indexes stop matching
# their queries: give the analyzer, the step or the table a new name instead.
GOLDEN = {
    "english": (
        "c5a636ac29fc12169fc6202104f1ee64488cf10e96b42e1e7891b6299f9ba985",
        "world naïv café isn't οδοσ straße i\u0307stanbul has 1 234 5 km² o'neil snake case see https "
        "exampl org b c d e f 1 mail me host exampl 東京の人 like カタカナ 한국어 1⃣ हिन्दी नमस्ते שלום "
        "עליכם สวัสดี u s run universiti 3d c e mail x\u0301i",
    ),
    "english-parts": (
        "0d4f1c97bb3d85a86a7e2d205b0ec8e3ebe438f3407fd593e83783d2ac0dd288",
        "world naiv cafe isn't οδοσ strass istanbul has 1234.5 km2 km 2 oneil o neill snakecas snake "
        "case see https exampleorgab exampl org ab b c def d ef e f 1 mail me hostexampl host exampl 東京の人 like "
        "カタカナ 한국어 1⃣ हिन्दी नमस्ते שלום עליכם สวัสดี usa u s run universiti 3d 3 d c email e mail xy",
    ),
    "standard": (
        "e8a7b7c564940075dbc25856ec4a64edea690bd0ccf0c570d0a714bc980adb6c",
        "the world’s naïve café isn't in οδοσ or straße i\u0307stanbul has 1,234.5 km of o'neill's "
        "snake_case see https example.org a b c d_e f 1 or mail me host.example 東 京 の 人 likes "
        "カタカナ and 한국어 🇩🇪 👩👩👧 ❤ 1⃣ हिन्दी नमस्ते שלום עליכם สวัสดี u.s.a running universities "
        "3d c e mail x\u0301y",
    ),
    "code": (
        "4d586584349ed624c3170b8434ddd32c30dea4630a19beb156c8c94e908d0462",
        "the world s naïve café isn t in οδοσ or straße i\u0307stanbul has 1 234 5 km² km ² of o neill s "
        "snake_case snake case see https example org a b c d_e d e f 1 or mail me host example 東京の人 "
        "likes カタカナ and 한국어 1⃣ हिन्दी नमस्ते שלום עליכם สวัสดี u s a running universities 3d 3 d c e "
        "mail x\u0301y",
    ),
    "whitespace": (
        "19ec245b453fa9144e644c9a150bdaa6c35f07d11dc27fa201b3bbd654302de0",
        "The world’s naïve café isn't in ΟΔΟΣ or Straße; İstanbul has 1,234.5 km² of O'Neill's "
        "snake_case. See https://example.org/a-b?c=d_e&f=1 or mail me@host.example! 東京の人 likes "
        "カタカナ and 한국어, 🇩🇪👩‍👩‍👧❤️ 1️⃣ हिन्दी नमस्ते, שלום עליכם, สวัสดี, U.S.A. running "
        "universities 3D C++ e-mail x\u0301y.",
    ),
    "sa": (
        "b03b8e85d0f3b92659684a95e6b586f53b35c6592c2276f8529ad6185d545085",
        "the world’s naïve café isn't in οδοσ or straße i\u0307stanbul has 1,234.5 km of o'neill's "
        "snake_case see https example.org a b c d_e f 1 or mail me host.example 東 京 の 人 likes "
        "カタカナ and 한국어 🇩🇪 👩‍👩‍👧 ❤️ 1️⃣ हिन्दी नमस्ते שלום עליכם สวัสดี u.s.a running universities "
        "3d c e mail x\u0301y",
    ),
    "stm1": (
        "5f4ab2a1e7140d0921769547c7b6e66fb4c5083f774ed9b286214dd5b427570d",
        "the world’ naïv café isn't in οδοσ or straße; i\u0307stanbul ha 1,234.5 km² of o'neill' "
        "snake_case. see https://example.org/a-b?c=d_e&f=1 or mail me@host.example! 東京の人 like "
        "カタカナ and 한국어, 🇩🇪👩‍👩‍👧❤️ 1️⃣ हिन्दी नमस्ते, שלום עליכם, สวัสดี, u.s.a. run univers 3d "
        "c++ e-mail x\u0301y.",
    ),
    "stm2": (
        "73fe17ade78cca19e4f75127b8fd5c54972741259d28041e5e3d5e1be30ad517",
        "the world’ naïv café isn't in οδοσ or straße i\u0307stanbul ha 1,234.5 km of o'neill' "
        "snake_cas see http example.org a b c d_e f 1 or mail me host.exampl 東 京 の 人 like カタカナ "
        "and 한국어 🇩🇪 👩‍👩‍👧 ❤️ 1️⃣ हिन्दी नमस्ते שלום עליכם สวัสดี u.s.a run univers 3d c e mail "
        "x\u0301y",
    ),
    "lemmas-simple": (
        "f3fce5bda9937277f6762555b3ab8459bee7e1d1dc862fb9e5c65639ed68f5f5",
        "world naïve café οδοσ straße i\u0307stanbul 1,234.5 kilometer o'neill snake_case see https "
        "example.org b c de f 1 mail host.example 東 京 の 人 like カタカナ 한국어 🇩🇪 👩👩👧 ❤ 1⃣ हिन्दी नमस्ते "
        "שלום עליכם สวัสดี u.s.a run university 3d c e mail x\u0301y",
    ),
    "lemmas": (
        "bb9b1b2eecf7f147c4a6eb2ff99888ec000360265e3393e1194c75386d896878",
        "world naïve café οδοσ straße i\u0307stanbul km² snake_case see mail 東京の人 like カタカナ 한국어 "
        "1️⃣ हिन्दी नमस्ते שלום עליכם สวัสดี u.s.a. run university 3d e mail x\u0301y",
    ),
    "wordpiece": (
        "c1eb7ea052144e0e6a2a7b029d6d41e7e25fcaffbb3a333ecab01e647b66390b",
        "the world ’ s naive cafe isn ' t in ο ##δ ##ο ##σ or st ##raße ; istanbul has 1 , 234 . "
        "5 km² of o ' neill ' s snake _ case . see https : / / example . org / a - b ? c = d _ e "
        "& f = 1 or mail me @ host . example ! 東 京 の 人 likes カ ##タ ##カ ##ナ and ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ "
        "##ᆨ ##ᄋ ##ᅥ , [UNK] [UNK] ह ##ि ##न ##द ##ी न ##म ##स ##त , ש ##ל ##ו ##ם ע ##ל ##י ##כ "
        "##ם , [UNK] , u . s . a . running universities 3d c + + e - mail x ##y .",
    ),
    "wordpiece-clean": (
        "a971d1f797d0d3b876c68ae64abee4dc0c469ddfa4608b933fc1be7eea7e6303",
        "world naive cafe ##δ ##ο ##σ st ##raße istanbul 1 234 5 neill snake _ case see https example "
        "org - b c _ e f 1 mail host example likes ##タ ##カ ##ナ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ ##ि ##न "
        "##द ##ी ##म ##स ##त ##ל ##ו ##ם ##ל ##י ##כ ##ם u running universities 3d c e - mail x ##y",
    ),
    "bert-token": (
        "a6402830567083d09c7aaf77363c273024e29ca405c5441c7fd3b420d74d490e",
        "the world ’ s naive cafe isn ' t in ο ##δ ##ο ##σ or st ##raße ; istanbul has 1 , 234 . "
        "5 km² of o ' neill ' s snake _ case . see https : / / example . org / a - b ? c = d _ e "
        "& f = 1 or mail me @ host . example ! 東 京 の 人 likes カ ##タ ##カ ##ナ and ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ "
        "##ᆨ ##ᄋ ##ᅥ , [UNK] [UNK] ह ##ि ##न ##द ##ी न ##म ##स ##त , ש ##ל ##ו ##ם ע ##ל ##י ##כ "
        "##ם , [UNK] , u . s . a . running universities 3d c + + e - mail x ##y .",
    ),
}


@pytest.mark.parametrize(
    "name",
    [param for param in NAMES if param.values[0] not in {*LANGUAGES, *PARTS, "cjk", "chinese", "japanese"}],
)
def test_the_same_fingerprint_gives_the_same_output_for_ever(name):
    analyzer = make_analyzer(name)
    fingerprint, tokens = GOLDEN[name]
    assert analyzer.spec.fingerprint == f"sha256:{fingerprint}"
    assert analyzer.tokens(PARAGRAPH) == tokens.split(" ")


@every_analyzer
def test_analyzers_implement_the_protocol(name):
    analyzer = make_analyzer(name)
    assert isinstance(analyzer, Analyzer)
    analysis = analyzer.analyze(PARAGRAPH)
    assert analyzer.tokens(PARAGRAPH) == list(analysis.tokens)
    assert analysis.spans.shape == (len(analysis.tokens), 2)
    if analyzer.vocabulary is not None:
        assert all(token in analyzer.vocabulary for token in analysis.tokens)


@every_analyzer
def test_an_analyzer_is_restored_from_its_spec_and_from_a_pickle(name):
    analyzer = make_analyzer(name)
    told = json.loads(json.dumps({"name": analyzer.spec.name, "options": dict(analyzer.spec.options)}))
    for again in (
        analyzer_from_spec(analyzer.spec),
        analyzer_from_spec(AnalyzerSpec(told["name"], told["options"], analyzer.spec.files)),
        pickle.loads(pickle.dumps(analyzer)),
    ):
        assert again.spec.fingerprint == analyzer.spec.fingerprint
        assert again.tokens(PARAGRAPH) == analyzer.tokens(PARAGRAPH)


NOT_COMPOSED = {"whitespace", "sa", "stm1", "stm2", "lemmas", "wordpiece", "wordpiece-clean", "bert-token"}


@pytest.mark.parametrize("name", [param for param in NAMES if param.values[0] not in NOT_COMPOSED])
def test_decomposed_letters_and_characters_that_are_not_seen_make_no_other_words(name):
    analyzer = make_analyzer(name)
    text = "café ÉCOLE größe Čeština ångström がぎグ 서울은 한국 नमस्ते क़लम нового Schlafsäcke getUserById"
    tokens = analyzer.tokens(text)
    assert analyzer.tokens(unicodedata.normalize("NFD", text)) == tokens
    for unseen in ("\u00ad", "\u200d", "\u2060", "\ufe0f"):
        assert analyzer.tokens(" ".join(unseen.join(word) for word in text.split())) == tokens


@pytest.mark.parametrize("name", ["english", "standard", "code", "cjk"])
def test_normal_forms_of_every_character_make_the_same_words(name):
    analyzer = make_analyzer(name)
    stable = [char for char in map(chr, range(0x80, 0xD800)) if not re.match(NOT_NORMALISED, char)]
    for char in stable:
        decomposed = unicodedata.normalize("NFD", char)
        if decomposed != char != "\u21ae":  # an arrow that is an emoji, and one with a stroke that is not
            text = f"{char} a{char}b"
            assert analyzer.tokens(unicodedata.normalize("NFD", text)) == analyzer.tokens(text)


def test_fingerprints_differ():
    here = [name for name in analyzer_names() if name not in {*EXTRAS, "scibert-token"}]
    assert len({make_analyzer(name).spec.fingerprint for name in here}) == len(here)


def test_steps_can_be_added_to_a_name():
    text = "The runners were Running, possibly"
    assert make_analyzer("standard+stop").tokens(text) == ["runners", "were", "running", "possibly"]
    assert make_analyzer("standard+stop+porter").tokens(text) == ["runner", "were", "run", "possibl"]
    assert make_analyzer("standard+snowball").tokens(text) == ["the", "runner", "were", "run", "possibl"]
    assert make_analyzer("whitespace+lower").tokens(text) == [
        "the",
        "runners",
        "were",
        "running,",
        "possibly",
    ]
    analyzer = make_analyzer("standard+stop+porter")
    assert analyzer_from_spec(analyzer.spec) == analyzer


@pytest.mark.parametrize(
    "name", ["", "englsh", "English", "english:file", "standard:", ":x", "+stop", "wordpiece+stop"]
)
def test_an_unknown_analyzer(name):
    with pytest.raises(UnknownNameError) as caught:
        make_analyzer(name)
    assert caught.value.message == f"unknown analyzer {name!r}"
    assert dict(caught.value.facts)["known"].startswith(f"{len(analyzer_names())} names")


def test_a_misspelt_name_is_put_right():
    with pytest.raises(UnknownNameError, match="did you mean english"):
        make_analyzer("englsh")


@pytest.mark.parametrize("name", ["standard+", "standard+stem", "english+stop+"])
def test_an_unknown_step(name):
    with pytest.raises(UnknownNameError, match="unknown analyzer step"):
        make_analyzer(name)


@pytest.mark.parametrize("name", ["scibert-token", "scibert-token:", "wordpiece:", "bert-token:"])
def test_an_analyzer_without_its_file_is_refused(name):
    with pytest.raises(ParameterError, match="needs a vocabulary file") as caught:
        make_analyzer(name)
    assert caught.value.fixes


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (AnalyzerSpec("nonsense"), UnknownNameError),
        (AnalyzerSpec("own", {"tokenizer": "none", "unicode": "17.0.0"}), UnknownNameError),
        (
            AnalyzerSpec("english-parts", {"tokenizer": "words-with-parts", "unicode": "17.0.0"}),
            VocabularyMismatchError,  # dashes separated all words
        ),
        (
            AnalyzerSpec("english", {"tokenizer": "whitespace", "unicode": "17.0.0", "steps": ["x"]}),
            UnknownNameError,
        ),
        (AnalyzerSpec("english", {"tokenizer": "whitespace", "unicode": "9.0.0"}), VocabularyMismatchError),
    ],
)
def test_a_spec_of_another_version(spec, error):
    with pytest.raises(error):
        analyzer_from_spec(spec)


class Vowels:
    """An analyzer of one's own, with an option."""

    vocabulary = None

    def __init__(self, spec):
        self.spec = spec

    def analyze(self, text):
        places = [place for place, char in enumerate(text) if char in self.spec.options.get("of", "aeiou")]
        spans = np.array([(place, place + 1) for place in places], np.int32).reshape(-1, 2)
        return Analysis(tuple(text[place] for place in places), spans)

    def tokens(self, text):
        return list(self.analyze(text).tokens)


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(registry, "_OWN", {})


def test_an_analyzer_of_ones_own_is_registered(own, tmp_path):
    register_analyzer("vowels", Vowels)
    assert make_analyzer("vowels").tokens("index") == ["i", "e"]
    analyzer = Vowels(AnalyzerSpec("vowels", {"of": "xyz"}))
    build_index([Document("a", "axis"), Document("b", "lazy")], tmp_path / "index", analyzer=analyzer)
    assert termwise.open(tmp_path / "index").rank("x").doc_ids == ("a",)
    register_analyzer("vowels", lambda spec: Vowels(AnalyzerSpec("vowels")))
    with pytest.raises(VocabularyMismatchError, match="has changed since the build"):
        termwise.open(tmp_path / "index").rank("x")


def test_an_index_is_not_built_with_an_analyzer_that_cannot_be_restored(own, tmp_path):
    with pytest.raises(ParameterError, match="could not restore this analyzer") as caught:
        build_index([Document("a", "axis")], tmp_path / "index", analyzer=Vowels(AnalyzerSpec("vowels")))
    assert "register_analyzer(name, make)" in caught.value.fixes_worded()[0]
    assert not (tmp_path / "index").exists()
    register_analyzer("vowels", lambda spec: Vowels(AnalyzerSpec("vowels", {"of": "x"})))
    with pytest.raises(ParameterError, match="could not restore this analyzer"):
        build_index([Document("a", "axis")], tmp_path / "index", analyzer=Vowels(AnalyzerSpec("vowels")))


@pytest.mark.parametrize("name", ["english", "a:b", "a+b", ""])
def test_a_name_that_cannot_be_registered(own, name):
    with pytest.raises(ParameterError):
        register_analyzer(name, Vowels)


def test_a_registered_function_has_to_return_an_analyzer(own):
    register_analyzer("nothing", lambda spec: None)
    with pytest.raises(ParameterError, match="returned another object"):
        make_analyzer("nothing")


def test_an_installed_package_brings_an_analyzer(own, monkeypatch):
    points = {
        "vowels": EntryPoint("vowels", "collections:Counter", "termwise.analyzers"),
        "broken": EntryPoint("broken", "nowhere:x", "termwise.analyzers"),
    }
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group, name: [points[name]] if name in points else []
    )
    monkeypatch.setattr(EntryPoint, "load", lambda point: {"vowels": Vowels}[point.name])
    assert make_analyzer("vowels").tokens("index") == ["i", "e"]
    with pytest.raises(ParameterError, match="cannot be loaded"):
        make_analyzer("broken")
    with pytest.raises(UnknownNameError):
        make_analyzer("consonants")
