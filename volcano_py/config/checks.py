"""Parts of a configuration that are valid alone but not together.

Conflicts make a configuration invalid. Contradictions are accepted, as Volcano accepts them, but some of what was
written cannot have the effect that its author expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import msgspec

from volcano_py.config.arguments import Arguments
from volcano_py.config.catalogue import BUILTIN_NAMES, VOLCANO_PLUGINS, Catalogue
from volcano_py.config.fields.keys import keys_of
from volcano_py.config.flags import FLAG_OF_POINT, SIMULATION_POINTS, Flags
from volcano_py.config.model import PluginEntry, SchedulerConfiguration
from volcano_py.config.text.problems import NOWHERE, Code, Position, Problems, Where

# What an action asks plugins for; without any answer it does nothing.
_NEEDED_POINTS: Final = {
    "preempt": ("job_starving", "preemptable"),
    "reclaim": ("job_starving", "reclaimable"),
    "gangpreempt": ("job_starving", "preemptable"),
    "gangreclaim": ("job_starving", "reclaimable"),
    "shuffle": ("victim_tasks",),
}
_QUESTIONS: Final = {
    "job_starving": "reports which jobs are starving",
    "preemptable": "names pods that may be preempted",
    "reclaimable": "names pods that may be reclaimed",
    "victim_tasks": "names pods to move",
}
# What to recommend for a point that no plugin fills.
_USUAL_PLUGINS: Final = {
    "job_ready": ("gang",),
    "job_starving": ("gang", "priority"),
    "preemptable": ("priority", "drf"),
    "reclaimable": ("capacity", "proportion"),
    "victim_tasks": ("tdm", "rescheduling"),
    "predicate": ("predicates",),
}
_PLACING_ACTIONS: Final = frozenset({"allocate", "backfill", "preempt", "reclaim", "gangpreempt", "gangreclaim"})
_ENQUEUE_POINTS: Final = frozenset({"job_enqueueable", "job_enqueued"})
# Plugins that only ever vote with yes, and what has no effect where others have voted before.
_SAYS_YES: Final = ("sla", "reservation")
_VOTES: Final = {
    "job_enqueueable": "admits no job whose time has come",
    "job_pipelined": "keeps no places for a job whose time is up",
}
# These keep a plugin's books, and decide nothing.
_EVENTS: Final = frozenset({"on_allocate", "on_deallocate"})
_LOAD_AWARE: Final = ("usage", "rescheduling")
_HIERARCHICAL_PLUGINS: Final = frozenset({"drf", "capacity", "proportion", "nodegroup"})
# drf fills these with enableHierarchy only.
_DRF_HIERARCHY_POINTS: Final = frozenset({"queue_order", "reclaimable", "job_enqueueable"})


class Origins(msgspec.Struct):
    """Positions by path, so that a check of values can point into the text."""

    positions: dict[str, Position] = msgspec.field(default_factory=dict)

    def note(self, where: Where) -> None:
        self.positions.setdefault(where.path, where.position)

    def at(self, path: str) -> Where:
        return Where(path, self.positions.get(path, NOWHERE))


class _Subject(msgspec.Struct, frozen=True):
    config: SchedulerConfiguration
    catalogue: Catalogue
    origins: Origins
    problems: Problems

    def entries(self, name: str) -> tuple[PluginEntry, ...]:
        return tuple(entry for entry in self.config.plugins() if entry.name == name)

    def hierarchical(self, name: str) -> PluginEntry | None:
        return next((entry for entry in self.entries(name) if entry.flags.hierarchy), None)

    def fills(self, entry: PluginEntry, point: str) -> bool:
        """Whether the plugin at this place takes part in the point, its switches considered."""
        if entry.name == "drf" and point in _DRF_HIERARCHY_POINTS and not entry.flags.hierarchy:
            return False
        if isinstance(entry.arguments, Arguments) and point in entry.arguments.unused_points():
            return False
        return self.catalogue.may_provide(entry.name, point) and entry.flags.allow(point)

    def is_filled(self, point: str) -> bool:
        return any(self.fills(entry, point) for entry in self.config.plugins())

    def queue_owners(self) -> Iterator[PluginEntry]:
        """Plugins that divide the cluster among queues."""
        for entry in self.config.plugins():
            if entry.name in ("proportion", "capacity") or (entry.name == "drf" and entry.flags.hierarchy):
                yield entry

    def action_place(self, name: str) -> Where:
        return self.origins.at(f"actions[{self.config.actions.index(name)}]")

    def flag_place(self, entry: PluginEntry, flag: str) -> Where:
        """The line of a switch, or of the entry when the switch is not written."""
        place = self.origins.at(f"{entry.path}.{flag_key(flag)}")
        return place if place.position != NOWHERE else self.origins.at(entry.path)

    def remedy(self, point: str) -> str:
        """Which plugins of the catalogue could fill the point, and the switch that enables each."""
        able = [name for name in _USUAL_PLUGINS.get(point, ()) if name in self.catalogue.plugins]
        able = able or sorted(name for name, points in self.catalogue.provides.items() if point in points)
        switch = FLAG_OF_POINT.get(point)
        names = " or ".join(able[:3]) if able else "a plugin that does"
        return f"configure {names}" + (f" with {flag_key(switch)}" if switch else "")

    def contradiction(self, where: Where, message: str) -> None:
        self.problems.warning(Code.CONTRADICTION, where, message)


_Check: TypeAlias = Callable[[_Subject], None]


def check_conflicts(config: SchedulerConfiguration, catalogue: Catalogue, origins: Origins, problems: Problems) -> None:
    """Adds an error for every pair of entries that cannot work together."""
    _run(_CONFLICTS, _Subject(config, catalogue, origins, problems))


def check_contradictions(
    config: SchedulerConfiguration, catalogue: Catalogue, origins: Origins, problems: Problems
) -> None:
    """Adds a warning for every part that cannot have its effect."""
    _run(_CONTRADICTIONS, _Subject(config, catalogue, origins, problems))


def flag_key(flag: str) -> str:
    """The key in the file of a field of Flags."""
    return keys_of(flag, Flags.model_fields[flag])[0]


def _run(checks: tuple[_Check, ...], subject: _Subject) -> None:
    for check in checks:
        check(subject)


# Conflicts


def _hierarchical_drf_with_proportion(subject: _Subject) -> None:
    """Both set what a queue may hold; Volcano notices only inside one tier, which lets two tiers by."""
    drf = subject.hierarchical("drf")
    if drf is None:
        return
    for entry in subject.entries("proportion"):
        message = (
            f"proportion cannot work together with drf's enableHierarchy ({drf.path}), in any tier: both divide "
            "the cluster among queues; remove proportion, or enableHierarchy from drf"
        )
        subject.problems.error(Code.CONFLICT, subject.origins.at(entry.path), message)


def _two_owners_of_the_queue_tree(subject: _Subject) -> None:
    """Of drf and proportion see above."""
    capacity = subject.hierarchical("capacity")
    ways = {
        "drf": "capacity (parents by spec.parent) or for drf (parents by annotation)",
        "proportion": "capacity (queues get what spec.deserved says) or for proportion (by spec.weight)",
    }
    for name, which in ways.items():
        rival = subject.hierarchical(name)
        if capacity is None or rival is None:
            continue
        later = max(rival, capacity, key=lambda entry: (entry.tier, entry.index))
        other = rival if later is capacity else capacity
        message = (
            f"enableHierarchy is set for {name} and for capacity ({other.path}), but the tree of queues can have one "
            f"owner only; keep it for {which}"
        )
        subject.problems.error(Code.CONFLICT, subject.flag_place(later, "hierarchy"), message)


def _unsupported_switches(subject: _Subject) -> None:
    for entry in subject.config.plugins():
        for flag, why in subject.catalogue.unsupported_flags.get(entry.name, {}).items():
            if getattr(entry.flags, flag) != Flags.model_fields[flag].default:
                message = f"{flag_key(flag)} of {entry.name} is not supported: {why}; remove it"
                subject.problems.error(Code.UNSUPPORTED, subject.flag_place(entry, flag), message)


# Contradictions


def _flat_owners_together(subject: _Subject) -> None:
    """Volcano runs such a configuration, so it stays allowed: both are asked, and either can say no."""
    first = {entry.name: entry for entry in reversed(tuple(subject.queue_owners()))}
    capacity = first.pop("capacity", None)
    if capacity is None:
        return
    for other in first.values():
        if other.flags.hierarchy and subject.hierarchical("capacity"):
            continue  # refused already
        message = (
            f"{other.name} ({other.path}) and capacity both divide the cluster among queues; where they differ, a "
            f"queue gets the smaller part; keep one"
        )
        subject.contradiction(subject.origins.at(capacity.path), message)


def _actions_that_cannot_start(subject: _Subject) -> None:
    for action in dict.fromkeys(subject.config.actions):
        for point in _NEEDED_POINTS.get(action, ()):
            if not subject.is_filled(point):
                message = f"{action} will never do anything: no plugin {_QUESTIONS[point]}; {subject.remedy(point)}"
                subject.contradiction(subject.action_place(action), f"{message}, or remove {action}")


def _nothing_is_placed(subject: _Subject) -> None:
    if subject.config.actions and "allocate" not in subject.config.actions:
        message = "without the action allocate, no pod that requests resources is placed; add it"
        subject.contradiction(subject.origins.at("actions"), message)


def _gangs_are_not_kept_together(subject: _Subject) -> None:
    if "allocate" in subject.config.actions and not subject.is_filled("job_ready"):
        message = (
            f"no plugin decides when a job is ready, so pods of a gang are bound one by one; "
            f"{subject.remedy('job_ready')}"
        )
        subject.contradiction(subject.origins.at("actions"), message)


def _nodes_are_not_filtered(subject: _Subject) -> None:
    """Other plugins of Volcano have predicates for matters of their own, which are no substitute."""
    filters = (entry for entry in subject.config.plugins() if subject.fills(entry, "predicate"))
    is_filtered = any(entry.name == "predicates" or entry.name not in BUILTIN_NAMES for entry in filters)
    if is_filtered or _PLACING_ACTIONS.isdisjoint(subject.config.actions):
        return
    message = (
        "no plugin filters nodes, so taints, selectors and affinities of pods are ignored; "
        f"{subject.remedy('predicate')}"
    )
    subject.contradiction(subject.origins.at("actions"), message)


def _limits_of_the_network_do_not_hold(subject: _Subject) -> None:
    """Jobs with a hard limit wait where no plugin is there for it; with the switch off they are placed without it."""
    entries = subject.entries("network-topology-aware")
    if entries and not subject.is_filled("hyper_node_gradient"):
        message = (
            "hard limits of networkTopology do not hold: only scores keep a job together; remove "
            f"{flag_key('hyper_node_gradient')}"
        )
        subject.contradiction(subject.flag_place(entries[0], "hyper_node_gradient"), message)


def _enqueue_is_missing(subject: _Subject) -> None:
    if "enqueue" in subject.config.actions:
        return
    for entry in subject.config.plugins():
        points = subject.catalogue.provides.get(entry.name)
        if points and points - _EVENTS <= _ENQUEUE_POINTS:
            message = f"{entry.name} has no effect: only the action enqueue asks it, and that is not configured"
            subject.contradiction(subject.origins.at(entry.path), message)


def _the_same_twice(subject: _Subject) -> None:
    """Volcano discourages the two kinds of actions together, and so do we."""
    for one in ("preempt", "reclaim"):
        if {one, f"gang{one}"} <= set(subject.config.actions):
            message = (
                f"{one} and gang{one} do the same for gangs, so the second of them finds what the first has left; "
                "remove one of them"
            )
            subject.contradiction(subject.origins.at("actions"), message)


def _votes_come_too_late(subject: _Subject) -> None:
    """A yes ends the walk through the tiers, but a no that was met before, or in the same tier, stays."""
    for name in _SAYS_YES:
        first = next(iter(subject.entries(name)), None)
        for point, effect in _VOTES.items():
            is_asked = point != "job_enqueueable" or "enqueue" in subject.config.actions
            if first is None or not is_asked or not subject.fills(first, point):
                continue
            if before := [*dict.fromkeys(entry.name for entry in _voters_before(subject, first, point))]:
                voters = f"{', '.join(before[:-1])} and {before[-1]} vote" if before[1:] else f"{before[0]} votes"
                message = (
                    f"{name} {effect}: {voters} in the same tier or an earlier one, where a no is final; put {name} "
                    f"into a tier before {before[0]}"
                )
                subject.contradiction(subject.origins.at(first.path), message)


def _voters_before(subject: _Subject, entry: PluginEntry, point: str) -> list[PluginEntry]:
    """Plugins that may say no before the entry's yes counts."""
    return [
        other
        for other in subject.config.plugins()
        if other.name not in _SAYS_YES and other.tier <= entry.tier and subject.fills(other, point)
    ]


