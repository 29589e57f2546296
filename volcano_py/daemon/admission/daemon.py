"""Admission alone: the webhooks' server with its certificates, and the objects of the cluster that it needs.

It schedules nothing and holds no Lease; any number of replicas may run. `volcano-py run --admission` starts one as a
process of its own, and `volcano-py admission` is one.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Final

import structlog

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.daemon.admission.options import make_admission
from volcano_py.daemon.admission.reports import Reporter
from volcano_py.daemon.garbage import collect_by_the_clock
from volcano_py.daemon.options import DaemonOptions
from volcano_py.daemon.supervision import Supervisor
from volcano_py.observe.checks import Checks
from volcano_py.observe.health import HealthServer
from volcano_py.observe.listen import ListenAddress
from volcano_py.observe.metrics import Metrics
from volcano_py.observe.shown import Shown
from volcano_py.operator.kopf_host.app import KopfApp
from volcano_py.operator.queues.feed import QueueFeed

log = structlog.get_logger(__name__)

# On the node of a daemon that schedules, reviews take what it leaves.
_NICENESS: Final = 5


class AdmissionDaemon:
    """One process; `run` returns when it was asked to stop."""

    def __init__(self, options: DaemonOptions, client: KubernetesClient, *, reports_to: int | None = None) -> None:
        """`reports_to`: the file descriptor of a socket to a daemon, which then shows metrics and health instead.

        Raises:
            ValueError: the authorities of callers cannot be read.
        """
        self._options, self._reports_to = options, reports_to
        self._supervisor = Supervisor()
        self._metrics = Metrics()
        self._reporter = Reporter(self._problem)
        self._admission = make_admission(
            options, client, self._metrics.admission if reports_to is None else self._reporter
        )
        self._kopf = KopfApp(
            client,
            QueueFeed([self._admission.view], self._bad_object),
            None,
            own_signals=self._supervisor.own_signals,
            bad_object=self._bad_object,
            webhooks=self._admission,
        )
        self._informers = Informers(
            client,
            self._admission.view,
            (kinds.POD_GROUP, kinds.NAMESPACE),
            on_bad_object=self._bad_object,
            resync_every=options.resync_period or None,
        )

    async def run(self) -> None:
        """Until SIGTERM or SIGINT, or until the daemon that it reports to is gone.

        Raises:
            ChildFailedError: a part that the process cannot do without has ended.
            ListenError: a listen address cannot be had.
        """
        self._supervisor.own_signals()
        add = self._supervisor.add
        add("informers", self._informers.run)
        add("kopf", self._kopf.run)
        add("queues without kopf", self._kopf.stand_in)
        add("admission webhooks", self._serve)
        add("garbage", collect_by_the_clock)
        if self._reports_to is not None:
            os.nice(_NICENESS)
            add("reports", self._report)
            await self._supervisor.run()
            return
        checks = Checks()
        checks.add_ready("admission", self._problem)
        server = HealthServer(Shown(self._metrics.render, checks))
        await server.start(_addresses(self._options.listen_addresses))
        try:
            await self._supervisor.run()
        finally:
            await server.stop()
            self._supervisor.release_signals()

    async def _serve(self) -> None:
        """Nothing is judged before everything has been listed."""
        await self._informers.wait_synced()
        await self._kopf.listed.wait()
        await self._admission.run()

    async def _report(self) -> None:
        assert self._reports_to is not None
        reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=self._reports_to))
        await self._reporter.run(reader, writer)
        self._supervisor.stop("the daemon is gone")

    def _problem(self) -> str | None:
        return self._admission.problem()

    def _bad_object(self, kind: str, key: str, _uid: str, error: Exception) -> None:
        """Log it; the scheduling daemon writes the event."""
        log.debug("object unreadable", kind=kind, object=key, error=str(error))


def _addresses(texts: Sequence[str]) -> list[ListenAddress]:
    return [ListenAddress.parse(text) for text in texts]
