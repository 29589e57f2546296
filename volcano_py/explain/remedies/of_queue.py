"""The queue created or opened, a capability or a deserved amount raised, a quota raised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from volcano_py.api.names import CLOSED_BY_PARENT
from volcano_py.api.objects import ObjectMeta, Queue, ResourceQuota
from volcano_py.api.wording.amounts import number
from volcano_py.api.wording.summarize import plural
from volcano_py.explain.asked import asked_of_quota, devices_asked, still_asked
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World
from volcano_py.state.queues.quotas import resource_of
from volcano_py.state.table.units import canonical


def other_queues(world: World, target: Target) -> Iterator[Candidate]:
    """First what is wrong with the queue itself, then its limits, alone and together with those above it."""
    group = target.found
    if group is None:
        return
    name = group.spec.queue or world.rules.default_queue
    queues = {queue.metadata.name: queue for queue in world.objects("Queue", Queue)}
    queue = queues.get(name)
    if queue is None:
        new = Queue(metadata=ObjectMeta(name=name, uid=f"queue-{name}"))
        yield Candidate(Remedy("queue", f"create the queue {name}"), (Change("Queue", name, new),))
        return
    if shut := [each for each in _upwards(queues, queue) if each.status.state not in ("", "Open")]:
        yield _opened(shut)
    asked = still_asked(target)
    amounts = {"capability": {**asked, **devices_asked(world, target)}, "deserved": asked}
    for field in amounts:
        changes: list[Change] = []
        texts: list[str] = []
        for each in _upwards(queues, queue):
            raised = _raised(world, each, field, amounts[field])
            if raised is None:
                continue
            changes.append(Change("Queue", each.metadata.name, raised[0]))
            texts.append(f"{field} of queue {each.metadata.name} to {raised[1]}")
            yield Candidate(Remedy(field, f"raise {' and '.join(texts)}"), tuple(changes))


def larger_quotas(world: World, target: Target) -> Iterator[Candidate]:
    """Every quota of the namespace that is too small, raised at once."""
    changes: list[Change] = []
    texts: list[str] = []
    namespace = target.name.partition("/")[0]
    for quota in world.session.snapshot.quotas.get(namespace, ()):
        asked = asked_of_quota(target, quota.hard)
        needs = {name: quota.used.get(name, 0) + amount for name, amount in asked.items()}
        short = {name: value for name, value in needs.items() if value > quota.hard[name]}
        stored = world.simulation.cluster.get("ResourceQuota", f"{namespace}/{quota.name}", ResourceQuota)
        if short and stored is not None:
            more = {name: canonical(resource_of(name), value) for name, value in short.items()}
            spec = replace(stored.spec, hard={**stored.spec.hard, **more})
            status = replace(stored.status, hard={**(stored.status.hard or stored.spec.hard), **more})
            changes.append(
                Change("ResourceQuota", f"{namespace}/{quota.name}", replace(stored, spec=spec, status=status))
            )
            texts.append(f"{quota.name} to {', '.join(f'{value} {name}' for name, value in more.items())}")
    if changes:
        yield Candidate(Remedy("quota", f"raise the ResourceQuota {' and '.join(texts)}"), tuple(changes))


def _opened(shut: Sequence[Queue]) -> Candidate:
    """The topmost first: none opens below a closed one. Those that closed with the queue above them open with it."""
    *below, top = shut
    by_hand = [queue.metadata.name for queue in below if queue.metadata.annotations.get(CLOSED_BY_PARENT) != "true"]
    names = [top.metadata.name, *reversed(by_hand)]
    changes = [
        Change("Queue", queue.metadata.name, replace(queue, status=replace(queue.status, state="Open")))
        for queue in shut
    ]
    text = f"open the {plural('queue', len(names))} {', then '.join(names)}"
    return Candidate(Remedy("queue", text), tuple(changes))


def _upwards(queues: dict[str, Queue], queue: Queue | None) -> Iterator[Queue]:
    seen: set[str] = set()
    while queue is not None and queue.metadata.name not in seen:
        seen.add(queue.metadata.name)
        yield queue
        queue = queues.get(queue.spec.parent)


def _raised(world: World, queue: Queue, field: str, asked: dict[str, int]) -> tuple[Queue, str] | None:
    """The queue with as much of the field as is used and asked for, and that in words; None when it has enough."""
    report = world.report.queues.get(queue.metadata.name)
    old = queue.spec.capability if field == "capability" else queue.spec.deserved
    if report is None:
        return None
    known = report.capability if field == "capability" else report.deserved
    needs = {name: report.allocated.get(name, 0) + report.inqueue.get(name, 0) + value for name, value in asked.items()}
    short = {name: value for name, value in needs.items() if name in old and value > known.get(name, 0)}
    if not short:
        return None
    more = {**old, **{name: canonical(name, value) for name, value in short.items()}}
    spec = replace(queue.spec, capability=more) if field == "capability" else replace(queue.spec, deserved=more)
    return replace(queue, spec=spec), ", ".join(f"{number(name, value)} {name}" for name, value in short.items())