def _reclaim_without_deserved_shares(subject: _Subject) -> None:
    action = next((action for action in subject.config.actions if action in ("reclaim", "gangreclaim")), None)
    if action is None:
        return
    owners = tuple(subject.queue_owners())
    if any(subject.fills(entry, "reclaimable") for entry in owners):
        return
    for entry in owners:
        message = f"{action} will take from queues below their share: {entry.name} does not guard it with "
        place = subject.flag_place(entry, "reclaimable")
        subject.contradiction(place, message + f"{flag_key('reclaimable')}: false; remove that line")
    is_ours = all(entry.name in BUILTIN_NAMES for entry in subject.config.plugins())
    if not owners and is_ours and subject.is_filled("reclaimable"):
        message = (
            f"{action} has no plugin that knows what a queue deserves, so queues take from each other at will; "
            f"configure capacity or proportion, or remove {action}"
        )
        subject.contradiction(subject.action_place(action), message)


def _hierarchy_without_queue_order(subject: _Subject) -> None:
    for name in ("drf", "capacity", "proportion"):
        for entry in subject.entries(name):
            if entry.flags.hierarchy and not entry.flags.queue_order:
                message = f"{flag_key('hierarchy')} of {name} does not affect which queue is next while "
                place = subject.flag_place(entry, "queue_order")
                subject.contradiction(place, message + f"{flag_key('queue_order')} is false; remove one of the two")


