"""The chain of limits between a workload and the cluster; the scheduler's reason says which one binds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from volcano_py.api.report import Amounts, QueueReport
from volcano_py.explain.asked import asked_of_quota, devices_asked, still_asked
from volcano_py.explain.model import Limit, Nodes, Now
from volcano_py.explain.target import Target, queue_of, queues_above
from volcano_py.explain.world import World
from volcano_py.jobs.refusal import INVALID, REFUSED
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.state.queues.quotas import resource_of

_BINDS: Final[Mapping[str, str]] = {
    "NotEnoughTasks": "gang",
    INVALID: "gang",
    **dict.fromkeys(REFUSED, "gang"),
    "OverQuota": "quota",
    "QueueNotFound": "queue",
    "InvalidQueue": "queue",
    "QueueClosed": "queue",
    "OverCapability": "queue",
    "OverDeserved": "queue",
    "ClusterOvercommitted": "cluster",
    "NeverFits": "nodes",
    "NodesRefuse": "nodes",
    "PlacesHeld": "nodes",
    "GangIncomplete": "nodes",
    "WaitingForRelease": "nodes",
}
"""Reason → the kind of limit that it is about; all others are about an object."""
_QUEUE: Final = re.compile(r"\bqueue ([a-z0-9][-a-z0-9.]*)")
"""The names of queues in a message; the first is that of the queue that refuses."""


def limits(world: World, target: Target, stands: Now, refused: Nodes | None) -> tuple[Limit, ...]:
    """From the gang to the nodes. Exactly one binds while the workload waits."""
    asked = still_asked(target)
    by_deserved = stands.reason == "OverDeserved"
    # (minResources of Jobs have names for quotas as well, such as requests.cpu, which nodes and queues do not have)
    plain = {name: amount for name, amount in asked.items() if resource_of(name) == name}
    of_queues = {**plain, **devices_asked(world, target)}
    queues = _queues(world, target, of_queues, _beyond_deserved if by_deserved else _excess)
    chain = [_gang(world, target), *_quotas(world, target), *queues, _cluster(world, plain)]
    if not stands.reason:
        return tuple(chain)
    kind = _BINDS.get(stands.reason, "object")
    cluster = chain[-1]
    if kind == "nodes" and stands.reason != "NeverFits" and _excess(cluster) > 0:
        kind = "cluster"
    candidates = [limit for limit in chain if limit.kind == kind]
    if not candidates:
        lacks = dict(refused.nearest[0].lacks) if kind == "nodes" and refused is not None and refused.nearest else {}
        name = "each on its own" if kind == "nodes" else target.group or target.name
        chain.append(Limit(kind, name, next(iter(lacks), ""), note=stands.reason, binding=True))
        return tuple(chain)
    named = (limit for name in _QUEUE.findall(stands.message) for limit in candidates if limit.name == name)
    binding = next(named, None) or max(candidates, key=_beyond_deserved if by_deserved else _excess)
    return tuple(replace(limit, binding=True) if limit is binding else limit for limit in chain)


def _excess(limit: Limit) -> float:
    """By how much of itself a limit would be passed; below 0 where it would not."""
    if limit.limit is None:
        return float("-inf")
    most = limit.limit - limit.kept_for_others
    return (limit.used + limit.promised + limit.asked - most) / max(most, 1)


def _beyond_deserved(limit: Limit) -> float:
    """The same of what a queue deserves."""
    if limit.deserved is None:
        return float("-inf")
    return (limit.used + limit.asked - limit.deserved) / max(limit.deserved, 1)


def _gang(world: World, target: Target) -> Limit:
    minimum = max(target.found.spec.min_member if target.found is not None else target.need, 1)
    job = world.jobs.get(target.group)
    existing = len(target.pods) if job is None else job.valid_tasks
    more = f", and {existing - minimum} more" if existing > minimum else ""
    note = f"{min(existing, minimum)} of the {minimum} pods that must start together exist{more}"
    return Limit("gang", target.group or target.name, "pods", len(target.waiting), note=note)


def _quotas(world: World, target: Target) -> Iterator[Limit]:
    namespace = target.name.partition("/")[0]
    for quota in world.session.snapshot.quotas.get(namespace, ()):
        found = [
            Limit("quota", quota.name, name, amount, quota.used.get(name, 0), quota.hard[name])
            for name, amount in asked_of_quota(target, quota.hard).items()
        ]
        if found:
            yield max(found, key=_excess)


def _queues(world: World, target: Target, asked: Amounts, excess: Callable[[Limit], float]) -> Iterator[Limit]:
    """The queue and, where a plugin has queues in a tree, each queue above it. What the workload itself was promised is
    not promised to others."""
    own = _promised_to(world, target)
    for name in queues_above(world, queue_of(world, target)):
        report = world.report.queues.get(name)
        if report is None:
            yield Limit("queue", name, note="does not exist")
            continue
        promised = {each: amount - own.get(each, 0) for each, amount in report.inqueue.items()}
        yield _queue(world, replace(report, inqueue=promised), asked, excess)


def _promised_to(world: World, target: Target) -> Amounts:
    """What the workload may still use since it was admitted."""
    job, promises = world.jobs.get(target.group), InqueueRequests(world.session)
    rows = promises.rows[promises.rows == job.row] if job is not None else promises.rows[:0]
    return world.amounts(promises.outstanding(rows).sum(axis=0))


def _queue(world: World, report: QueueReport, asked: Amounts, excess: Callable[[Limit], float]) -> Limit:
    """The resource that exceeds its limit the most, or of which least would be left."""
    note = "" if report.state in ("Open", "") else f"state {report.state}"
    total = world.amounts(world.session.total)
    found = []
    for name, amount in asked.items():
        most, real = report.capability.get(name), report.real_capability.get(name)
        there = total.get(name, 0)
        kept = 0 if real is None else max(min(there if most is None else most, there) - real, 0)
        found.append(
            Limit(
                kind="queue",
                name=report.name,
                resource=name,
                asked=amount,
                used=report.allocated.get(name, 0),
                limit=there if most is None and kept else most,
                promised=report.inqueue.get(name, 0),
                deserved=report.deserved.get(name) if report.deserved else None,
                kept_for_others=kept,
                note=note,
            )
        )
    return max(found, key=excess, default=Limit("queue", report.name, note=note))


def _cluster(world: World, asked: Amounts) -> Limit:
    nodes = world.session.ledger.nodes
    total = world.amounts(nodes.allocatable[nodes.present].sum(axis=0))
    used = world.amounts(nodes.used[nodes.present].sum(axis=0))
    shard = world.session.snapshot.hard_shard
    nodes_of = f"nodes of shard {shard}" if shard else "all nodes"
    found = [
        Limit("cluster", nodes_of, name, amount, used.get(name, 0), total.get(name, 0))
        for name, amount in asked.items()
    ]
    return max(found, key=_excess, default=Limit("cluster", nodes_of))
