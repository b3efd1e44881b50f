"""Bytes that requests hold, and the share of each client."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from termwise.serve.byte_budget import ByteBudget, ByteShare
from termwise.serve.pace import LONGEST_WAIT, Pace


def test_one_request_may_take_all_bytes() -> None:
    budget = ByteBudget(10)
    first, second = ByteShare(budget, "a"), ByteShare(budget, "b")
    assert first.take(6)
    assert first.take(4)
    assert not second.take(1)
    first.end()
    first.end()
    assert budget.held == 0
    assert second.take(7)
    assert not first.take(4)
    assert second.take(25)  # more than all, as nothing else is held
    second.end()
    assert budget.held == 0


def test_a_client_with_several_requests_leaves_bytes_for_others() -> None:
    budget = ByteBudget(100)
    shares = [ByteShare(budget, "a") for _ in range(10)]
    assert [share.take(10) for share in shares] == [True] * 5 + [False] * 5  # half
    another = [ByteShare(budget, "b") for _ in range(10)]
    assert [share.take(10) for share in another] == [True] * 3 + [False] * 7  # 30 of the other 50
    assert ByteShare(budget, "c").take(10)
    assert budget.held == 90
    for share in (*shares, *another):
        share.end()
    assert budget.held == 10


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 60), st.booleans())))
def test_the_bytes_are_at_most_the_bound_or_those_of_one_request(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    budget = ByteBudget(100)
    shares: dict[tuple[str, int], ByteShare] = {}
    held: dict[tuple[str, int], int] = {}
    for client, number, size, ends in steps:
        key = client, number
        share = shares.setdefault(key, ByteShare(budget, client))
        if ends:
            share.end()
            held[key] = 0
        elif share.take(size):
            held[key] = held.get(key, 0) + size
        assert budget.held == sum(held.values())
        assert budget.held <= 100 or sum(size > 0 for size in held.values()) == 1
    for share in shares.values():
        share.end()
    assert budget.held == 0


def test_a_pace_forgets_what_was_spent() -> None:
    pace = Pace(rate=10, burst=20)
    assert pace.wait("a", 25, now=100.0) == 0.5
    assert pace.wait("a", 5, now=101.0) == 0.0  # .5 s after the time at which the first amount was spent
    assert pace.wait("a", 15, now=101.0) == 1.5
    assert pace.wait("a", 20, now=110.0) == 0.0  # a burst after a pause
    assert pace.wait("a", 1_000_000, now=110.0) == LONGEST_WAIT
    assert pace.wait("b", 1, now=110.0) == 0.0


def test_a_pace_knows_a_limited_number_of_clients() -> None:
    pace = Pace(rate=1, burst=1)
    for number in range(10_000):
        pace.wait(str(number), 1, now=float(number))
    assert len(pace._until) <= 1000
