"""Keeps the load of nodes in the state up to date, where the configuration names a source.

Load that is old is not used (the plugin `usage` has the limit), so a source that fails does no harm but that placing
goes by requests alone; that is said in the log, in the metrics and in /status.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import structlog

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.load.custom_metrics import CustomMetrics
from volcano_py.cluster.load.elasticsearch import Elasticsearch
from volcano_py.cluster.load.metrics_server import MetricsServer
from volcano_py.cluster.load.prometheus import Prometheus
from volcano_py.cluster.load.source import (
    ELASTICSEARCH,
    METRICS_SERVER,
    PROMETHEUS_ADAPTOR,
    LoadError,
    LoadSettings,
    LoadSink,
    LoadSource,
)
from volcano_py.config import SchedulerConfiguration
from volcano_py.observe.metrics.intake import IntakeMetrics
from volcano_py.state.nodes.loads import FRESH_FOR

log = structlog.get_logger(__name__)

# Seconds after which a changed configuration is noticed, however long the interval is.
_LOOK_EVERY: Final = 5.0


class NodeLoad:
    """`run` asks the source of the configuration in force, again and again."""

    def __init__(
        self,
        client: KubernetesClient,
        sink: LoadSink,
        *,
        configuration: Callable[[], SchedulerConfiguration | None],
        metrics: IntakeMetrics,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client, self._sink = client, sink
        self._configuration = configuration
        self._metrics = metrics
        self._clock = clock
        self._settings: LoadSettings | None = None
        self._source: LoadSource | None = None
        self._read_at: float | None = None
        self._nodes = 0
        self._problem = ""
        self._reported_stale = False

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                settings = self._wanted()
                if settings != self._settings:
                    await self._close()
                    self._settings = settings
                    self._read_at, self._problem, self._reported_stale = None, "", False
                if settings is not None:
                    await self._read(settings)
                await self._pause(settings)
        finally:
            await self._close()

    async def _pause(self, settings: LoadSettings | None) -> None:
        """Wait until it is time to ask the source again, or until another one is configured."""
        left = settings.interval if settings is not None else math.inf
        while left > 0 and self._wanted() == settings:
            await self._clock.sleep(min(left, _LOOK_EVERY))
            left -= _LOOK_EVERY

    def status(self) -> dict[str, Any] | None:
        """What /status shows; None when no load is read."""
        if self._settings is None:
            return None
        return {
            "source": self._settings.type,
            "nodes": self._nodes,
            "lastRead": self._read_at,
            "stale": self._is_stale(),
            "problem": self._problem,
        }

    def _wanted(self) -> LoadSettings | None:
        configuration = self._configuration()
        return None if configuration is None else LoadSettings.of(configuration.metrics)

    async def _read(self, settings: LoadSettings) -> None:
        try:
            if self._source is None:
                self._source = self._source_of(settings)
            self._nodes = await self._source.read(self._sink)
        except LoadError as error:
            self._failed(str(error))
            return
        if self._problem:
            log.info("node load readable again", source=settings.type, nodes=self._nodes)
        self._problem, self._reported_stale = "", False
        self._read_at = self._clock.now().timestamp()
        self._metrics.load_read(self._read_at)

    def _source_of(self, settings: LoadSettings) -> LoadSource:
        if settings.type == METRICS_SERVER:
            return MetricsServer(self._client)
        if settings.type in PROMETHEUS_ADAPTOR:
            return CustomMetrics(self._client)
        return Elasticsearch(settings) if settings.type == ELASTICSEARCH else Prometheus(settings)

    def _failed(self, problem: str) -> None:
        self._metrics.load_failed()
        if problem != self._problem:
            log.warning("node load could not be read", problem=problem)
        self._problem = problem
        if self._is_stale() and not self._reported_stale:
            self._reported_stale = True
            log.warning(
                "node load is too old; placing pods without it",
                older_than_seconds=FRESH_FOR,
                problem=problem,
            )

    def _is_stale(self) -> bool:
        return self._read_at is None or self._clock.now().timestamp() - self._read_at >= FRESH_FOR

    async def _close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await source.aclose()
