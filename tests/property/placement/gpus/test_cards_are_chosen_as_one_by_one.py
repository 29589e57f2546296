"""Shared cards against an oracle that looks at one card of one node at a time, and whole runs against their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.book_keeping import do_and_undo, steps
from tests.support.placement.cards import IDS, REGISTER, asks, card, gpu_node, gpu_pod
from tests.support.placement.node_answers import class_of, node_rows, scores, willing
from tests.support.registries import checked_registry
from tests.support.sessions import Opened, open_session, pod_group
from volcano_py.api.annotations.vgpu import read_devices, read_register
from volcano_py.api.objects import Node, Pod
from volcano_py.config import parse_configuration
from volcano_py.framework.views import NodeView
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.plugins.deviceshare.use import NOW, THEN, CardUse
from volcano_py.simulation import Simulation

UUIDS = "ABC"
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.SchedulePolicy: "{}"
      deviceshare.ScheduleWeight: 10
      deviceshare.GPUExclusiveRules: [{{app: train}}, {{team: a, tier: x}}]
"""

policies = st.sampled_from(["", "binpack", "spread"])
cards = st.lists(
    st.tuples(st.sampled_from([8, 16]), st.integers(1, 3), st.sampled_from(["T4", "A100"])), min_size=1, max_size=3
).map(
    lambda found: [
        card(UUIDS[place], memory, users=users, kind=kind) for place, (memory, users, kind) in enumerate(found)
    ]
)
containers = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from([0, 3, 8, 16]), st.sampled_from([0, 30, 50, 100])),
    min_size=1,
    max_size=2,
)
wishes = st.fixed_dictionaries(
    {},
    optional={
        "volcano.sh/vgpu-use-gpuuuid": st.sampled_from(["A", "A,B"]),
        "volcano.sh/vgpu-nouse-gpuuuid": st.sampled_from(["A", "C"]),
        "nvidia.com/use-gputype": st.just("t4"),
        "volcano.sh/vgpu-podgroup-policy": st.just("spread"),
    },
)
devices = st.lists(
    st.tuples(st.sampled_from("ABCX"), st.sampled_from([1, 4, 8]), st.sampled_from([0, 20, 100])), max_size=3
)


@dataclass
class OneCard:
    """What the oracle knows of a card."""

    uuid: str
    place: int
    total: int
    most_users: int
    kind: str
    memory: int = 0
    cores: int = 0
    users: int = 0
    has_pod_of_group: bool = False


Found = tuple[list[list[OneCard]], float] | None


def oracle(
    there: Sequence[OneCard], asked: Sequence[tuple[int, int, int]], marks: dict[str, str], policy: str
) -> Found:
    """The cards of each container and the score; None if the pod does not fit. Adds what it uses to the cards."""
    chosen, score = [], 0.0
    kept_apart = {each.uuid for each in there if each.has_pod_of_group}
    for number, memory, cores in asked:
        good = [one for one in there if _will_do(one, memory, cores, marks, kept_apart)]
        if len(good) < number:
            return None
        order = {
            "": lambda one: -one.place,
            "binpack": lambda one: (-one.memory, one.place),
            "spread": lambda one: (one.users, one.place),
        }[policy]
        taken = sorted(good, key=order)[:number]
        for one in taken:
            if policy == "spread":
                score += 100 * (one.users == 0)
            one.memory += memory or one.total
            one.cores += cores
            one.users += 1
            if policy == "binpack":
                score += 100 * one.memory / one.total
        chosen.append(taken)
    return chosen, 10 * int(score + 0.5)


def _will_do(one: OneCard, memory: int, cores: int, marks: dict[str, str], kept_apart: set[str]) -> bool:
    use, no_use = marks.get("volcano.sh/vgpu-use-gpuuuid"), marks.get("volcano.sh/vgpu-nouse-gpuuuid", "")
    if (use and one.uuid not in use.split(",")) or one.uuid in no_use.split(","):
        return False
    if one.users >= one.most_users or ("volcano.sh/vgpu-podgroup-policy" in marks and one.uuid in kept_apart):
        return False
    if one.total - one.memory < (memory or one.total) or one.cores + cores > 100 or one.cores >= 100:
        return False
    if cores == 100 and one.users:
        return False
    return marks.get("nvidia.com/use-gputype", "") in one.kind.lower()


