"""Rules of the tree that queues form by `spec.parent`.

Amounts are compared resource by resource. A capability that is absent is that of the queue above; a `deserved` or
`guarantee` that is absent is nothing. Root stands for the cluster: nothing is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from volcano_py.admission.amounts import ZERO, shown
from volcano_py.admission.queue_world import ENTITLEMENTS, QueueFacts, QueueWorld
from volcano_py.admission.violation import Violation
from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.wording.summarize import counted
from volcano_py.state.queues.queue_tree import lay


def tree_violations(queue: QueueFacts, world: QueueWorld, max_depth: int) -> Iterator[Violation]:
    """What is wrong with the place of a queue; `world` has the queue as it would be."""
    misplaced = list(_place(queue, world))
    yield from misplaced
    if misplaced:
        return  # no place, no limits above it
    yield from _depth(queue, world, max_depth)
    yield from _work_above(queue, world)
    yield from _capability_above(queue, world)
    yield from _capability_below(queue, world)
    yield from _sums_above(queue, world)
    yield from _sums_below(queue, world)


def _place(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """The parent exists and does not lead back. The scheduler asks the same function."""
    parent = world.queues.get(queue.parent)
    if parent is None and queue.parent != ROOT_QUEUE:
        rule, fix = "does not exist", "create it first, or name another queue"
    elif parent is not None and parent.is_being_deleted:
        rule, fix = "is being deleted", "name another queue"
    else:
        way = {queue.name: queue.parent, **{each.name: each.parent for each in world.above(queue.name)}}
        fault = lay(way).faults.get(queue.name)
        if fault is None or fault.source != queue.name:
            return
        # A way up that ends at a missing queue further up is that queue's mistake.
        yield Violation(field="spec.parent", value=queue.parent, rule=_circle(queue, world), fix="name another queue")
        return
    yield Violation(field="spec.parent", value=queue.parent, rule=rule, fix=fix)


def _circle(queue: QueueFacts, world: QueueWorld) -> str:
    if queue.parent == queue.name:
        return "is the queue itself"
    names = [queue.name, *(each.name for each in world.above(queue.name)), queue.name]
    if len(names) > 5:
        names = [*names[:3], "…", queue.name]
    return f"forms a cycle ({' → '.join(names)})"


def _depth(queue: QueueFacts, world: QueueWorld, most: int) -> Iterator[Violation]:
    """Of the queue and of those below it, which move along."""
    own = 1 + sum(1 for _ in world.above(queue.name))
    deepest, further = queue, 0
    for below, levels in world.below(queue.name):
        if levels > further:
            deepest, further = below, levels
    if own + further > most:
        which = "the queue" if deepest is queue else f"queue {deepest.name} below it"
        yield Violation(
            field="spec.parent",
            value=queue.parent,
            rule=f"puts {which} on level {own + further}, the limit is {most}",
            fix="choose a parent further up",
            about="depth",
            excess=ZERO + own + further - most,
        )


def _work_above(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """A queue has either jobs or queues below it, not both."""
    count = world.pod_groups.get(queue.parent, 0)
    is_first = all(child.name == queue.name for child in world.children(queue.parent))
    if count and is_first and queue.parent != ROOT_QUEUE:
        yield Violation(
            field="spec.parent",
            value=queue.parent,
            rule=f"has {counted(count, 'unfinished PodGroup')}, and only leaf queues run work",
            fix="wait until it has finished, or name another queue",
            about=f"work in {queue.parent}",
            excess=ZERO,
        )


def _capability_above(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """No ceiling is higher than the nearest one above it; queues below one that has none move along with it."""
    above = list(world.above(queue.name))
    for name in sorted({name for each in above for name in each.capability}):
        holder = next(each for each in above if name in each.capability)
        limit = holder.capability[name]
        for setter, amount in world.highest_setters(queue.name, name):
            if amount <= limit:
                continue
            own = setter is queue
            over = f"of queue {holder.name} above it, {shown(name, limit)}"
            yield Violation(
                field=f"spec.capability[{name}]" if own else "spec.parent",
                value=shown(name, amount) if own else queue.parent,
                rule=f"is more than that {over}"
                if own
                else f"has no room for queue {setter.name} below: its capability[{name}], {shown(name, amount)}, is "
                f"more than that {over}",
                fix=f"lower it, or raise that of queue {holder.name}",
                about=f"{holder.name} {setter.name} {name}",
                excess=amount - limit,
            )


def _capability_below(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    for name, limit in sorted(queue.capability.items()):
        for child in world.children(queue.name):
            for setter, amount in world.highest_setters(child.name, name):
                if amount > limit:
                    yield Violation(
                        field=f"spec.capability[{name}]",
                        value=shown(name, limit),
                        rule=f"is less than that of queue {setter.name} below it, {shown(name, amount)}",
                        fix=f"raise it, or lower that of queue {setter.name} first",
                        about=setter.name,
                        excess=amount - limit,
                    )


def _sums_above(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """With its siblings, the queue has no more than the queue above."""
    parent = world.queues.get(queue.parent)
    if parent is None or parent.name == ROOT_QUEUE:
        return
    siblings = world.children(parent.name)
    for field in ENTITLEMENTS:
        for name, own in sorted(queue.entitlement(field).items()):
            together = sum((each.entitlement(field).get(name, ZERO) for each in siblings), ZERO)
            has = parent.entitlement(field).get(name, ZERO)
            if own and together > has:
                rule = (
                    f"adds up to {shown(name, together)} with the other queues below queue {parent.name}, which has "
                    if together > own
                    else f"is more than queue {parent.name} above it has, "
                )
                yield Violation(
                    field=f"{_path(field)}[{name}]",
                    value=shown(name, own),
                    rule=rule + shown(name, has),
                    fix=f"lower it, or raise {_path(field)} of queue {parent.name}",
                    about=parent.name,
                    excess=together - has,
                )


def _sums_below(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """The queues directly below have no more than the queue."""
    children = world.children(queue.name)
    for field in ENTITLEMENTS:
        given = {name for child in children for name in child.entitlement(field)}
        for name in sorted(given):
            together = sum((child.entitlement(field).get(name, ZERO) for child in children), ZERO)
            has = queue.entitlement(field).get(name, ZERO)
            if together > has:
                yield Violation(
                    field=f"{_path(field)}[{name}]",
                    value=shown(name, has),
                    rule=f"is less than the queues below it have together, {shown(name, together)}",
                    fix="raise it, or lower theirs first",
                    about="below",
                    excess=together - has,
                )


def _path(field: str) -> str:
    return "spec.guarantee.resource" if field == "guarantee" else f"spec.{field}"
