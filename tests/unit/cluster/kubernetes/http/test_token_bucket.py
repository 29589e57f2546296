"""Rates and bursts, in time that passes only on request."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.cluster.fakes import FakeClock, settle
from volcano_py.cluster.kubernetes.http.ratelimit import TokenBucket


async def test_a_burst_passes_at_once_and_the_rest_at_the_rate(clock: FakeClock) -> None:
    bucket = TokenBucket(10, 3, clock)
    passed: list[tuple[int, float]] = []

    async def take(number: int) -> None:
        await bucket.take()
        passed.append((number, round(clock.time - 1000, 3)))

    takers = [asyncio.create_task(take(number)) for number in range(5)]
    await clock.advance(1)
    await asyncio.gather(*takers)

    assert passed == [(0, 0), (1, 0), (2, 0), (3, 0.1), (4, 0.2)]


async def test_giving_up_waiting_leaves_the_token_to_others(clock: FakeClock) -> None:
    bucket = TokenBucket(1, 1, clock)
    await bucket.take()
    waiting = asyncio.create_task(bucket.take())
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await clock.advance(1)

    assert bucket.try_take()


def test_a_pause_fills_the_bucket_up_to_the_burst(clock: FakeClock) -> None:
    bucket = TokenBucket(1, 2, clock)
    clock.time += 100

    assert [bucket.try_take() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(rate: float, burst: float, clock: FakeClock) -> None:
    with pytest.raises(ValueError, match="rate above 0 and a burst of at least 1"):
        TokenBucket(rate, burst, clock)
