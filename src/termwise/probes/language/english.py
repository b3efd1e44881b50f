"""Closed lists of English words for the rules."""

from __future__ import annotations

from termwise.text.stop_lists import stop_list


def listed(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


PREPOSITIONS = listed("""
    about above across against along alongside amid amidst among amongst around at atop before behind below beneath
    beside besides between beyond by despite during for from in inside into near of off on onto opposite outside over
    past per through throughout toward towards under underneath unlike until upon via with within without
    """)
"""Words that are nearly always prepositions, which excludes *to*, *as*, *like*, *than*, *after* and *since*."""

NUMBER_WORDS = listed("""
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    """)

BEFORE_NAMES = listed("""
    adm capt cf col dept dr e.g eg gov hon i.e ie lt maj messrs mr mrs ms mt prof rep rev sen sgt st viz vs
    """)
"""Abbreviations, without their last full stop, that do not end a sentence."""

BEFORE_NUMBERS = listed("""
    app approx apr art aug ca ch dec eq eqs feb fig figs jan jul jun mar no nos nov nr oct p pp sec sep sept vol vols
    """)
"""Words that are abbreviations before a number."""

IN_SENTENCES = listed("""
    assn ave bros co corp etc inc jr ltd sq sr univ
    """)
"""Abbreviations that can end a sentence."""

FUNCTION_WORDS = (
    stop_list("nltk-english")
    | PREPOSITIONS
    | listed("""
        also although among another anyone anything could either else ever every everyone everything however let many
        may might much must neither never nobody none nothing often others perhaps rather shall since somebody someone
        something therefore though thus together unless us whenever whereas wherever whether whose within would yet
        """)
)
"""Words that end a noun chunk, and that start a sentence if capitalised."""
