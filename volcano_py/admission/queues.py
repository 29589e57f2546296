"""Queues: defaults, and the rules for a new queue, an update and a deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from volcano_py.admission.amounts import Amounts, read, shown
from volcano_py.admission.queue_tree import tree_violations
from volcano_py.admission.queue_world import ENTITLEMENTS, QueueFacts, QueueWorld
from volcano_py.admission.violation import NOT_SET, Violation, Violations, new_violations
from volcano_py.api.names import DEFAULT_QUEUE, HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from volcano_py.api.objects import Queue, ResourceList
from volcano_py.api.wording.summarize import counted
from volcano_py.state.queues.hierarchy import ROOT, check_hierarchy, find_conflict, path_text

MAX_DEPTH: Final = 5
"""As Volcano's `--max-queue-depth`; a queue directly below root has depth 1."""
_LARGEST_WEIGHT: Final = 65535  # of the Queue API


class QueueRules(msgspec.Struct, frozen=True):
    """What an administrator may choose: the deepest level, and the queue of work that names none."""

    max_depth: int = MAX_DEPTH
    default_queue: str = DEFAULT_QUEUE


def defaults(queue: Queue) -> dict[str, Any]:
    """What is filled in on CREATE, as a merge patch; {} when nothing is missing."""
    patch: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    if queue.spec.weight == 0:
        spec["weight"] = 1
    if queue.spec.reclaimable is None:
        spec["reclaimable"] = True
    if spec:
        patch["spec"] = spec
    path, weights = (queue.metadata.annotations.get(key, "") for key in (HIERARCHY, HIERARCHY_WEIGHTS))
    if path and weights and path.split("/")[0] != ROOT:
        patch["metadata"] = {"annotations": {HIERARCHY: f"{ROOT}/{path}", HIERARCHY_WEIGHTS: f"1/{weights}"}}
    return patch


def validate_create(queue: Queue, world: QueueWorld, rules: QueueRules) -> Violations:
    """What is wrong with a new queue, given those in `world`."""
    return (*_breaks_alone(queue), *_breaks_beside_others(queue, world, rules))


def validate_update(before: Queue, after: Queue, world: QueueWorld, rules: QueueRules) -> Violations:
    """What the update breaks that was not broken before."""
    broken = new_violations(validate_create(after, world, rules), validate_create(before, world, rules))
    return (*broken, *_breaks_of_root(before, after))


def validate_delete(name: str, world: QueueWorld, rules: QueueRules) -> Violations:
    """What forbids deleting the queue."""
    if name == ROOT_QUEUE:
        return (_undeletable(name, "is the root queue and cannot be deleted", "delete the queues below it"),)
    if name == rules.default_queue:
        rule = "is the default queue and cannot be deleted"
        return (_undeletable(name, rule, "close it to keep new work out"),)
    found = []
    if children := world.children(name):
        names = ", ".join(child.name for child in children[:5]) + (", …" if len(children) > 5 else "")
        found.append(_undeletable(name, f"has queues below it ({names})", "delete or move those first"))
    if count := world.pod_groups.get(name, 0):
        fix = "close the queue, and delete it when no work is left"
        found.append(_undeletable(name, f"has {counted(count, 'unfinished PodGroup')}", fix))
    return tuple(found)


def needs_others(before: Queue, after: Queue) -> bool:
    """Whether an update changes anything that rules about other queues look at."""
    return before.spec != after.spec or before.metadata.annotations != after.metadata.annotations


