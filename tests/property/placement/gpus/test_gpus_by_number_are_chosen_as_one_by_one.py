"""GPUs that have numbers against an oracle that looks at one GPU of one node at a time, and whole runs against sums."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.cards import INDEX, gpu_pod, numbered
from tests.support.placement.node_answers import willing
from tests.support.registries import checked_registry
from tests.support.sessions import open_session, pod_group
from volcano_py.api.objects import Pod
from volcano_py.config import parse_configuration
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.simulation import Simulation

WAYS: Final = {"gpu-memory": "deviceshare.GPUSharingEnable", "gpu-number": "deviceshare.GPUNumberEnable"}
SIZE: Final = 16
CONFIGURATION = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments: {{{}: true}}
"""

amounts = {"gpu-memory": st.sampled_from([1, 5, 8, 11, 16]), "gpu-number": st.integers(1, 3)}


def pod_of(name: str, way: str, amount: int, *, group: str = "g", index: str = "", **fields: Any) -> Pod:
    marks = {INDEX: index} if index else {}
    return gpu_pod(name, {f"volcano.sh/{way}": str(amount)}, annotations=marks, group=group, **fields)


def oracle(left: dict[int, int], way: str, amount: int) -> list[int] | None:
    """The numbers of the GPUs, of those with `left` MB each; takes them."""
    if way == "gpu-memory":
        chosen = [index for index in sorted(left) if left[index] >= amount][:1]
        takes, number = amount, 1
    else:
        chosen = [index for index in sorted(left) if left[index] == SIZE][:amount]
        takes, number = SIZE, amount
    if len(chosen) < number:
        return None
    for index in chosen:
        left[index] -= takes
    return chosen


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_fit_and_choice_are_those_of_one_gpu_at_a_time(way: str, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 4))
    unhealthy = data.draw(st.sets(st.integers(0, 4), max_size=2))
    text = data.draw(st.sampled_from(["", "0", "1", "0,1", "9,1", "x"]))
    amount, held = data.draw(amounts[way]), data.draw(amounts[way])
    bad = ",".join(map(str, sorted(unhealthy)))
    pods = [pod_of(f"p{each}", way, amount) for each in range(5)]
    opened = open_session(
        pod_group("g"),
        [numbered("n1", number, number * SIZE, unhealthy=bad), pod_of("old", way, held, index=text, on="n1"), *pods],
        tiers=[[(DeviceShare, {"arguments": {WAYS[way]: True}})]],
    )
    left = {index: SIZE for index in range(number) if index not in unhealthy}
    listed = [int(part) for part in text.split(",") if part.isdigit()]
    for index in listed[: 1 if way == "gpu-memory" else held]:
        if index in left:
            left[index] -= held if way == "gpu-memory" else SIZE
    for each in pods:
        name = each.metadata.name
        expected = oracle(left, way, amount)
        assert ("n1" in willing(opened, DeviceShare, name)) is (expected is not None)
        if expected is None:
            return
        opened.place("g", {name: "n1"})
        written = opened.ssn.findings.annotations[int(opened.rows(name)[0])][INDEX]
        assert written == ",".join(map(str, expected))


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_gpu_is_ever_oversubscribed(way: str, data: st.DataObject) -> None:
    """Gangs in a simulation, until nothing changes: the sums of what is written on bound pods."""
    registry = checked_registry()
    parsed = parse_configuration(CONFIGURATION.format(WAYS[way]), registry.catalogue())
    assert parsed.config is not None, parsed.problems
    nodes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    work = data.draw(st.lists(st.tuples(amounts[way], st.integers(1, 3)), max_size=4))
    objects: list[tuple[str, Any]] = [
        ("Node", numbered(f"n{row}", number, number * SIZE)) for row, number in enumerate(nodes)
    ]
    for job, (amount, pods) in enumerate(work):
        objects.append(("PodGroup", pod_group(f"j{job}", min_member=pods, phase="")))
        objects += [("Pod", pod_of(f"j{job}-{each}", way, amount, group=f"j{job}")) for each in range(pods)]
    simulation = Simulation(objects, parsed.config, registry)
    result = simulation.run()
    assert not any(report.plugin_errors for report in result.reports)
    used, bound = Counter[str](), Counter[str]()
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name:
            (asked,) = (int(str(each.resources.limits[f"volcano.sh/{way}"])) for each in pod.spec.containers)
            indexes = pod.metadata.annotations[INDEX].split(",")
            assert len(set(indexes)) == (1 if way == "gpu-memory" else asked)
            for index in indexes:
                assert int(index) < nodes[int(pod.spec.node_name[1:])]
                used[f"{pod.spec.node_name} {index}"] += asked if way == "gpu-memory" else SIZE
            bound[pod.metadata.name.split("-")[0]] += 1
    assert all(amount <= SIZE for amount in used.values())
    assert all(bound[f"j{job}"] in (0, pods) for job, (_, pods) in enumerate(work))
