"""The election by the Lease, with its own connection and login, on the event loop that awaits `run`.

The main loop gets events of its own. What it asks (`is_leader`, `holder`) is answered from what the campaign last
wrote, without waiting for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
from volcano_py.cluster.kubernetes.lease import LeaderElector
from volcano_py.daemon.options import DaemonOptions

log = structlog.get_logger(__name__)


class Election:
    """Create it on the main loop, whose events these are:

    Attributes:
        attempted: a first attempt at the Lease has ended, in whatever way.
        won: the Lease is ours.
        over: the campaign has ended: the Lease was lost, or given back after `stop`.
    """

    def __init__(self, options: DaemonOptions) -> None:
        self._options = options
        self._main = asyncio.get_running_loop()
        self.attempted, self.won, self.over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._elector: LeaderElector | None = None
        self._stopping = asyncio.Event()  # of the loop that runs this

    # -- asked from any thread -------------------------------------------------------------------------------------

    def is_leader(self) -> bool:
        return self._elector is not None and self._elector.is_leader()

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as is known; "" for none."""
        return self._elector.holder if self._elector is not None else ""

    @property
    def taken_at(self) -> float:
        """See `LeaderElector`; only once it is won."""
        assert self._elector is not None
        return self._elector.taken_at

    @property
    def alone_from(self) -> float:
        """See `LeaderElector`; only once it is won."""
        assert self._elector is not None
        return self._elector.alone_from

    # -- on the loop that runs it ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Campaign, and lead until the Lease is lost or `stop` is called."""
        try:
            client = await self._connect()
            if client is not None:
                async with client:
                    await self._campaign(client)
        finally:
            self._notify(self.over)()

    def stop(self, settle: float = 0.0) -> None:
        """See `LeaderElector.stop`."""
        self._stopping.set()
        if self._elector is not None:
            self._elector.stop(settle)

    async def _campaign(self, client: KubernetesClient) -> None:
        times = self._options.election
        elector = self._elector = LeaderElector(
            client,
            times.namespace,
            self._options.lease_name,
            on_started_leading=self._notify(self.won),
            on_attempt=self._notify(self.attempted),
            lease_duration=times.lease_duration,
            renew_deadline=times.renew_deadline,
            retry_period=times.retry_period,
        )
        if not self._stopping.is_set():
            await elector.run()

    async def _connect(self) -> KubernetesClient | None:
        """A client, as soon as there is a login; None when there was none until we were stopped."""
        while not self._stopping.is_set():
            try:
                return await KubernetesClient.connect(self._options.kubeconfig, self._options.context, connections=1)
            except CredentialsError as error:
                log.warning("no credentials for the lease yet; retrying", error=str(error))
                try:
                    async with asyncio.timeout(self._options.election.retry_period):
                        await self._stopping.wait()
                except TimeoutError:
                    continue
        return None

    def _notify(self, event: asyncio.Event) -> Callable[[], None]:
        def notify() -> None:
            self._main.call_soon_threadsafe(event.set)

        return notify
