"""Whether this replica leads, and whether it knows enough to decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.lease import LeaderElector
from volcano_py.daemon.options import DaemonOptions


class Leadership:
    """Without election there is one replica, which always leads. With it (`is_elected`), `run` campaigns."""

    def __init__(
        self,
        options: DaemonOptions,
        client: KubernetesClient,
        *,
        gained: Callable[[], None],
        lost: Callable[[], None],
        catch_up: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`gained` and `lost` are told at once; `catch_up` returns when all is known that a leader before us did. It is
        told which version of the Lease showed that leader to have finished; "" when none did."""
        self._gained, self._catch_up = gained, catch_up
        self._catching_up: asyncio.Task[None] | None = None
        self._elector: LeaderElector | None = None
        election = options.election
        if election.enabled:
            self._elector = LeaderElector(
                client,
                election.namespace,
                options.lease_name,
                on_started_leading=self._started,
                on_stopped_leading=lost,
                lease_duration=election.lease_duration,
                renew_deadline=election.renew_deadline,
                retry_period=election.retry_period,
            )
        self.is_elected = self._elector is not None

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as is known; "" for nobody."""
        return self._elector.holder if self._elector is not None else ""

    def is_leading(self) -> bool:
        """Whether this replica may write."""
        return self._elector is None or self._elector.is_leader()

    def may_decide(self) -> bool:
        """Whether it also knows what was done before it led."""
        return self.is_leading() and (self._catching_up is None or self._catching_up.done())

    async def run(self) -> None:
        """Campaign, and lead until cancelled.

        Raises:
            RuntimeError: the Lease was lost.
        """
        assert self._elector is not None
        task = asyncio.create_task(self._elector.run(), name="election")
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            # Told to stop, it gives the Lease back, so that a successor need not wait.
            self._elector.stop()
            await task
            raise
        raise RuntimeError("the lease was not renewed in time; whoever gets it decides now")

    def _started(self) -> None:
        self._gained()
        if self._elector is not None and not self._elector.made_lease:
            self._catching_up = asyncio.create_task(self._catch_up(self._elector.given_back), name="catching up")
