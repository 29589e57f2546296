"""Serves the page until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from aiohttp import web

from volcano_py.observe.listen import ListenAddress, chosen, open_socket
from volcano_py.ui.answers import Answers
from volcano_py.ui.board.model import Sample
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.live import Live
from volcano_py.ui.web.api import Api
from volcano_py.ui.web.application import application
from volcano_py.ui.web.door import Door

_GRACE = 0.5
"""Seconds that open streams have at the end; browsers never close them."""


@contextlib.asynccontextmanager
async def serving(
    cluster: Cluster, address: ListenAddress, recorded: Mapping[str, Sample] | None = None
) -> AsyncIterator[str]:
    """Inside, the page is served, and follows the cluster; the value is its address, with the token.

    Raises:
        ListenError: the address cannot be listened on.
    """
    live = Live(cluster, recorded)
    await live.look()
    sock = await open_socket(address)
    own = chosen(sock)
    door = Door(own.port)
    runner = web.AppRunner(application(Api(live, Answers(cluster)), door), access_log=None, shutdown_timeout=_GRACE)
    await runner.setup()
    following = asyncio.create_task(live.run())
    try:
        await web.SockSite(runner, sock).start()
        yield f"http://{own}/?token={door.token}"
    finally:
        following.cancel()
        await runner.cleanup()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def serve(
    cluster: Cluster,
    address: ListenAddress,
    ready: Callable[[str], None],
    recorded: Mapping[str, Sample] | None = None,
) -> None:
    """Serve until cancelled; `ready` is called with the address once it answers. `recorded`: the timeline of a record.

    Raises:
        ListenError: the address cannot be listened on.
    """
    async with serving(cluster, address, recorded) as url:
        ready(url)
        await asyncio.Event().wait()
