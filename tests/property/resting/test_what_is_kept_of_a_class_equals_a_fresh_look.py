"""What the placer keeps of classes, and what classes share, is what a look at all nodes from the start would find."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.node_answers import node_rows
from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.api.objects import ApiObject, LabelSelector, TopologySpreadConstraint
from volcano_py.framework.placement.placer import Placer
from volcano_py.framework.statement import Statement
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

NODES: Final = tuple(f"n{number}" for number in range(6))
JOBS: Final = ("a", "b", "c", "d", "plain", "large", "ported")
ZONE: Final = "zone"
# Jobs of two pods each: the first four differ in nothing but what they are spread among, and over.
SPREADS: Final = {"a": ("a", ZONE), "b": ("b", ZONE), "c": ("a", "kubernetes.io/hostname"), "d": ("b", "rack")}
MOVES: Final = st.tuples(
    st.sampled_from(["choose", "place", "evict", "promise", "undo"]),
    st.sampled_from(JOBS),
    st.sampled_from(NODES),
)


def spread_job(name: str, among: str, key: str) -> list[ApiObject]:
    selector = LabelSelector(match_labels={"own": among})
    constraint = TopologySpreadConstraint(max_skew=1, topology_key=key, label_selector=selector)
    return gang(name, pods=2, cpu="1", labels={"own": name}, spread=[constraint])


def opened(size: int) -> Opened:
    """On each of the nodes a pod of 1 CPU runs, and 1 is free: a large pod fits once a pod was evicted."""
    nodes = NODES[:size]
    return open_session(
        *(node(name, cpu="2", labels={ZONE: f"z{number % 2}"}) for number, name in enumerate(nodes)),
        pod_group("old"),
        *(pod(f"old-{name}", group="old", cpu="1", on=name, labels={"own": "a"}) for name in nodes),
        *(each for name, (among, key) in SPREADS.items() for each in spread_job(name, among, key)),
        *gang("plain", pods=2, cpu="1"),
        *gang("large", pods=2, cpu="2"),
        *gang("ported", pods=2, cpu="1", host_ports=[80]),
        tiers=[[Predicates, NodeOrder]],
    )


class Moves:
    """Places, evicts and takes back, as far as that is possible."""

    def __init__(self, session: Opened) -> None:
        self._session = session
        self._open: list[tuple[Statement, str, str]] = []
        """What was done, with the job that was placed or "", and the node of the pod that was evicted or ""."""

    def make(self, kind: str, job: str, where: str) -> None:
        session = self._session
        if kind == "undo":
            if self._open:
                self._open.pop()[0].discard()
        elif kind == "evict":
            if where not in {evicted for _, _, evicted in self._open}:
                self._open.append((session.evict(f"old-{where}"), "", where))
        elif job not in {placed for _, placed, _ in self._open}:
            pipelined = kind == "promise"
            if kind == "choose":
                chosen, pipelined = choice(session.ssn.placer, session, job)
                assert (chosen, pipelined) == choice(fresh_placer(session), session, job)
                if not chosen:
                    return
                where = session.ssn.snapshot.nodes[chosen[0]].name
            put = session.pipeline if pipelined else session.place
            self._open.append((put(job, {f"{job}-0": where}), job, ""))


def fresh_placer(session: Opened) -> Placer:
    ssn = session.ssn
    return Placer(ssn, ssn.dispatch, ssn.findings, ssn.nodes.name_rank)


def choice(placer: Placer, session: Opened, job: str) -> tuple[list[int], bool]:
    """The node for a pod of the job, which takes it at once: the placer plans ahead. And whether it waits for room."""
    found = placer.choose(session.task(f"{job}-0").task_class, 1)
    return found.nodes.tolist(), found.pipelined


def answers(placer: Placer, session: Opened, job: str) -> dict[str, Any]:
    task_class = session.task(f"{job}-1").task_class
    every = node_rows(session)
    return {
        "refusals": placer.codes(task_class).tolist(),
        "feasible": placer.feasible(task_class).tolist(),
        "ranked": placer.ranked(task_class, every).tolist(),
        "misfit": placer.misfit(task_class),
    }


@given(size=st.sampled_from([2, len(NODES)]), moves=st.lists(MOVES, max_size=12))
def test_what_is_kept_of_a_class_equals_a_fresh_look(size: int, moves: list[tuple[str, str, str]]) -> None:
    """Of few nodes all are looked at again when one is touched, of more only that one."""
    session = opened(size)
    making, kept = Moves(session), session.ssn.placer
    for kind, job, where in moves:
        if where in NODES[:size]:
            making.make(kind, job, where)
            assert answers(kept, session, job) == answers(fresh_placer(session), session, job), (kind, job, where)
    for job in JOBS:
        assert answers(kept, session, job) == answers(fresh_placer(session), session, job), job
