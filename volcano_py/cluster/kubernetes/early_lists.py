"""Lists that begin before there is anybody to take them in: the server answers while modules are loaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Final, Self

from volcano_py.cluster.kubernetes.client import KubernetesClient, Page
from volcano_py.cluster.kubernetes.errors import RequestError
from volcano_py.cluster.kubernetes.kinds import Kind

# Pages of one kind that wait to be taken: 8,000 objects, about 12 MB of pods.
_MOST_PAGES: Final = 16


class EarlyLists:
    """The first list of each kind, for whoever takes it first; on leaving the block the rest is given up."""

    def __init__(self, client: KubernetesClient, kinds: Iterable[Kind]) -> None:
        self._client = client
        self._kinds = tuple(kinds)
        self._lists: dict[str, _EarlyList] = {}

    async def __aenter__(self) -> Self:
        self._lists = {kind.name: _EarlyList(self._client, kind) for kind in self._kinds}
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(each.give_up() for each in self._lists.values()))

    def take(self, kind: Kind) -> AsyncGenerator[Page, None] | None:
        """As `KubernetesClient.pages` gives them, errors included; None when it was taken or never begun."""
        begun = self._lists.pop(kind.name, None)
        return None if begun is None else begun.pages()


class _EarlyList:
    def __init__(self, client: KubernetesClient, kind: Kind) -> None:
        self._pages = client.pages(kind.path, kind.selectors, accept=kind.list_accept)
        self._waiting: asyncio.Queue[Page | RequestError | None] = asyncio.Queue(_MOST_PAGES)
        self._task = asyncio.create_task(self._fill(), name=f"early list of {kind.name}")

    async def _fill(self) -> None:
        end: RequestError | None = None
        try:
            async for page in self._pages:
                await self._waiting.put(page)
        except RequestError as error:
            end = error
        await self._waiting.put(end)

    async def pages(self) -> AsyncGenerator[Page, None]:
        try:
            while isinstance(page := await self._waiting.get(), Page):
                yield page
            if page is not None:
                raise page
        finally:
            await self.give_up()

    async def give_up(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._pages.aclose()
