"""Run all steps, even if one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable


async def run_all(steps: Iterable[Awaitable[None]]) -> None:
    """All of them, to their ends; then the error of the first that failed."""
    errors = [result for result in await asyncio.gather(*steps, return_exceptions=True) if result is not None]
    raise_first(errors)


def raise_first(errors: list[BaseException]) -> None:
    """Raise the first, if there is any, and empty the list.

    An error that is raised has the frames it passes in its traceback. If one of them kept it, all of that would be
    garbage in a cycle, and with it whatever was read of the server's answer.
    """
    try:
        if errors:
            raise errors[0]
    finally:
        errors.clear()