def _nothing_is_shuffled(subject: _Subject) -> None:
    """Pods that a plugin wants to move stay where they are when no action asks for them."""
    if "shuffle" in subject.config.actions or "shuffle" not in subject.catalogue.actions:
        return
    for entry in subject.config.plugins():
        points = subject.catalogue.provides.get(entry.name, frozenset())
        if "victim_tasks" in points and subject.fills(entry, "victim_tasks"):
            message = f"{entry.name} moves no pod: only the action shuffle asks it which pods to evict; add that action"
            subject.contradiction(subject.origins.at(entry.path), message)


def _load_is_not_read(subject: _Subject) -> None:
    if subject.config.metrics.get("type"):
        return  # what is wrong with it is reported there
    for name in _LOAD_AWARE:
        for entry in subject.entries(name):
            message = (
                f"{name} knows no load, because `metrics` names no source; add `metrics:` with `type: prometheus` or "
                "`type: metrics-server`"
            )
            subject.contradiction(subject.origins.at(entry.path), message)


def _moved_pods_may_come_back(subject: _Subject) -> None:
    """Without a plugin that looks at load, the node that a pod was evicted from is as good as any other."""
    if subject.entries("usage") or "usage" not in subject.catalogue.plugins:
        return
    for entry in subject.entries("rescheduling"):
        message = (
            "pods that rescheduling evicts may come back to the same node, because no plugin prefers nodes with a "
            "lower load; add the plugin usage"
        )
        subject.contradiction(subject.origins.at(entry.path), message)


