"""Serves the page until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Mapping

from aiohttp import web

from volcano_py.observe.listen import ListenAddress, chosen, open_socket
from volcano_py.ui.access import Shared, access
from volcano_py.ui.answers import Answers
from volcano_py.ui.board.model import Sample
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.live import Live
from volcano_py.ui.web.api import Api
from volcano_py.ui.web.application import application
from volcano_py.ui.web.files import Files

_GRACE = 0.5
"""Seconds that open streams have at the end; browsers never close them."""


@contextlib.asynccontextmanager
async def serving(
    cluster: Cluster,
    address: ListenAddress,
    recorded: Mapping[str, Sample] | None = None,
    shared: Shared | None = None,
) -> AsyncIterator[str]:
    """Inside, the page is served, and follows the cluster; the value is the address that opens it.

    `recorded`: the timeline of a record. `shared`: a page for many users, who sign in.

    Raises:
        ListenError: the address cannot be listened on.
        ClusterError: there is no usable certificate.
    """
    live, files = Live(cluster, recorded), Files()
    await live.look()
    async with contextlib.AsyncExitStack() as stack:
        sock = await open_socket(address)
        stack.callback(sock.close)
        own = chosen(sock)
        access_ = await stack.enter_async_context(access(shared, files, own.port))
        api = Api(live, Answers(cluster), access_.rights, access_.door)
        app = application(api, access_.door, files)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GRACE)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        following = asyncio.create_task(live.run())
        stack.push_async_callback(_ended, following)
        await web.SockSite(runner, sock, ssl_context=access_.tls).start()
        yield access_.door.address(str(own))


async def serve(
    cluster: Cluster,
    address: ListenAddress,
    ready: Callable[[str], None],
    recorded: Mapping[str, Sample] | None = None,
    shared: Shared | None = None,
) -> None:
    """Serve until cancelled, or until SIGTERM; `ready` is called with the address once it answers. The rest is as for
    `serving`.

    Raises:
        ListenError: the address cannot be listened on.
        ClusterError: there is no usable certificate.
    """
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with serving(cluster, address, recorded, shared) as url:
        ready(url)
        await stopped.wait()


async def _ended(task: asyncio.Task[object]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
