"""An error that another attempt made up for is freed at once, with the connection and the answer that it refers to."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref

from tests.unit.cluster.fakes import FakeClock
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.http.errors import UnreachableError


async def test_an_error_does_not_outlive_the_attempt_that_succeeds() -> None:
    clock, errors = FakeClock(), list[weakref.ref[UnreachableError]]()

    async def call() -> str:
        if errors:
            return "done"
        error = UnreachableError("GET", "/", "no answer")
        errors.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    async def attempts() -> str:
        return await retry(call, RetryPolicy(give_up_after=60), clock, rng=random.Random(1))

    gc.collect()
    gc.disable()
    try:
        task = asyncio.create_task(attempts())
        await clock.advance(5)
        assert await task == "done"
        assert [error() for error in errors] == [None]
    finally:
        gc.enable()
