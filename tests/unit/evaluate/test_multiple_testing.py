import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.evaluate import bonferroni, holm

p_values = st.lists(st.floats(0, 1), max_size=12)


def test_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # sorted: 4 * 0.005, 3 * 0.01, 2 * 0.03, then 0.04 raised to the one before
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_test_is_not_corrected_and_no_test_is_allowed():
    assert bonferroni([0.3]) == holm([0.3]) == (0.3,)
    assert bonferroni([]) == holm([]) == ()


def test_an_undefined_test_stays_undefined_and_counts():
    assert bonferroni([None, 0.25]) == (None, 0.5)
    assert holm([0.25, None]) == (0.5, None)


@given(p_values)
def test_holm_lies_between_raw_and_bonferroni(p):
    for raw, by_holm, by_bonferroni in zip(p, holm(p), bonferroni(p), strict=True):
        assert raw <= by_holm <= by_bonferroni <= 1


@given(p_values)
def test_the_order_of_p_values_is_kept(p):
    ranked = sorted(zip(p, holm(p), strict=True))
    assert [h for _, h in ranked] == sorted(holm(p))


@given(p_values, st.randoms())
def test_the_order_of_tests_does_not_matter(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    assert holm([p[i] for i in order]) == tuple(holm(p)[i] for i in order)
