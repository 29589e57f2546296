"""What the tests of placement share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from e2e.placement.extender import Extender
from e2e.placement.extender import serving as serving_extender
from e2e.placement.prometheus import Prometheus, serving


@pytest_asyncio.fixture(loop_scope="session")
async def prometheus() -> AsyncIterator[Prometheus]:
    """A server on a free port of this machine."""
    async with serving() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def extender() -> AsyncIterator[Extender]:
    """The same."""
    async with serving_extender() as made:
        yield made
