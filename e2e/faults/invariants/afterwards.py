"""What must hold once nothing fails any more and the churn has come to rest."""

from __future__ import annotations

from collections.abc import Callable

from e2e.conftest import NodePool
from e2e.faults.churning.churn import Churn
from e2e.faults.invariants.cluster import Picture, broken_gangs, differences, overcommitted_nodes, waiting_pods
from e2e.faults.invariants.jobs import job_problems
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang

SETTLE_SECONDS = 400.0
"""A list of the queues every 30 s, resync of the rest every minute or more often, back-off of failed bindings up to
60 s; and all of it on a busy machine."""


async def all_is_as_if_nothing_had_failed(
    cluster: Cluster,
    namespace: Namespace,
    pool: NodePool,
    daemon: Daemon,
    churn: Churn,
    report: Callable[[str], None],
) -> None:
    """Wait until it is; a gang that has room nowhere, made now, still waits then."""
    await churn.settle()
    await namespace.apply(_giant(pool))

    async def all_is_well() -> None:
        await churn.fix()
        await _check(cluster, namespace, daemon, churn, len(pool.names) + 1)

    await cluster.eventually("the cluster is as if nothing had failed", all_is_well, seconds=SETTLE_SECONDS)
    report(f"{churn.changes} changes; {len(churn.population.gangs)} gangs and {len(churn.jobs)} jobs were left")


def _giant(pool: NodePool) -> list[Object]:
    """A gang with a pod more than there are nodes, each of which wants a node of its own.

    They ask for next to nothing: what waits takes part in the division among queues, too.
    """
    labels = {"app": "giant"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    size = len(pool.names) + 1
    return gang("giant", size, cpu="100m", labels=labels, node_selector=pool.selector, affinity=apart)


async def it_sees_what_there_is(cluster: Cluster, daemon: Daemon) -> None:
    """Wait until the daemon's picture of the cluster is the API server's."""

    async def knows_everything() -> None:
        differing = await differences(daemon, await Picture.of(cluster.client))
        assert not differing, "\n".join(differing)

    await cluster.eventually("the daemon sees what there is", knows_everything)


async def _check(cluster: Cluster, namespace: Namespace, daemon: Daemon, churn: Churn, giants: int) -> None:
    """One look at everything that must hold."""
    picture = await Picture.of(cluster.client)
    waiting = waiting_pods(picture, namespace.name, besides=["giant"])
    assert not waiting, "pods that fit wait:\n" + "\n".join(waiting)
    problems = broken_gangs(picture) + overcommitted_nodes(picture)
    problems += await job_problems(namespace, picture, churn.jobs)
    assert not problems, "\n".join(problems)
    members = picture.members(f"{namespace.name}/giant")
    assert len(members) == giants
    assert not any(each["spec"].get("nodeName") for each in members)
    differing = await differences(daemon, picture)
    assert not differing, "\n".join(differing)
