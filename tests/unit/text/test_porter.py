import pytest

from termwise.text.porter import porter_stem

# Porter's examples (1980), and the three points in which his program departs from them.
PORTER = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre", "plastered": "plaster",
    "motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size",
    "hopping": "hop", "falling": "fall", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky",
    "relational": "relat", "conditional": "condit", "rational": "ration", "valency": "valenc",
    "digitizer": "digit", "conformably": "conform", "radically": "radic", "vileli": "vile", "analogously": "analog",
    "predication": "predic", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis",
    "formaliti": "formal", "sensitivity": "sensit", "triplicate": "triplic", "formative": "form",
    "electricity": "electr", "goodness": "good", "revival": "reviv", "adjustment": "adjust", "adoption": "adopt",
    "effective": "effect", "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control",
    "roll": "roll", "university": "univers",
    "is": "is", "as": "as", "us": "us", "s": "s", "2s": "2s", "ay": "ay",
    "possibly": "possibl", "wobbly": "wobbl", "responsibly": "respons", "bubbly": "bubbl", "ably": "abli", "bly": "bly",
    "ontology": "ontolog", "ontologies": "ontolog", "logy": "logi", "analogies": "analog",
    "pharmacologie": "pharmacologi", "analogiment": "analogi",
}  # fmt: skip


@pytest.mark.parametrize(("word", "stem"), PORTER.items())
def test_porter_stem(word, stem):
    assert porter_stem(word) == stem


def test_a_very_long_word_is_stemmed():
    assert porter_stem("ab" * 500_000 + "ing") == "ab" * 500_000
