"""When a watch shows what was created: no scheduler can know of it any earlier."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import aiohttp

from volcano_py.local.client import APIClient, APIError

_AGAIN = 0.1  # seconds until a watch that failed is opened again


class News:
    """Follows the pods of one namespace, as a scheduler does. `seen`: key of a pod → when it was first shown, in
    seconds since the epoch."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}

    @property
    def seen(self) -> Mapping[str, float]:
        return self._seen

    async def follow(self, client: APIClient, namespace: str) -> None:
        """Until cancelled. The API server ends watches that it cannot keep up with; they are opened again."""
        version = "0"
        while True:
            with suppress(APIError, aiohttp.ClientError, TimeoutError):
                async for event in client.watch(f"/api/v1/namespaces/{namespace}/pods", resourceVersion=version):
                    if event["type"] == "ERROR":
                        version = "0"
                        break
                    metadata = event["object"]["metadata"]
                    version = metadata["resourceVersion"]
                    self._seen.setdefault(f"{namespace}/{metadata['name']}", time.time())
                else:
                    continue
            await asyncio.sleep(_AGAIN)


@asynccontextmanager
async def news_of(client: APIClient, namespace: str) -> AsyncIterator[News]:
    """News of the namespace, for as long as the block lasts."""
    news = News()
    following = asyncio.create_task(news.follow(client, namespace), name=f"news of {namespace}")
    try:
        yield news
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
