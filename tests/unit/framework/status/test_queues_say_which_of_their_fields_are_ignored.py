"""A queue with fields that no configured plugin reads gets a condition and an event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.support import sessions
from tests.support.queues import queue_trees
from tests.support.sessions import Opened, PluginChoice, node, open_session
from volcano_py.api.effects import Event, QueueAllocated, QueueConditions
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import Condition, Queue
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.status.closing import Closing
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.infos import QueueInfo

IN_TREE = {"enableHierarchy": True}
FLAT = ("proportion", "capacity")
OWNERS: dict[str, list[PluginChoice]] = {
    "proportion": [Proportion],
    "proportion in a tree": [(Proportion, IN_TREE)],
    "capacity": [Capacity],
    "capacity in a tree": [(Capacity, IN_TREE)],
    "hdrf": [(Drf, IN_TREE)],
    "none": [Drf],
}
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def queue(**fields: Any) -> Queue:
    """A queue `team`, with annotations if `path` is given."""
    path = fields.pop("path", "")
    made = queue_trees.queue("team", fields.pop("parent", ""), **fields)
    if path:
        marks = {HIERARCHY: path, HIERARCHY_WEIGHTS: "/".join("1" * (path.count("/") + 1))}
        made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=marks))
    return made


def opened(team: Queue, owner: Sequence[PluginChoice]) -> Opened:
    return open_session(node("n1"), sessions.queue("dept"), team, tiers=[owner])


def reported(team: Queue, owner: str | Sequence[PluginChoice]) -> str:
    """The message of the condition; it is the event's as well."""
    session = opened(team, OWNERS[owner] if isinstance(owner, str) else owner)
    effects = Closing(session.ssn, "1").effects()
    events = [each for each in effects if isinstance(each, Event) and each.reason == "FieldsIgnored"]
    written = [each for each in effects if isinstance(each, QueueConditions)]
    if not written:
        assert not events
        return ""
    ((event,), (update,)) = events, written
    (condition,) = update.conditions
    assert (event.about, event.type) == (update.queue, "Warning")
    assert event.message == f"queue team: {condition.message}"
    assert (condition.type, condition.status) == ("FieldsIgnored", "True")
    assert condition.reason == "NotUsedByConfiguration"
    assert session.ssn.queues["team"].ref == update.queue
    return condition.message


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (
            "proportion",
            (
                "spec.parent (dept) has no effect on shares and limits: "
                "proportion treats all queues as siblings; set enableHierarchy: "
                "true for proportion"
            ),
        ),
        (
            "capacity",
            (
                "spec.parent (dept) has no effect on shares and limits: "
                "capacity treats all queues as siblings; set enableHierarchy: "
                "true for capacity"
            ),
        ),
        (
            "hdrf",
            (
                "spec.parent (dept) has no effect on shares and limits: "
                "drf with enableHierarchy reads the path in the annotation "
                "volcano.sh/hierarchy; write it there"
            ),
        ),
        (
            "none",
            (
                "spec.parent (dept) has no effect on shares and limits: "
                "no configured plugin divides the cluster among queues; configure "
                "proportion or capacity, with enableHierarchy: true"
            ),
        ),
        ("proportion in a tree", ""),
        ("capacity in a tree", ""),
    ],
)
def test_a_parent(owner: str, message: str) -> None:
    assert reported(queue(parent="dept"), owner) == message


@pytest.mark.parametrize("parent", ["", "root"])
@pytest.mark.parametrize("owner", OWNERS)
def test_to_be_below_root_is_nothing_that_could_be_ignored(owner: str, parent: str) -> None:
    assert reported(queue(parent=parent), owner) == ""


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (
            "proportion in a tree",
            (
                "spec.deserved (cpu 4) has no effect: proportion divides by spec.weight; configure capacity in its "
                "place, or remove the field"
            ),
        ),
        (
            "hdrf",
            (
                "spec.deserved (cpu 4) has no effect: drf divides by the weights in the annotation "
                "volcano.sh/hierarchy-weights; configure capacity in its place, or remove the field"
            ),
        ),
        ("capacity", ""),
        ("capacity in a tree", ""),
    ],
)
def test_what_is_deserved(owner: str, message: str) -> None:
    assert reported(queue(deserved=4), owner) == message


@pytest.mark.parametrize(("guarantee", "is_reported"), [(4, False), (5, False), (3, True)])
def test_what_is_deserved_and_guaranteed_as_well_is_had(guarantee: int, is_reported: bool) -> None:
    """Admission demands `deserved` beside a guarantee."""
    assert bool(reported(queue(deserved=4, guarantee=guarantee), "proportion")) is is_reported


@pytest.mark.parametrize(
    ("owner", "fix"),
    [
        ("proportion", "lower it to spec.guarantee"),
        ("hdrf", "remove it together with spec.guarantee"),
        ("none", "remove it together with spec.guarantee"),
    ],
)
def test_no_advice_would_leave_a_queue_that_deserves_less_than_it_is_guaranteed(owner: str, fix: str) -> None:
    """The CRD refuses that."""
    about_deserved = reported(queue(deserved=4, guarantee=3), owner).partition("; spec.guarantee")[0]
    assert about_deserved.startswith("spec.deserved (cpu 4) has no effect: ")
    assert about_deserved.endswith(f", or {fix}")