def _breaks_alone(queue: Queue) -> Iterator[Violation]:
    """Rules that need the object only."""
    spec = queue.spec
    if not 1 <= spec.weight <= _LARGEST_WEIGHT:
        rule = f"is not between 1 and {_LARGEST_WEIGHT}"
        yield Violation(field="spec.weight", value=str(spec.weight), rule=rule, fix="choose a number in between")
    capability, broken = read(spec.capability, "spec.capability")
    yield from broken
    deserved, broken = read(spec.deserved, "spec.deserved")
    yield from broken
    guarantee, broken = read(spec.guarantee.resource, "spec.guarantee.resource")
    yield from broken
    for name in sorted(guarantee):
        if name not in spec.deserved:
            yield from _unbacked_guarantee(name, guarantee, spec.guarantee.resource)
        elif name in deserved and guarantee[name] > deserved[name]:
            yield Violation(
                field=f"spec.guarantee.resource[{name}]",
                value=str(spec.guarantee.resource[name]),
                rule=f"is more than spec.deserved[{name}], {spec.deserved[name]}",
                fix="lower the guarantee, or raise what is deserved",
                excess=guarantee[name] - deserved[name],
            )
    for name in sorted(deserved.keys() & capability.keys()):
        if deserved[name] > capability[name]:
            yield Violation(
                field=f"spec.deserved[{name}]",
                value=str(spec.deserved[name]),
                rule=f"is more than spec.capability[{name}], {spec.capability[name]}",
                fix="lower what is deserved, or raise the capability",
                excess=deserved[name] - capability[name],
            )
    for flaw in check_hierarchy(queue.metadata.annotations)[1]:
        fix = (
            "give every element of the path its weight, as in root/eng/prod and 1/2/8"
            if flaw.loses_place
            else "write a number above 0, such as 2 or 0.5"
        )
        yield Violation(field=f"metadata.annotations.{flaw.annotation}", value=flaw.found, rule=flaw.rule, fix=fix)


def _unbacked_guarantee(name: str, guarantee: Amounts, given: ResourceList) -> Iterator[Violation]:
    if guarantee[name]:
        yield Violation(
            field=f"spec.guarantee.resource[{name}]",
            value=str(given[name]),
            rule=f"is guaranteed, but spec.deserved has no {name}",
            fix="set a deserved amount at least as large",
            excess=guarantee[name],
        )


def _breaks_beside_others(queue: Queue, world: QueueWorld, rules: QueueRules) -> Iterator[Violation]:
    facts = QueueFacts.of(queue)
    world = world.replaced(facts)
    if facts.parent:
        yield from tree_violations(facts, world, rules.max_depth)
    if facts.path:
        yield from _conflict(facts, world)


def _conflict(queue: QueueFacts, world: QueueWorld) -> Iterator[Violation]:
    """Paths of annotations: a queue's own node must not be on the way to another queue, in either direction."""
    others = [world.queues[name] for name in sorted(world.queues) if name != queue.name and world.queues[name].path]
    owners = {other.path: other.name for other in reversed(others)}
    passers = {other.path[:depth]: other.name for other in reversed(others) for depth in range(1, len(other.path))}
    conflict = find_conflict(queue.path, owners, passers)
    if conflict is None:
        return
    rule = (
        f"is on the path of queue {conflict.other}"
        if conflict.is_passed_by_other
        else f"leads through {path_text(conflict.node)}, which is the path of queue {conflict.other}"
    )
    yield Violation(
        field=f"metadata.annotations.{HIERARCHY}",
        value=path_text(queue.path),
        rule=rule,
        fix="only leaf queues can have jobs: give one of them another path",
    )


def _breaks_of_root(before: Queue, after: Queue) -> Iterator[Violation]:
    """Root is the cluster; its amounts follow from the nodes."""
    if after.metadata.name != ROOT_QUEUE:
        return
    for field in ("capability", *ENTITLEMENTS):
        old, new = _amounts(before, field), _amounts(after, field)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                path = "spec.guarantee.resource" if field == "guarantee" else f"spec.{field}"
                was = shown(name, old[name]) if name in old else NOT_SET
                yield Violation(
                    field=f"{path}[{name}]",
                    value=shown(name, new[name]) if name in new else NOT_SET,
                    rule=f"differs from {was}, and root's amounts cannot change",
                    fix="limit the queues below root instead",
                )


def _amounts(queue: Queue, field: str) -> Amounts:
    given = queue.spec.guarantee.resource if field == "guarantee" else getattr(queue.spec, field)
    return read(given, "")[0]


def _undeletable(name: str, rule: str, fix: str) -> Violation:
    return Violation(field="metadata.name", value=name, rule=rule, fix=fix)
