"""NUMA nodes against an oracle that looks at one CPU of one node at a time, and whole runs against what was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.book_keeping import do_and_undo, steps
from tests.support.placement.node_answers import batch_scores, class_of, node_rows, willing
from tests.support.placement.numa import pinned, places, topology
from tests.support.registries import checked_registry
from tests.support.sessions import Opened, node, open_session, pod_group
from volcano_py.api.numa.cpu_lists import each_cpu, read_cpus, write_cpus
from volcano_py.config import parse_configuration
from volcano_py.framework.views import NodeView
from volcano_py.plugins.numa_aware import NumaAware
from volcano_py.plugins.numa_aware.hints import Policies, judge
from volcano_py.plugins.numa_aware.use import CpuUse
from volcano_py.simulation import Simulation
from volcano_py.state.numa.asked import CpusAsked
from volcano_py.state.numa.layout import layout_of, take
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus

Place = tuple[int, int, int, int]
POLICIES = ["best-effort", "restricted", "single-numa-node"]

policies = st.sampled_from(POLICIES)
machines = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=12).map(
    lambda found: [(cpu, numa, socket, core) for cpu, (numa, socket, core) in enumerate(found)]
)
crowded = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=10).map(
    lambda found: [(cpu, numa, socket, core) for cpu, (numa, socket, core) in enumerate(found)]
)
containers = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def free_of(cpus: Sequence[Place], mask: int) -> set[int]:
    return {cpu for cpu, *_ in cpus if mask >> cpu & 1}


def oracle(cpus: Sequence[Place], free: set[int], cores: Sequence[int], policy: str) -> set[int] | None:
    """The CPUs of all containers, as the kubelet gives them; None if its policy refuses the pod."""
    numa = {cpu: node for cpu, node, _, _ in cpus}
    ids, taken = sorted({*numa.values()}), set[int]()
    sets = [frozenset(some) for size in range(1, len(ids) + 1) for some in combinations(ids, size)]
    for wanted in cores:
        left = free - taken
        enough = [some for some in sets if sum(numa[cpu] in some for cpu in numa) >= wanted]
        least = min(map(len, enough), default=0)
        hints = [
            (len(some) != least, len(some), sum(1 << ids.index(each) for each in some), some)
            for some in sets
            if sum(numa[cpu] in some for cpu in left) >= wanted
        ]
        if policy == "single-numa-node":
            hints = [each for each in hints if not each[0] and each[1] == 1]
        best = min(hints, default=None)
        if policy != "best-effort" and (best is None or best[0]):
            return None
        near = {cpu for cpu in left if best is not None and numa[cpu] in best[3]}
        got = taken_in_order(cpus, near, wanted)
        taken |= got | taken_in_order(cpus, left - near, wanted - len(got))
    return taken


def taken_in_order(cpus: Sequence[Place], free: set[int], wanted: int) -> set[int]:
    """Whole sockets, whole cores, single CPUs."""
    taken = set[int]()

    def members(socket: int, core: int | None = None) -> set[int]:
        return {cpu for cpu, _, of_socket, of_core in cpus if of_socket == socket and core in (None, of_core)}

    sockets = sorted({socket for _, _, socket, _ in cpus})
    for socket in sockets:
        if members(socket) <= free and len(members(socket)) <= wanted - len(taken):
            taken |= members(socket)
    left = free - taken
    cores = sorted({(socket, core) for _, _, socket, core in cpus if members(socket, core) <= left})
    fewest = Counter(socket for socket, _ in cores)
    for socket, core in sorted(cores, key=lambda each: (fewest[each[0]], each)):
        if len(members(socket, core)) <= wanted - len(taken):
            taken |= members(socket, core)
    place = {cpu: (socket, core) for cpu, _, socket, core in cpus}
    while len(taken) < wanted and free - taken:
        left = free - taken
        taken.add(
            min(
                left,
                key=lambda cpu: (
                    -len(members(place[cpu][0]) & taken),
                    len(members(place[cpu][0]) & left),
                    len(members(*place[cpu]) & left),
                    *place[cpu],
                    cpu,
                ),
            )
        )
    return taken


def cpus_of(opened: Opened, pod: str) -> set[int]:
    """What the pod was given."""
    use, row = use_of(opened), int(opened.rows(pod)[0])
    return {cpu for held in use._held.values() for cpu in each_cpu(held.get(row, 0))}


def use_of(opened: Opened) -> CpuUse:
    return opened.plugin(NumaAware)._use


@given(machines, st.integers(0, 2**12 - 1), containers, policies, st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_fit_choice_score_and_room_are_those_of_one_cpu_at_a_time(
    cpus: list[Place], mask: int, cores: list[int], policy: str, reserved: int
) -> None:
    """Pods one after the other, until the node takes no more, beside a node that has to use as many NUMA nodes as
    there are."""
    listed = free_of(cpus, mask)
    free = listed - taken_in_order(cpus, {cpu for cpu, *_ in cpus}, reserved)
    pods = [pinned(f"p{number}", *cores, policy=policy) for number in range(5)]
    opened = open_session(
        pod_group("g"),
        [node("n1", cpu="64"), node("n2", cpu="64"), *pods],
        topology("n1", cpus, write_cpus(mask & (1 << len(cpus)) - 1), policy=policy, reserved=str(reserved)),
        tiers=[[(NumaAware, {"arguments": {"weight": 2}})]],
    )
    plugin, rows = opened.plugin(NumaAware), node_rows(opened, ["n1"])
    room = plugin.predicate_room(class_of(opened, "p0"), NodeView(opened.ssn.ledger.nodes, rows))
    numa, placed = {cpu: node_id for cpu, node_id, _, _ in cpus}, 0
    for number in range(5):
        expected = oracle(cpus, free, cores, policy)
        may = bool(listed) and expected is not None
        assert ("n1" in willing(opened, NumaAware, f"p{number}")) is may
        if not may or expected is None:
            break
        scored = batch_scores(opened, NumaAware, f"p{number}", ["n1"])
        assert scored in ({"n1": 0.0}, None), "the only node uses as many NUMA nodes as the most"
        assert (scored is None) is (not expected)
        asked = class_of(opened, f"p{number}").cpus
        assert asked is not None
        used = plugin._verdicts.judged(asked, rows).used.tolist()
        assert used == [len({numa[cpu] for cpu in expected})]
        opened.place("g", {f"p{number}": "n1"})
        assert not opened.ssn.dispatch.failures.counts
        assert cpus_of(opened, f"p{number}") == expected
        free -= expected
        placed += 1
    if room is not None and policy != "best-effort":
        assert placed == min(int(room[0]), 5) or not listed


@given(crowded, st.integers(0, 2**10 - 1), st.integers(0, 8))
@settings(max_examples=500, deadline=None)
def test_cpus_are_taken_as_one_by_one(cpus: list[Place], mask: int, wanted: int) -> None:
    layout = layout_of(tuple(cpus), 0)
    assert free_of(cpus, take(layout, mask & layout.cpus, wanted)) == taken_in_order(cpus, free_of(cpus, mask), wanted)


@given(crowded, st.integers(0, 2**10 - 1), containers, policies)
@settings(max_examples=500, deadline=None)
def test_counts_say_the_same_as_cpus(cpus: list[Place], mask: int, cores: list[int], policy: str) -> None:
    """On small NUMA nodes, so that containers need several."""
    layout = layout_of(tuple(cpus), 0)
    free, expected = mask & layout.cpus, oracle(cpus, free_of(cpus, mask), cores, policy)
    strictness = Policies(np.array([policy != "best-effort"]), np.array([policy == "single-numa-node"]))
    asked = CpusAsked(policy, tuple(cores))
    found = judge(layout, np.array([layout.counts(free)]), asked, strictness, lambda _place: free)
    assert found.is_admitted.tolist() == [expected is not None]
    if expected is not None:
        assert found.used.tolist() == [len({node_id for cpu, node_id, _, _ in cpus if cpu in expected})]


@given(steps(["g"], most=12), st.booleans())
@settings(max_examples=80, deadline=None)
def test_what_is_undone_leaves_no_trace(done: list[tuple[str, str]], is_shown: bool) -> None:
    waiting = [pinned(f"p{number}", 1, policy="best-effort") for number in range(6)]
    running = [pinned(f"r{number}", 2, policy="best-effort", on="n1") for number in range(3)]
    shown = {"r0": "0-1", "gone": "8-9"} if is_shown else {}
    opened = open_session(
        pod_group("g"),
        [node("n1", cpu="64"), node("n2", cpu="64"), *waiting, *running],
        topology("n1", places(8, 8), "2-7,10-15" if is_shown else None, policy="best-effort", shown=shown),
        topology("n2", places(8, 8), policy="best-effort"),
        tiers=[[NumaAware]],
    )
    for what in do_and_undo(opened, done, books):
        assert not opened.ssn.dispatch.failures.counts, what
        assert_nothing_is_given_twice(opened)


def books(opened: Opened) -> tuple[object, ...]:
    use = use_of(opened)
    nodes = [opened.node_row(name) for name in ("n1", "n2")]
    free = [use.free(row, released=released) for row in nodes for released in (False, True)]
    return free, use.counts.tolist(), use.counts_then.tolist()


def assert_nothing_is_given_twice(opened: Opened) -> None:
    """Neither now nor then, and what is free has nobody."""
    use, status = use_of(opened), opened.ssn.ledger.tasks.status
    then = ON_NODE_STATUSES.copy()
    then[TaskStatus.RELEASING], then[TaskStatus.PIPELINED] = False, True
    for name in ("n1", "n2"):
        row = opened.node_row(name)
        for counts, released in ((ON_NODE_STATUSES, False), (then, True)):
            union = 0
            for task, cpus in use._held.get(row, {}).items():
                if counts[status[task]]:
                    assert not union & cpus
                    union |= cpus
            free = use.free(row, released=released)
            assert not union & free
        assert use.counts[row].sum() == use.free(row, released=False).bit_count()
        assert use.counts_then[row].sum() == use.free(row, released=True).bit_count()


CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: numa-aware}]
"""
jobs = st.lists(st.tuples(containers, st.integers(1, 3), policies), max_size=5)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6), policies), min_size=1, max_size=3), jobs)
@settings(max_examples=60, deadline=None)
def test_pods_that_run_can_all_be_aligned_one_after_the_other(
    nodes: list[tuple[int, int, str]], work: list[tuple[list[int], int, str]]
) -> None:
    """Gangs in a simulation, whose Numatopologies never change, until nothing happens: pods of each node in the order
    in which they were bound pass its policy."""
    registry = checked_registry()
    parsed = parse_configuration(CONFIGURATION, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    objects: list[tuple[str, object]] = []
    for number, (first, second, policy) in enumerate(nodes):
        objects.append(("Node", node(f"n{number}", cpu="100")))
        objects.append(("Numatopology", topology(f"n{number}", places(first, second), policy=policy)))
    for number, (cores, pods, policy) in enumerate(work):
        objects.append(("PodGroup", pod_group(f"j{number}", min_member=pods, phase="")))
        names = [f"j{number}-{index}" for index in range(pods)]
        objects += [("Pod", pinned(name, *cores, policy=policy, group=f"j{number}")) for name in names]
    simulation = Simulation(objects, parsed.config, registry)  # type: ignore[arg-type]
    result = simulation.run()
    assert not any(report.plugin_errors for report in result.reports)
    asked = {f"team/j{number}-{index}": each for number, each in enumerate(work) for index in range(each[1])}
    free = [{cpu for cpu, *_ in places(first, second)} for first, second, _ in nodes]
    for pod, name in result.as_json()["binds"].items():
        (cores, _, policy), at = asked[pod], int(name[1:])
        assert policy == nodes[at][2]
        expected = oracle(places(*nodes[at][:2]), free[at], cores, policy)
        assert expected is not None, pod
        if policy != "best-effort":
            assert len(expected) == sum(cores)
        free[at] -= expected


@given(st.sets(st.integers(0, 300)))
def test_lists_of_cpus_are_read_as_they_are_written(cpus: set[int]) -> None:
    mask = sum(1 << cpu for cpu in cpus)
    assert read_cpus(write_cpus(mask)) == mask
    assert [*each_cpu(mask)] == sorted(cpus)


def test_the_oracle_agrees_with_the_worked_examples() -> None:
    """Two NUMA nodes of 8, 6 and 3 CPUs free."""
    cpus, free = places(8, 8), {*range(6), *range(8, 11)}
    numa = np.array([0] * 8 + [1] * 8)

    def used(wanted: int, policy: str) -> list[int] | None:
        found = oracle(cpus, free, [wanted], policy)
        return None if found is None else sorted({int(numa[cpu]) for cpu in found})

    assert [used(4, policy) for policy in POLICIES] == [[0], [0], [0]]
    assert [used(7, policy) for policy in POLICIES] == [[0, 1], None, None]
    assert [used(9, policy) for policy in POLICIES] == [[0, 1], [0, 1], None]