@pytest.mark.parametrize("owner", ["proportion", "proportion in a tree", "capacity", "capacity in a tree"])
def test_a_guarantee_is_kept_by_proportion_and_capacity(owner: str) -> None:
    assert reported(queue(guarantee=4), owner) == ""


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        ("capacity", ""),
        ("capacity in a tree", ""),
        ("proportion", "proportion limits no devices; configure capacity in its place, or remove the limit"),
        ("hdrf", "drf limits no devices; configure capacity in its place, or remove the limit"),
        ("none", "no configured plugin divides the cluster among queues; configure capacity, or remove the limit"),
    ],
)
def test_only_capacity_limits_devices_of_claims(owner: str, why: str) -> None:
    message = f"spec.capability.deviceclass/… (deviceclass/gpu 4) has no effect: {why}" if why else ""
    assert reported(queue(capability={"cpu": "1", "deviceclass/gpu": "4"}), owner) == message


def test_a_guarantee_is_not_kept_by_drf() -> None:
    assert reported(queue(guarantee=4), "hdrf") == (
        "spec.guarantee (cpu 4) has no effect: drf reserves nothing for idle queues; configure capacity in its place, "
        "or remove the field"
    )


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (
            "proportion",
            (
                "metadata.annotations.volcano.sh/hierarchy (root/eng/dev) has no effect: only drf with enableHierarchy "
                "reads it, and proportion divides the cluster; name the queue above in spec.parent, with "
                "enableHierarchy: true for proportion, or remove it"
            ),
        ),
        (
            "capacity in a tree",
            (
                "metadata.annotations.volcano.sh/hierarchy (root/eng/dev) has no effect: only drf with enableHierarchy "
                "reads it, and capacity divides the cluster; name the queue above in spec.parent, or remove it"
            ),
        ),
        (
            "none",
            (
                "metadata.annotations.volcano.sh/hierarchy (root/eng/dev) has no effect: only drf with enableHierarchy "
                "reads it; set enableHierarchy: true for drf, or remove it"
            ),
        ),
        ("hdrf", ""),
    ],
)
def test_a_path_in_the_annotations(owner: str, message: str) -> None:
    assert reported(queue(path="root/eng/dev"), owner) == message


def test_all_fields_are_named_in_one_message() -> None:
    message = reported(queue(parent="dept", deserved=4, path="root/a"), "proportion")
    assert [part.split(" ")[0] for part in message.split("; ") if " has no effect" in part] == [
        "spec.parent",
        "spec.deserved",
        "metadata.annotations.volcano.sh/hierarchy",
    ]


class Foreign(Plugin):
    """Another package's plugin that divides the cluster in its own way."""

    name = "foreign"

    def overused(self, queue: QueueInfo) -> bool:
        return False


def test_a_plugin_that_does_not_say_what_it_reads_may_read_everything() -> None:
    assert reported(queue(parent="dept", deserved=4), [Foreign]) == ""


def test_the_condition_is_written_once_and_goes_when_the_field_is_used() -> None:
    foreign = Condition(type="Other", status="True", last_transition_time=MOMENT)
    team = queue(parent="dept")
    first = written(team, [Proportion])
    assert first is not None
    (made,) = first
    assert written(with_conditions(team, foreign, made), [Proportion]) is None
    gone = written(with_conditions(team, foreign, made), [(Proportion, IN_TREE)])
    assert gone is not None
    kept, changed = gone
    assert kept == foreign
    assert (changed.type, changed.status, changed.message) == ("FieldsIgnored", "False", "")
    assert changed.reason == "UsedByConfiguration"
    assert written(with_conditions(team, foreign, changed), [(Proportion, IN_TREE)]) is None


def test_another_message_of_the_same_condition_keeps_its_time() -> None:
    before = Condition(
        type="FieldsIgnored",
        status="True",
        reason="NotUsedByConfiguration",
        message="as it was",
        last_transition_time=MOMENT,
    )
    found = written(with_conditions(queue(parent="dept"), before), [Proportion])
    assert found is not None
    assert found[0].last_transition_time == MOMENT
    assert found[0].message.startswith("spec.parent (dept) has no effect on shares and limits")


def test_the_event_is_recorded_once_even_where_the_server_drops_conditions() -> None:
    session = opened(queue(parent="dept"), [Proportion])
    first, second = (Closing(session.ssn, "1").effects() for _ in range(2))
    assert [type(each) for each in first if not isinstance(each, QueueAllocated)] == [Event, QueueConditions]
    assert [type(each) for each in second if not isinstance(each, QueueAllocated)] == [QueueConditions]


def with_conditions(team: Queue, *conditions: Condition) -> Queue:
    return msgspec.structs.replace(team, status=msgspec.structs.replace(team.status, conditions=[*conditions]))


def written(team: Queue, owner: Sequence[PluginChoice]) -> tuple[Condition, ...] | None:
    """The conditions that are written; None when none are."""
    effects = Closing(opened(team, owner).ssn, "1").effects()
    found = [each.conditions for each in effects if isinstance(each, QueueConditions)]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("owner", ["proportion", "capacity", "hdrf", "none"])
def test_amounts_of_resources_that_do_not_exist_are_reported_whatever_is_configured(owner: str) -> None:
    message = 'spec.capability.cpus (4) has no effect: no resource has this name (did you mean "cpu"?)'
    assert reported(queue(capability={"cpus": 4, "memory": "1Gi", "example.com/chip": 2}), owner) == message
