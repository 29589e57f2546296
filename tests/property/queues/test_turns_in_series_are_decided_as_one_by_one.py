"""Whatever the cluster: single pods that take their turns in series get the same places, in the same order and with the
same statuses and reports, as if each turn were recorded before the next one."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.clusters import a_group, a_node, a_pod
from tests.property.queues.turns import DIVIDED_BY, LEAVES, Case, configured, decided, queues
from volcano_py.api.objects import (
    ContainerPort,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodGroup,
    TopologySpreadConstraint,
)
from volcano_py.cluster.manifests import EPOCH

HOST: Final = "host"
SPREADS: Final = ("DoNotSchedule", "ScheduleAnyway")
NAMESPACES: Final = ("team", "lab")


def changed(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))


@st.composite
def jobs(draw: st.DrawFn, name: str, common: str | None) -> list[PodGroup | Pod]:
    """Mostly of a single pod; some are gangs. They ask for something `common`, and their pods are then of one class; or
    for anything (None)."""
    alike = common is not None
    namespace = NAMESPACES[0] if alike else draw(st.sampled_from(NAMESPACES))
    pods = draw(st.sampled_from([1, 1, 1, 1, 1, 1, 1, 2, 3]))
    minimum = draw(st.sampled_from([0, 1, 1, pods]))
    cpu = 1 if alike else draw(st.sampled_from([1, 1, 1, 1, 2, 0, 9]))
    zone = "" if alike else draw(st.sampled_from(["", "", "", "a"]))
    age, priority = draw(st.integers(0, 2)), draw(st.sampled_from([0, 0, 0, 1]))
    special = draw(st.sampled_from(["", "", "", "", "", "port", *SPREADS])) if common is None else common
    made: list[PodGroup | Pod] = [a_group(name, minimum, draw(st.sampled_from(LEAVES)), age=age)]
    for index in range(pods):
        pod = a_pod(f"{name}-{index}", name, cpu, age=age, zone=zone, priority=priority)
        if special == "port":
            (container,) = pod.spec.containers
            with_port = msgspec.structs.replace(container, ports=[ContainerPort(container_port=80, host_port=80)])
            pod = changed(pod, containers=[with_port])
        elif special in SPREADS:
            constraint = TopologySpreadConstraint(
                max_skew=1,
                topology_key=HOST,
                when_unsatisfiable=special,
                label_selector=LabelSelector(match_labels={"app": "web"}),
            )
            pod = changed(pod, topology_spread_constraints=[constraint])
            pod = msgspec.structs.replace(pod, metadata=with_fields(pod.metadata, labels={"app": "web"}))
        made.append(pod)
    return [msgspec.structs.replace(each, metadata=with_fields(each.metadata, namespace=namespace)) for each in made]


def with_fields(metadata: ObjectMeta, **fields: Any) -> ObjectMeta:
    return msgspec.structs.replace(metadata, **fields)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    objects: list[Any] = []
    for index in range(draw(st.integers(1, 5))):
        name, size = f"n{index}", draw(st.integers(1, 12))
        node = a_node(name, size, draw(st.sampled_from([2, 20, 20])), zone=draw(st.sampled_from("ab")))
        labels = {**node.metadata.labels, HOST: name}
        objects.append(msgspec.structs.replace(node, metadata=with_fields(node.metadata, labels=labels)))
        if draw(st.booleans()):
            leaving = a_pod(f"r{index}", "", 1, on=name)
            fields = {"deletion_timestamp": EPOCH} if draw(st.booleans()) else {}
            objects.append(msgspec.structs.replace(leaving, metadata=with_fields(leaving.metadata, **fields)))
    objects.extend(draw(queues()))
    common = draw(st.sampled_from([None, None, "", "", *SPREADS]))
    made = [draw(jobs(f"j{index:02d}", common)) for index in range(draw(st.integers(1, 24)))]
    first = draw(st.integers(0, len(made)))
    flat = [[each for job in some for each in job] for some in (made[first:], made[:first])]
    return Case(objects + flat[0], flat[1])


@pytest.mark.parametrize("actions", ["enqueue, allocate, backfill", "enqueue, allocate, preempt, reclaim"])
@pytest.mark.parametrize("plugins", DIVIDED_BY.values(), ids=DIVIDED_BY.keys())
@given(case=cases())
def test_it(plugins: str, actions: str, case: Case) -> None:
    in_series = decided(case, configured(actions, plugins))
    assert in_series == decided(case, configured(actions, f"{plugins}, {{name: one-by-one}}"))
