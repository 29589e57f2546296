"""Jobs that are kept together in the network: how many are placed in each tier, and in how many domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.core import Metric

from volcano_py.api.report import TierUse
from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind


def _gauge(name: str, text: str) -> Definition:
    return Definition(name=PREFIX + name, kind=MetricKind.GAUGE, text=text, labels=("tier", "tier_name"))


_JOBS: Final = _gauge(
    "network_jobs",
    "PodGroups with networkTopology that have pods placed, by the tier of the smallest HyperNode that holds all of "
    "them; the whole cluster is one tier above the highest.",
)
_DOMAINS: Final = _gauge(
    "network_job_domains",
    "HyperNodes that the pods of these PodGroups are in, the nearest of each node, summed over the PodGroups: divided "
    "by volcano_network_jobs, the domains per job.",
)
DEFINITIONS: Final = (_JOBS, _DOMAINS)


class Network:
    """A collector over the last cycle's report, replaced as a whole."""

    def __init__(self) -> None:
        self._tiers: Mapping[str, TierUse] = {}

    def publish(self, tiers: Mapping[str, TierUse]) -> None:
        """By tier. Kept, not copied: it must not be changed afterwards."""
        self._tiers = tiers

    def describe(self) -> Iterable[Metric]:
        return [definition.family() for definition in DEFINITIONS]

    def collect(self) -> Iterable[Metric]:
        jobs, domains = _JOBS.family(), _DOMAINS.family()
        for tier, use in sorted(self._tiers.items()):
            jobs.add(use.jobs, tier, use.name)
            domains.add(use.domains, tier, use.name)
        return [jobs, domains]
