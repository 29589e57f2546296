"""An annotation or label that cannot be read is ignored, and its object gets one event, not one in each cycle."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import pytest

from tests.support.cycles import Cycles
from tests.support.sessions import node, pod, pod_group, priority_class
from volcano_py.api.effects import Event
from volcano_py.api.objects import OwnerReference, Pod, PodGroup
from volcano_py.framework.status import ignored_values
from volcano_py.state.table.change import Change

O = TypeVar("O", Pod, PodGroup)  # noqa: E741
PRIORITY = "volcano.sh/task-priority"


def with_annotations(obj: O, **annotations: str) -> O:
    """With annotations of Volcano's: `task_priority` is `volcano.sh/task-priority`."""
    added = {f"volcano.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = msgspec.structs.replace(obj.metadata, annotations={**obj.metadata.annotations, **added})
    return msgspec.structs.replace(obj, metadata=metadata)


def odd_pod(name: str = "a", value: str = "1e999", **more: str) -> Pod:
    return with_annotations(pod(name, group="g", cpu="1"), task_priority=value, **more)


def events(cycles: Cycles, *, decide: bool = True) -> list[tuple[str, str]]:
    """Object and message of those of the next cycle."""
    cycles.effects.clear()
    cycles.run(decide=decide)
    found = [each for each in cycles.effects if isinstance(each, Event) and each.reason == "IgnoredAnnotation"]
    assert {each.type for each in found} <= {"Warning"}
    return [(f"{each.about.kind} {each.about.key}", each.message) for each in found]


def warning(value: str) -> str:
    return f"annotation {PRIORITY} is '{value}': write a whole number, such as 100; until then it counts as absent"


def test_the_pod_is_placed_all_the_same_and_gets_one_event() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    assert events(cycles) == [("Pod team/a", warning("1e999"))]
    assert cycles.binds == {"a": "n1"}
    assert events(cycles) == []


def test_min_resources_that_do_not_exist_are_reported_once_and_hold_nothing_up() -> None:
    cycles = Cycles(node("n1"), pod_group("g", min_resources={"cpus": "2"}), pod("a", group="g", cpu="1"))
    (event,) = events(cycles)
    assert event[0] == "PodGroup team/g"
    assert event[1].startswith("spec.minResources.cpus is '2': correct the name, which no resource has (did you mean")
    assert cycles.binds == {"a": "n1"}
    assert events(cycles) == []


def test_pods_and_pod_groups_get_events_each_of_their_own() -> None:
    group = with_annotations(pod_group("g"), jdb_min_available="half", running_estimate="long")
    cycles = Cycles(node("n1"), group, odd_pod("a", "x", preemptable="maybe"), odd_pod("b", "5"))
    assert [(about, text.partition(":")[0]) for about, text in events(cycles)] == [
        ("PodGroup team/g", "annotation volcano.sh/running-estimate is 'long'"),
        ("PodGroup team/g", "annotation volcano.sh/jdb-min-available is 'half'"),
        ("Pod team/a", "annotation volcano.sh/preemptable is 'maybe'"),
        ("Pod team/a", "annotation volcano.sh/task-priority is 'x'"),
    ]
    assert events(cycles) == []


def with_fields(group: PodGroup, **fields: object) -> PodGroup:
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, **fields))


def test_minimums_of_roles_above_the_minimum_of_all_are_ignored_which_the_author_learns() -> None:
    group = with_fields(pod_group("g", min_member=1), min_task_member={"ps": 1, "worker": 2, "spare": -1})
    cycles = Cycles(node("n1"), group)
    text = (
        "spec.minMember is 1: write 3 or more, the sum of spec.minTaskMember, or remove that field; until then the "
        "minimums of roles are ignored"
    )
    assert events(cycles) == [("PodGroup team/g", text)]
    assert events(cycles) == []
    cycles.state.upsert("PodGroup", with_fields(group, min_member=3))
    assert events(cycles) == []


def test_a_volcano_job_may_start_with_fewer_pods_than_its_tasks_have() -> None:
    owner = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="j", uid="1", controller=True)
    group = with_fields(pod_group("g", min_member=1), min_task_member={"worker": 3})
    metadata = msgspec.structs.replace(group.metadata, owner_references=[owner])
    assert events(Cycles(node("n1"), msgspec.structs.replace(group, metadata=metadata))) == []


def test_a_priority_class_that_does_not_exist_is_reported_until_it_does() -> None:
    cycles = Cycles(node("n1"), with_fields(pod_group("g"), priority_class_name="nosuch"), pod_group("other"))
    text = (
        "spec.priorityClassName is 'nosuch': create this PriorityClass, or name one that exists; until then it counts "
        "as absent"
    )
    assert events(cycles) == [("PodGroup team/g", text)]
    cycles.state.upsert("PriorityClass", priority_class("nosuch", 7))
    assert events(cycles) == []
    cycles.state.delete("PriorityClass", priority_class("nosuch", 7))
    assert events(cycles) == [("PodGroup team/g", text)]


