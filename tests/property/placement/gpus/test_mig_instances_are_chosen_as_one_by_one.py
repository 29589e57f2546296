"""Instances of GPUs against an oracle that looks at one card at a time, through placements, restarts and gangs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.cards import A100, IDS, asks, card, gpu_node, gpu_pod, mig_card
from tests.support.placement.node_answers import node_rows, willing
from tests.support.registries import checked_registry
from tests.support.sessions import open_session, pod_group
from volcano_py.api.annotations.vgpu import read_devices
from volcano_py.api.objects import Pod
from volcano_py.config import parse_configuration
from volcano_py.framework.views import NodeView
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.simulation import Simulation

TOTAL = 40960
INSTANCES = {
    group["group"]: [kind["memory"] for kind in group["geometries"] for _ in range(kind["count"])]
    for group in A100["allowedGeometries"]
}
ARGUMENTS: dict[str, Any] = {"deviceshare.VGPUEnable": True, "deviceshare.KnownMigGeometries": [A100]}
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.KnownMigGeometries:
      - models: [A100-SXM4-40GB]
        allowedGeometries:
        - group: group1
          geometries: [{name: 1g.5gb, memory: 5120, count: 7}]
        - group: group2
          geometries: [{name: 2g.10gb, memory: 10240, count: 3}, {name: 1g.5gb, memory: 5120, count: 1}]
        - group: group3
          geometries: [{name: 3g.20gb, memory: 20480, count: 2}]
"""

memories = st.sampled_from([1, 5120, 8000, 10240, 20480, 30000])


@dataclass
class OneCard:
    """What the oracle knows of a card; instances are (group, position)."""

    uuid: str
    is_mig: bool
    memory: int = 0
    used: set[tuple[str, int]] = field(default_factory=set)

    def take(self, asked: int) -> str | None:
        """The name of what the pod gets, as it is written, without what is behind it."""
        if TOTAL - self.memory < asked:
            return None
        if not self.is_mig:
            self.memory += asked
            return f"{self.uuid},NVIDIA,{asked}"
        groups = {group for group, _ in self.used} or INSTANCES.keys()
        for group, sizes in INSTANCES.items():
            free = [(size, place) for place, size in enumerate(sizes) if (group, place) not in self.used]
            fitting = sorted(each for each in free if each[0] >= asked)
            if group in groups and fitting:
                size, place = fitting[0]
                self.used.add((group, place))
                self.memory += size
                return f"{self.uuid}[{group}-{place}],NVIDIA,{size}"
        return None


@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(memories, min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_each_pod_gets_the_instance_that_one_card_at_a_time_would_give(modes: list[bool], asked: list[int]) -> None:
    """Without a policy the last card comes first."""
    cards = [OneCard(uuid, is_mig) for uuid, is_mig in zip("ABC", modes, strict=False)]
    records = [mig_card(each.uuid, users=99) if each.is_mig else card(each.uuid, users=99) for each in cards]
    pods = [gpu_pod(f"p{number}", asks(1, memory)) for number, memory in enumerate(asked)]
    opened = open_session(
        pod_group("g"), [gpu_node("n1", *records), *pods], tiers=[[(DeviceShare, {"arguments": ARGUMENTS})]]
    )
    for each, memory in zip(pods, asked, strict=True):
        name = each.metadata.name
        fits = willing(opened, DeviceShare, name) == ["n1"]
        gets = next((text for one in reversed(cards) if (text := one.take(memory)) is not None), None)
        assert fits is (gets is not None)
        if gets is not None:
            opened.place("g", {name: "n1"})
            assert opened.ssn.findings.annotations[int(opened.rows(name)[0])][IDS] == f"{gets},0:"


@given(st.integers(1, 2), memories, st.lists(memories, max_size=3))
@settings(max_examples=60, deadline=None)
def test_there_is_room_for_as_many_pods_as_can_be_placed(number: int, memory: int, there: list[int]) -> None:
    pods = [gpu_pod(f"p{each}", asks(1, memory)) for each in range(16)]
    first = [gpu_pod(f"f{each}", asks(1, amount)) for each, amount in enumerate(there)]
    opened = open_session(
        pod_group("g"),
        [gpu_node("n1", *(mig_card(uuid, users=99) for uuid in "AB"[:number])), *pods, *first],
        tiers=[[(DeviceShare, {"arguments": ARGUMENTS})]],
    )
    for each in first:
        if willing(opened, DeviceShare, each.metadata.name):
            opened.place("g", {each.metadata.name: "n1"})
    task_class = opened.ssn.task_class(int(opened.rows("p0")[0]))
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]))
    room = int(opened.plugin(DeviceShare).predicate_room(task_class, view)[0])
    placed = 0
    while willing(opened, DeviceShare, f"p{placed}"):
        opened.place("g", {f"p{placed}": "n1"})
        placed += 1
    assert room == placed


@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(st.tuples(memories, st.integers(1, 4)), max_size=4))
@settings(max_examples=40, deadline=None)
def test_no_instance_is_given_twice_and_no_card_has_two_groups(modes: list[bool], work: list[tuple[int, int]]) -> None:
    registry = checked_registry()
    parsed = parse_configuration(CONFIGURATION, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    objects: list[tuple[str, Any]] = [
        ("Node", gpu_node(f"n{row}", mig_card("A") if is_mig else card("A"), mig_card("B")))
        for row, is_mig in enumerate(modes)
    ]
    for job, (memory, pods) in enumerate(work):
        objects.append(("PodGroup", pod_group(f"j{job}", min_member=pods, phase="")))
        objects += [("Pod", gpu_pod(f"j{job}-{each}", asks(1, memory), group=f"j{job}")) for each in range(pods)]
    simulation = Simulation(objects, parsed.config, registry)
    assert not any(report.plugin_errors for report in simulation.run().reports)
    instances, groups, bound = Counter[str](), dict[str, set[str]](), Counter[str]()
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name:
            bound[pod.metadata.name.split("-")[0]] += 1
            for device in read_devices(pod.metadata.annotations[IDS], 9):
                if device.instance:
                    where = f"{pod.spec.node_name} {device.uuid}"
                    instances[f"{where} {device.instance}"] += 1
                    groups.setdefault(where, set()).add(device.instance.split("-")[0])
    assert all(count == 1 for count in instances.values())
    assert all(len(found) == 1 for found in groups.values())
    assert all(bound[f"j{job}"] in (0, pods) for job, (_, pods) in enumerate(work))