def _switches_without_effect(subject: _Subject) -> None:
    for entry in subject.config.plugins():
        points = subject.catalogue.provides.get(entry.name)
        if points is None:
            continue
        for flag in sorted(entry.flags.model_fields_set):
            gated = _points_of(flag)
            is_default = getattr(entry.flags, flag) == Flags.model_fields[flag].default
            is_idle_hierarchy = (
                flag == "hierarchy" and entry.name in VOLCANO_PLUGINS and entry.name not in _HIERARCHICAL_PLUGINS
            )
            if not is_default and (is_idle_hierarchy or (gated and gated.isdisjoint(points))):
                message = f"has no effect on {entry.name}, which does not take part in what it switches; remove it"
                subject.contradiction(subject.flag_place(entry, flag), message)


def _points_of(flag: str) -> frozenset[str]:
    points = frozenset(point for point, gate in FLAG_OF_POINT.items() if gate == flag)
    return points | SIMULATION_POINTS if flag in ("preemptable", "allocatable") else points


_CONFLICTS: Final[tuple[_Check, ...]] = (
    _hierarchical_drf_with_proportion,
    _two_owners_of_the_queue_tree,
    _unsupported_switches,
)
_CONTRADICTIONS: Final[tuple[_Check, ...]] = (
    _flat_owners_together,
    _actions_that_cannot_start,
    _nothing_is_placed,
    _gangs_are_not_kept_together,
    _nodes_are_not_filtered,
    _limits_of_the_network_do_not_hold,
    _enqueue_is_missing,
    _the_same_twice,
    _votes_come_too_late,
    _reclaim_without_deserved_shares,
    _hierarchy_without_queue_order,
    _nothing_is_shuffled,
    _load_is_not_read,
    _moved_pods_may_come_back,
    _switches_without_effect,
)
