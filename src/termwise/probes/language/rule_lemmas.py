"""Lemmas of English words from their endings, without a dictionary."""

from __future__ import annotations

import re

from termwise.probes.language.rule_words import listed

_FORMS = """
    be am are been being is was were; have had has having; do did does doing done; go goes going gone went;
    say said; make made; take taken took; come came coming; see saw seen; know knew known; get got gotten;
    give gave given; add added adding; agree agreed; free freed; hang hanged; find found; think thought;
    tell told; become became; leave left; feel felt; bring brought; begin began beginning begun; keep kept;
    hold held; write written wrote; stand stood; hear heard; mean meant; meet met; run ran; pay paid; sit sat;
    speak spoke spoken; lead led; grow grew grown; lose lost; fall fallen fell; send sent; build built;
    understand understood; draw drawn drew; break broke broken; spend spent; rise risen rose;
    drive driven drove; buy bought; wear wore worn; choose chose chosen; eat ate eaten; teach taught;
    catch caught; fight fought; sell sold; die dies dying; lie lies lying; tie ties tying; man men; woman women;
    child children; person people; foot feet; tooth teeth; goose geese; mouse mice; wife wives; knife knives;
    wolf wolves; shelf shelves; movie movies; cookie cookies; shoe shoes; potato potatoes; tomato tomatoes;
    hero heroes; index indices; matrix matrices; analysis analyses; crisis crises; criterion criteria;
    phenomenon phenomena
"""
"""Lemmas of irregular forms: a lemma and its forms, in groups."""

_IRREGULAR = {
    form: lemma for group in _FORMS.split(";") for lemma, *forms in [group.split()] for form in forms
}
_UNCHANGED = listed("""
    always anything bed being bleed breed building canvas ceiling chaos christmas darling during economics evening
    everything exceed feed gas hundred indeed lens mathematics morning naked need news nothing perhaps physics politics
    red sacred seed series sibling something species speed spring string succeed towards wedding wicked
""")
_VOWEL = re.compile("[aeiouy]")
_DOUBLED = re.compile("([bdgkmnprt])\\1$")
_SHORT = re.compile("(?:^|[^aeiou])[aeiou][bcdgklmnprtvz]$")
_LACKS_E = re.compile(
    "(?:at|iz|[cuv]|[bcdgkpt]l|[aeiouy]s|[adr]g|[cr]h?ang|ud|let|[st]ur|[^aeiou]id|(?:[^aeiou]|qu)i[rn])$"
)


def rule_lemma(word: str) -> str:
    """Return the lemma of an English word from its ending.

    Irregular forms of frequent words are listed; rules remove plurals and the verb endings *-s*, *-ed* and *-ing*. Some
    results are wrong: *focusing* becomes ``focuse``.

    Parameters
    ----------
    word : str
        In any case; the lemma is in lower case.

    Examples
    --------
    >>> [rule_lemma(word) for word in ("Studies", "boxes", "running", "making", "opened", "mice", "glass", "thing")]
    ['study', 'box', 'run', 'make', 'open', 'mouse', 'glass', 'thing']
    """
    form = word.lower()
    if form in _IRREGULAR:
        return _IRREGULAR[form]
    if form in _UNCHANGED or not form.isalpha() or not form.isascii() or len(form) < 4:
        return form
    if form.endswith("s"):
        return _without_s(form)
    if form.endswith("ied"):
        return form[:-3] + "y"
    for ending in ("ing", "ed"):
        stem = form.removesuffix(ending)
        if stem != form and len(stem) >= 2 and _VOWEL.search(stem) and not stem.endswith("e"):
            return _verb(stem)
    return form


def _without_s(form: str) -> str:
    if form.endswith(("ss", "us", "is")):
        return form
    if form.endswith("ies"):
        return form[:-3] + "y"
    if form.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return form[:-2]
    return form[:-1]


def _verb(stem: str) -> str:
    if _DOUBLED.search(stem):
        return stem[:-1]
    if _LACKS_E.search(stem) or (_SHORT.search(stem) and len(_VOWEL.findall(stem)) == 1):
        return stem + "e"
    return stem