def known_cards(records: Sequence[str], held: Sequence[tuple[str, int, int]]) -> list[OneCard]:
    found = [
        OneCard(each.uuid, place, each.memory, each.users, each.kind)
        for place, each in enumerate(read_register("".join(records)))
    ]
    for uuid, memory, cores in held:
        for one in found:
            if one.uuid == uuid:
                one.memory, one.cores, one.users = one.memory + memory, one.cores + cores, one.users + 1
                one.has_pod_of_group = True
    return found


def text(held: Sequence[tuple[str, int, int]]) -> str:
    return "".join(f"{uuid},NVIDIA,{memory},{cores}:" for uuid, memory, cores in held)


def opened_with(records: Sequence[str], held: Sequence[tuple[str, int, int]], *pods: Pod, policy: str) -> Opened:
    there = gpu_pod("there", asks(9, 1), holds=text(held), on="n1")
    other = gpu_node("n2", card("A", 4))
    arguments: dict[str, Any] = {
        "deviceshare.VGPUEnable": True,
        "deviceshare.SchedulePolicy": policy,
        "deviceshare.ScheduleWeight": 10,
    }
    return open_session(
        pod_group("g"),
        [gpu_node("n1", *records), other, there, *pods],
        tiers=[[(DeviceShare, {"arguments": arguments})]],
    )


@given(cards, devices, containers, wishes, policies)
@settings(max_examples=200, deadline=None)
def test_fit_choice_score_and_room_are_those_of_one_card_at_a_time(
    records: list[str],
    held: list[tuple[str, int, int]],
    asked: list[tuple[int, int, int]],
    marks: dict[str, str],
    policy: str,
) -> None:
    pods = [gpu_pod(f"p{number}", *(asks(*each) for each in asked), annotations=marks) for number in range(6)]
    opened = opened_with(records, held, *pods, policy=policy)
    plugin, rows = opened.plugin(DeviceShare), node_rows(opened, ["n1"])
    task_class, nodes = class_of(opened, "p0"), opened.ssn.ledger.nodes
    room = int(plugin.predicate_room(task_class, NodeView(nodes, rows))[0])
    several = np.repeat(rows, max(room, 1))
    ahead = plugin.node_order(task_class, NodeView(nodes, several, task_class, np.arange(len(several))))
    there, placed = known_cards(records, held), 0
    for number in range(6):
        score = scores(opened, DeviceShare, f"p{number}")["n1"]
        fits = "n1" in willing(opened, DeviceShare, f"p{number}")
        found = oracle(there, asked, marks, policy)
        assert fits is (found is not None)
        if found is None:
            assert placed == room
            return
        chosen, expected = found
        if policy:
            assert score == expected
            assert ahead[placed] == expected
        opened.place("g", {f"p{number}": "n1"})
        written = opened.ssn.findings.annotations[int(opened.rows(f"p{number}")[0])][IDS]
        by_container = [sorted(each.uuid for each in read_devices(part, 9)) for part in written.split(";")]
        assert by_container == [sorted(one.uuid for one in of_one) for of_one in chosen]
        for of_one in chosen:
            for one in of_one:
                one.has_pod_of_group = True
        placed += 1
    assert placed <= room


@given(cards, steps(["g"], most=12))
@settings(max_examples=60, deadline=None)
def test_what_is_undone_leaves_no_trace(records: list[str], done: list[tuple[str, str]]) -> None:
    """Steps that place, promise and evict, where all pods fit: then everything is taken back."""
    roomy = [record.replace(",8,", ",8000,").replace(",16,", ",8000,") for record in records]
    roomy = [",".join((record.split(",")[0], "99", *record.split(",")[2:])) for record in roomy]
    waiting = [gpu_pod(f"p{number}", asks(1, 1, 1)) for number in range(6)]
    running = [gpu_pod(f"r{number}", asks(1, 1, 1), holds="A,NVIDIA,1,1:", on="n1") for number in range(3)]
    arguments = {"arguments": {"deviceshare.VGPUEnable": True}}
    opened = open_session(
        pod_group("g"),
        [gpu_node("n1", *roomy), gpu_node("n2", *roomy), *waiting, *running],
        tiers=[[(DeviceShare, arguments)]],
    )
    for what in do_and_undo(opened, done, books):
        assert not opened.ssn.dispatch.failures.counts, what
        assert sums(opened) == sums_of_one_by_one(opened)


