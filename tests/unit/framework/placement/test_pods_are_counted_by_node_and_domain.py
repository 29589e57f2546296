"""Pod counts: by node and by domain, by matching terms and by carried terms, at every moment of a cycle."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import Opened, gang, node, open_session, pod
from volcano_py.api.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from volcano_py.framework.placement import pod_counts
from volcano_py.framework.placement.pod_counts import EACH_NODE, Tally
from volcano_py.framework.statement import Statement
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.terms.pod_terms import PodTerm, Requirement, requirements_of

ZONE = "topology.kubernetes.io/zone"


def term(namespace: str = "team", **labels: str) -> PodTerm:
    return PodTerm((namespace,), requirements_of(LabelSelector(match_labels=labels)))


def looking_at(**labels: str) -> Affinity:
    """Some term has to select pods, or else they are not counted."""
    wanted = PodAffinityTerm(topology_key=ZONE, label_selector=LabelSelector(match_labels=labels))
    return Affinity(pod_affinity=PodAffinity(preferred=[WeightedPodAffinityTerm(weight=1, pod_affinity_term=wanted)]))


def three_nodes() -> list[Any]:
    return [*(node(name, labels={ZONE: name[0]}) for name in ("a1", "a2", "b1")), node("bare")]


def per_node(opened: Opened, tally: Tally, numbers: np.ndarray[Any, Any]) -> dict[str, int]:
    """Node → number, where it is in a domain and not 0."""
    found = {
        name: int(numbers[tally.domain_of[opened.node_row(name)]])
        for name in sorted(opened.ssn.nodes.rows)
        if tally.domain_of[opened.node_row(name)] >= 0
    }
    return {name: number for name, number in found.items() if number}


def test_pods_count_on_their_nodes_and_in_their_domains() -> None:
    opened = open_session(
        three_nodes(),
        pod("looks", affinity=looking_at(app="x"), group="looks"),
        gang("x", pods=4, running_on=["a1", "a1", "b1", "bare"], labels={"app": "x"}),
        gang("y", pods=1, running_on=["a2"], labels={"app": "y"}),
        pod("x", labels={"app": "x"}, on="b1", namespace="other"),
    )
    counts = opened.ssn.pod_counts
    nodes, zones = counts.matching(EACH_NODE, (term(app="x"),)), counts.matching(ZONE, (term(app="x"),))
    assert per_node(opened, nodes, nodes.standing) == {"a1": 2, "b1": 1, "bare": 1}
    assert per_node(opened, zones, zones.standing) == {"a1": 2, "a2": 2, "b1": 1}
    assert (nodes.alone, zones.alone) == (True, False)


def test_a_pod_counts_when_it_matches_all_terms() -> None:
    opened = open_session(
        three_nodes(),
        pod("one", affinity=looking_at(app="x"), group="g"),
        pod("two", affinity=looking_at(tier="y"), group="g"),
        pod("x", labels={"app": "x"}, on="a1"),
        pod("y", labels={"tier": "y"}, on="a1"),
        pod("both", labels={"app": "x", "tier": "y"}, on="a2"),
    )
    both = opened.ssn.pod_counts.matching(EACH_NODE, (term(app="x"), term(tier="y")))
    assert per_node(opened, both, both.standing) == {"a2": 1}


def test_leaving_pods_stand_but_do_not_stay_and_promised_ones_the_other_way_round() -> None:
    opened = open_session(
        three_nodes(),
        pod("looks", affinity=looking_at(app="x"), group="looks"),
        gang("run", pods=1, running_on=["a1"], labels={"app": "x"}),
        pod("going", labels={"app": "x"}, on="a2", deleting=True),
        gang("wait", pods=1, labels={"app": "x"}),
    )
    tally = opened.ssn.pod_counts.matching(EACH_NODE, (term(app="x"),))
    opened.pipeline("wait", {"wait-0": "b1"})
    assert per_node(opened, tally, tally.standing) == {"a1": 1, "a2": 1}
    assert per_node(opened, tally, tally.taken) == {"a1": 1, "a2": 1, "b1": 1}
    assert per_node(opened, tally, tally.staying) == {"a1": 1, "b1": 1}
    opened.evict("run-0")
    assert per_node(opened, tally, tally.staying) == {"b1": 1}
    assert per_node(opened, tally, tally.standing) == {"a1": 1, "a2": 1}


def test_carriers_are_counted_by_what_they_carry() -> None:
    social = looking_at(app="x")
    opened = open_session(
        three_nodes(),
        gang("run", pods=2, running_on=["a1", "b1"], affinity=social, cpu="1"),
        gang("also", pods=1, running_on=["a1"], affinity=social, cpu="2"),
        gang("seen", pods=1, labels={"app": "x"}),
        gang("unseen", pods=1, labels={"app": "y"}),
    )
    counts, ssn = opened.ssn.pod_counts, opened.ssn
    seen = ssn.task_class(int(opened.rows("seen-0")[0]))
    ((carried, classes),) = counts.carriers(seen)
    assert (carried.anti, carried.weight, carried.topology_key, carried.term) == (False, 1, ZONE, term(app="x"))
    tally = counts.carrying(ZONE, classes)
    assert per_node(opened, tally, tally.standing) == {"a1": 2, "a2": 2, "b1": 1}
    assert counts.selects(seen, term(app="x"))
    unseen = ssn.task_class(int(opened.rows("unseen-0")[0]))
    assert not counts.selects(unseen, term(app="x"))
    assert list(counts.carriers(unseen)) == []


def test_without_terms_there_is_nothing_to_count() -> None:
    opened = open_session(three_nodes(), gang("x", pods=1, labels={"app": "x"}))
    assert not opened.ssn.pod_counts.any


def test_a_late_question_sees_earlier_placements() -> None:
    social = looking_at(app="x")
    opened = open_session(three_nodes(), gang("wait", pods=3, labels={"app": "x"}, affinity=social))
    counts, seen = opened.ssn.pod_counts, opened.ssn.task_class(int(opened.rows("wait-0")[0]))
    ((_, classes),) = counts.carriers(seen)
    counts.matching(ZONE, (term(app="x"),))
    counts.carrying(ZONE, classes)
    opened.place("wait", {"wait-0": "a1", "wait-1": "b1"})
    for late in (counts.matching(EACH_NODE, (term(app="x"),)), counts.carrying(EACH_NODE, classes)):
        assert per_node(opened, late, late.standing) == {"a1": 1, "b1": 1}


def test_tallies_that_were_given_up_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_counts, "MOST_DOMAINS", 4)
    social = looking_at(app="x")
    opened = open_session(three_nodes(), gang("wait", pods=3, labels={"app": "x"}, affinity=social))
    counts, seen = opened.ssn.pod_counts, opened.ssn.task_class(int(opened.rows("wait-0")[0]))
    ((_, classes),) = counts.carriers(seen)
    for pod_name, where in {"wait-0": "a1", "wait-1": "b1"}.items():
        opened.place("wait", {pod_name: where})
        assert counts.matching(EACH_NODE, (term(app="x"),)) is counts.matching(EACH_NODE, (term(app="x"),))
        assert counts.carrying(EACH_NODE, classes) is counts.carrying(EACH_NODE, classes)
    nodes, carriers = counts.matching(EACH_NODE, (term(app="x"),)), counts.carrying(EACH_NODE, classes)
    assert (
        per_node(opened, nodes, nodes.standing) == per_node(opened, carriers, carriers.standing) == {"a1": 1, "b1": 1}
    )
    assert counts.matching(EACH_NODE, (term(app="x"),)) is not nodes


def test_labels_that_change_move_the_pod_from_one_count_to_the_other() -> None:
    looks = pod("looks", affinity=looking_at(app="x"), group="looks")
    before = pod("p", labels={"app": "x"}, on="a1")
    after = msgspec.structs.replace(before, metadata=msgspec.structs.replace(before.metadata, labels={"app": "y"}))
    opened = open_session(three_nodes(), looks, before, prepare=lambda state: state.upsert("Pod", after))
    tally = opened.ssn.pod_counts.matching(EACH_NODE, (term(app="x"),))
    assert not tally.standing.any()


operations = st.lists(
    st.tuples(
        st.sampled_from(("place", "pipeline", "evict", "discard", "commit")), st.integers(0, 99), st.integers(0, 99)
    ),
    max_size=25,
)


@given(operations)
def test_tallies_equal_a_count_of_all_pods_whatever_is_done_and_undone(happened: list[tuple[str, int, int]]) -> None:
    nodes = ["a1", "a2", "b1", "bare"]
    social = looking_at(app="x")
    opened = open_session(
        three_nodes(),
        gang("run", pods=4, running_on=nodes, labels={"app": "x"}, affinity=social),
        gang("odd", pods=2, running_on=["a1", "b1"], labels={"app": "y"}, affinity=social),
        gang("wait", pods=4, labels={"app": "x"}, affinity=social),
    )
    ssn = opened.ssn
    seen = ssn.task_class(int(opened.rows("wait-0")[0]))
    ((_, classes),) = ssn.pod_counts.carriers(seen)
    open_ones: list[Statement] = []
    tallies = {
        (key, who): ssn.pod_counts.matching(key, (term(app="x"),))
        if who == "match"
        else ssn.pod_counts.carrying(key, classes)
        for key in (EACH_NODE, ZONE)
        for who in ("match", "carry")
    }
    for what, one, other in happened:
        _act(opened, open_ones, what, one, nodes[other % len(nodes)])
        for (key, who), tally in tallies.items():
            assert tally.standing.tolist() == _counted(opened, key, who, leaving=True, promised=False)
            assert tally.taken.tolist() == _counted(opened, key, who, leaving=True, promised=True)
            assert tally.staying.tolist() == _counted(opened, key, who, leaving=False, promised=True)


def _act(opened: Opened, open_ones: list[Statement], what: str, which: int, where: str) -> None:
    """One operation, if there is anything to do it to."""
    ssn, statuses = opened.ssn, opened.ssn.ledger.tasks.status
    waiting = [name for name in (f"wait-{i}" for i in range(4)) if statuses[opened.rows(name)[0]] == TaskStatus.PENDING]
    held = [
        name
        for name in (*(f"run-{i}" for i in range(4)), "odd-0", "odd-1")
        if statuses[opened.rows(name)[0]] == TaskStatus.RUNNING
    ]
    if what in ("place", "pipeline") and waiting:
        put = opened.place if what == "place" else opened.pipeline
        open_ones.append(put("wait", {waiting[which % len(waiting)]: where}))
    elif what == "evict" and held:
        open_ones.append(opened.evict(held[which % len(held)]))
    elif what in ("discard", "commit") and open_ones:
        getattr(open_ones.pop(), what)()
    assert ssn.ledger.drift() == 0


def _counted(opened: Opened, key: str, who: str, *, leaving: bool, promised: bool) -> list[int]:
    """All pods, one by one."""
    ssn = opened.ssn
    column = ssn.nodes.label(key)
    codes = list(range(ssn.ledger.nodes.size)) if key == EACH_NODE else column.codes.tolist()
    numbers = [0] * ((len(codes) if key == EACH_NODE else len(column.values)) + 1)
    for row, info in enumerate(ssn.snapshot.tasks):
        status, place = TaskStatus(int(ssn.ledger.tasks.status[row])), int(ssn.ledger.tasks.node[row])
        if info is None or place == NOWHERE:
            continue
        counts = ON_NODE_STATUSES[status] and (leaving or status is not TaskStatus.RELEASING)
        counts = counts or (promised and status is TaskStatus.PIPELINED)
        if counts and (who == "carry" or info.labels.get("app") == "x"):
            numbers[codes[place]] += 1
    return numbers


def test_requirements_are_part_of_a_terms_identity() -> None:
    assert term(app="x") == PodTerm(("team",), (Requirement("app", "In", ("x",)),))
