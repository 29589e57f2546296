"""Token buckets: `--kube-api-qps` / `--kube-api-burst` for requests, and the limits on events."""

from __future__ import annotations

from volcano_py.cluster.kubernetes.clock import Clock


class TokenBucket:
    """Lets `rate` tokens a second through, and up to `burst` at once after a pause."""

    __slots__ = ("_burst", "_clock", "_filled", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, clock: Clock) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs a rate above 0 and a burst of at least 1, not {rate:g} and {burst:g}")
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens = burst
        self._filled = clock.monotonic()

    @property
    def last_asked(self) -> float:
        """When a token was last asked for, by the monotonic clock; at first, when the bucket was created."""
        return self._filled

    def _fill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now

    def try_take(self) -> bool:
        """Take a token if there is one now."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def take(self) -> None:
        """Take a token, waiting for it if need be; callers are served in the order in which they came."""
        self._fill()
        self._tokens -= 1
        if self._tokens >= 0:
            return
        # The bucket goes into debt, so each later caller waits for one token more than the one before.
        try:
            await self._clock.sleep(-self._tokens / self._rate)
        except BaseException:
            self._tokens += 1
            raise
