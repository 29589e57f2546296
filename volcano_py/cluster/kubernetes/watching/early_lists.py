"""Lists that begin before the informers exist: the server answers while modules are loaded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final, Self

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, Page
from volcano_py.cluster.kubernetes.watching.kinds import Kind

# Pages of one kind that wait to be taken: 8,000 objects, about 12 MB of pods.
_MOST_PAGES: Final = 4
# Lists under way. Each needs a connection, which takes more than a millisecond of CPU to open, and most are empty.
_AT_A_TIME: Final = 6
# Seconds after which a list keeps no other from beginning: a server that is slow costs more than a connection.
_LONG: Final = 0.1


class EarlyLists:
    """The first list of each kind, for one reflector each; leaving the block cancels those that were not taken."""

    def __init__(self, client: KubernetesClient, kinds: Iterable[Kind]) -> None:
        self._client = client
        self._kinds = tuple(kinds)
        self._lists: dict[str, EarlyList] = {}
        self._left: dict[str, EarlyList] = {}

    async def __aenter__(self) -> Self:
        room = asyncio.Semaphore(_AT_A_TIME)
        self._lists = {kind.name: EarlyList(self._client, kind, room) for kind in self._kinds}
        self._left = self._lists.copy()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(each.aclose() for each in self._lists.values()))

    def take(self, kind: Kind) -> EarlyList | None:
        """None when it was taken or never begun."""
        return self._left.pop(kind.name, None)


class EarlyList:
    """The pages of one list as `KubernetesClient.pages` gives them, errors included."""

    def __init__(
        self, client: KubernetesClient, kind: Kind, room: asyncio.Semaphore, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """It waits for `room`, and holds it until it has ended or has taken long."""
        self.begun_at = clock.monotonic()
        self._room = room
        self._pages = client.pages(kind.path, kind.selectors, accept=kind.list_accept)
        self._waiting: asyncio.Queue[Page | Exception | None] = asyncio.Queue(_MOST_PAGES)
        self._task = asyncio.create_task(self._fill(), name=f"early list of {kind.name}")

    async def _fill(self) -> None:
        end: Exception | None = None
        try:
            with contextlib.ExitStack() as place:
                await self._room.acquire()
                place.callback(self._room.release)
                asyncio.get_running_loop().call_later(_LONG, place.close)
                async for page in self._pages:
                    await self._waiting.put(page)
        except Exception as error:
            # Whatever it is, the reader of the list has to get it, or it would wait without end.
            end = error
        await self._waiting.put(end)

    async def __aiter__(self) -> AsyncIterator[Page]:
        while isinstance(page := await self._waiting.get(), Page):
            yield page
        if page is not None:
            raise page

    async def aclose(self) -> None:
        """Give up what has not come."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._pages.aclose()