def books(opened: Opened) -> tuple[Any, ...]:
    return sums(opened), dict(opened.ssn.findings.annotations)


def use_of(opened: Opened) -> CardUse:
    return opened.plugin(DeviceShare)._use


def sums(opened: Opened) -> list[bytes]:
    """What is in use now and then, as the plugin has added it up."""
    use = use_of(opened)
    return [getattr(each, name).tobytes() for each in (use._now, use._then) for name in ("memory", "cores", "users")]


def sums_of_one_by_one(opened: Opened) -> list[bytes]:
    """The same added up from the places of all pods."""
    use, ledger = use_of(opened), opened.ssn.ledger
    found = []
    for counts in (NOW, THEN):
        memory, cores, users = (np.zeros_like(use._now.memory) for _ in range(3))
        for row in range(ledger.tasks.size):
            parts = use._parts(row)
            if parts is not None and counts[ledger.tasks.status[row]]:
                of_parts = zip(parts.places.tolist(), parts.memory.tolist(), parts.cores.tolist(), strict=True)
                for at, of_memory, of_cores in of_parts:
                    memory[parts.node, at] += of_memory
                    cores[parts.node, at] += of_cores
                    users[parts.node, at] += 1
        found += [memory.tobytes(), cores.tobytes(), users.tobytes()]
    return found


labels = st.sampled_from([{}, {"app": "train"}, {"team": "a"}, {"team": "a", "tier": "x"}])
jobs = st.lists(st.tuples(containers, st.integers(1, 3), labels), max_size=4)


@given(st.lists(cards, min_size=1, max_size=3), jobs, policies)
@settings(max_examples=60, deadline=None)
def test_no_card_is_ever_oversubscribed_or_shared_by_two_pods_of_a_rule(
    nodes: list[list[str]], work: list[tuple[list[tuple[int, int, int]], int, dict[str, str]]], policy: str
) -> None:
    """Gangs of pods in a simulation, until nothing changes: the sums of what is written on bound pods."""
    registry = checked_registry()
    parsed = parse_configuration(CONFIGURATION.format(policy), registry.catalogue())
    assert parsed.config is not None, parsed.problems
    objects: list[tuple[str, Any]] = [
        ("Node", gpu_node(f"n{number}", *records)) for number, records in enumerate(nodes)
    ]
    for number, (asked, pods, marks) in enumerate(work):
        objects.append(("PodGroup", pod_group(f"j{number}", min_member=pods, phase="")))
        for index in range(pods):
            made = gpu_pod(f"j{number}-{index}", *(asks(*each) for each in asked), group=f"j{number}", labels=marks)
            objects.append(("Pod", made))
    simulation = Simulation(objects, parsed.config, registry)
    result = simulation.run()
    assert not any(report.plugin_errors for report in result.reports)
    memory, cores, users = Counter[str](), Counter[str](), Counter[str]()
    of_rules = dict[tuple[str, str], set[str]]()
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name:
            for device in read_devices(pod.metadata.annotations[IDS], 99):
                where = f"{pod.spec.node_name} {device.uuid}"
                memory[where] += device.memory
                cores[where] += device.cores
                users[where] += 1
                for label in {"app", "tier"}.intersection(pod.metadata.labels):
                    of_rules.setdefault((where, label), set()).add(pod.metadata.name)
    assert all(len(pods) == 1 for pods in of_rules.values())
    for node in simulation.cluster.objects("Node", Node):
        for each in read_register(node.metadata.annotations[REGISTER]):
            where = f"{node.metadata.name} {each.uuid}"
            assert memory[where] <= each.memory
            assert cores[where] <= 100
            assert users[where] <= each.users
