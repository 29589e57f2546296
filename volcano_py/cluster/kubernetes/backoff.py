"""Waiting between attempts: exponential, with full jitter, so that clients that failed together do not retry
together.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.errors import ConflictError, RequestError

T = TypeVar("T")


class Backoff:
    """Delays in seconds, each drawn from 0 to a bound that doubles from `base` up to `cap`."""

    def __init__(self, base: float, cap: float, rng: random.Random | None = None) -> None:
        self._base, self._cap = base, cap
        self._rng = rng or random.Random()
        self._failures = 0

    def delay(self, *, at_least: float = 0.0) -> float:
        """The wait after one more failure; `at_least` is what the server asked for."""
        # 2**20 bases are beyond any cap; a larger exponent would only overflow.
        bound = min(self._cap, self._base * 2 ** min(self._failures, 20))
        self._failures += 1
        return max(at_least, self._rng.uniform(0.0, bound))

    def reset(self) -> None:
        """Something worked."""
        self._failures = 0


class RetryPolicy(msgspec.Struct, frozen=True):
    """How long to keep trying, in seconds."""

    give_up_after: float
    base: float = 0.1
    cap: float = 2.0
    conflicts: bool = False
    """Whether to repeat after a 409 too: right for patches without preconditions, which met another writer."""

    def repeats(self, error: RequestError) -> bool:
        """Whether another attempt may succeed."""
        return error.transient or (self.conflicts and isinstance(error, ConflictError))


async def retry(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    clock: Clock,
    *,
    rng: random.Random,
    keep_trying: Callable[[], bool] = lambda: True,
) -> T:
    """The result of `call`, repeated while the policy and `keep_trying()` agree.

    Raises:
        RequestError: the last attempt's.
    """
    started = clock.monotonic()
    backoff: Backoff | None = None
    while True:
        try:
            return await call()
        except RequestError as error:
            # Nearly all requests succeed at once and need none.
            backoff = backoff or Backoff(policy.base, policy.cap, rng)
            delay = backoff.delay(at_least=error.retry_after)
            too_late = clock.monotonic() + delay - started > policy.give_up_after
            if too_late or not policy.repeats(error) or not keep_trying():
                raise
            # Here, since a variable that outlived this block would tie error and frame together: garbage in cycles.
            await clock.sleep(delay)
            if not keep_trying():
                raise