def test_another_value_is_reported_again_and_a_readable_one_is_not() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    events(cycles)
    for value, reported in (("1e998", [("Pod team/a", warning("1e998"))]), ("7", []), ("7", [])):
        cycles.state.upsert("Pod", odd_pod(value=value))
        assert events(cycles) == reported


def test_a_change_of_anything_else_says_nothing_again() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    events(cycles)
    cycles.state.upsert("Pod", with_annotations(odd_pod(), note="new"))
    cycles.state.upsert("Pod", odd_pod("b", "later"))
    assert events(cycles) == [("Pod team/b", warning("later"))]


def test_a_pod_that_runs_gets_an_event_for_an_edit_without_waiting_for_other_changes() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), pod("a", group="g", cpu="1", on="n1"))
    woken: list[Change] = []
    cycles.state.on_change = woken.append
    cycles.state.upsert("Pod", with_annotations(pod("a", group="g", cpu="1", on="n1"), numa_topology_policy="strict"))
    assert woken, "a cycle follows"
    assert [about for about, _ in events(cycles, decide=False)] == ["Pod team/a"]


def test_a_pod_of_the_same_name_that_follows_gets_one_as_well() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    events(cycles)
    cycles.state.delete("Pod", odd_pod())
    again = odd_pod()
    cycles.state.upsert(
        "Pod", msgspec.structs.replace(again, metadata=msgspec.structs.replace(again.metadata, uid="2"))
    )
    assert [about for about, _ in events(cycles)] == ["Pod team/a"]


def test_what_is_gone_before_the_cycle_gets_no_event() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    cycles.state.delete("Pod", odd_pod())
    assert events(cycles) == []


def test_pods_get_events_when_their_pod_group_is_there() -> None:
    cycles = Cycles(node("n1"), odd_pod())
    assert events(cycles) == []
    cycles.state.upsert("PodGroup", pod_group("g"))
    assert events(cycles) == [("Pod team/a", warning("1e999"))]
    assert events(cycles) == []


def test_a_pod_group_gets_its_event_when_it_is_written() -> None:
    """Pods are placed before the PodGroup that is generated for them has a UID, which an event has to name."""
    written = with_annotations(pod_group("g"), running_estimate="long")
    assumed = msgspec.structs.replace(written, metadata=msgspec.structs.replace(written.metadata, uid=""))
    cycles = Cycles(node("n1"), assumed, odd_pod())
    assert events(cycles) == []
    assert cycles.binds == {"a": "n1"}
    cycles.state.upsert("PodGroup", written)
    assert [about for about, _ in events(cycles)] == ["PodGroup team/g", "Pod team/a"]


def test_a_pod_group_that_takes_the_place_of_another_gets_one_as_well() -> None:
    """Its deletion was not seen."""
    group = with_annotations(pod_group("g"), running_estimate="long")
    cycles = Cycles(node("n1"), group)
    assert [about for about, _ in events(cycles)] == ["PodGroup team/g"]
    again = msgspec.structs.replace(group, metadata=msgspec.structs.replace(group.metadata, uid="2"))
    cycles.state.upsert("PodGroup", again)
    assert [about for about, _ in events(cycles)] == ["PodGroup team/g"]
    assert events(cycles) == []


def test_of_many_that_are_put_off_a_cycle_looks_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignored_values, "_LOOKS", 2)
    cycles = Cycles(node("n1"), *(odd_pod(f"p{number}") for number in range(5)))
    for _ in range(3):
        assert events(cycles) == []
    cycles.state.upsert("PodGroup", pod_group("g"))
    cycles.state.upsert("Pod", odd_pod("p4", "else"))
    found = [events(cycles) for _ in range(4)]
    assert sorted(about for each in found for about, _ in each) == [f"Pod team/p{number}" for number in range(5)]
    assert max(map(len, found)) <= 3, "the new value, and two"


def test_pods_that_have_ended_get_no_event() -> None:
    ended = with_annotations(pod("a", group="g", on="n1", phase="Succeeded"), task_priority="1e999")
    assert events(Cycles(node("n1"), pod_group("g"), ended)) == []


@pytest.mark.parametrize("on", ["", "n1"])
def test_pods_of_other_schedulers_are_left_alone(on: str) -> None:
    theirs = with_annotations(pod("a", group="g", scheduler="other", on=on), task_priority="1e999")
    cycles = Cycles(node("n1"), with_annotations(pod_group("g"), running_estimate="long"), theirs)
    assert events(cycles) == [], "nor is the PodGroup, which is theirs"


def test_a_scheduler_that_starts_again_tells_it_once_more() -> None:
    cycles = Cycles(node("n1"), pod_group("g"), odd_pod())
    events(cycles)
    cycles.scheduler.forget()
    assert events(cycles) == [("Pod team/a", warning("1e999"))]
    assert events(cycles) == []
