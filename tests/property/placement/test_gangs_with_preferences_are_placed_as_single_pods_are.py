"""Gangs that wish to be spread or gathered: one sweep has the outcome of one pod after the other.

What a single pod is offered at a moment is compared with oracles elsewhere (scores of spread, scores of company).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.placement.neighbours import HOST, ZONE, prefers, term
from tests.support.placement.placing import placed
from tests.support.sessions import NAMESPACE, Opened, gang, node, open_session, pod
from volcano_py.api.objects import LabelSelector, ObjectMeta, Taint, TopologySpreadConstraint
from volcano_py.api.workloads import Service, ServiceSpec
from volcano_py.plugins.binpack import Binpack
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

RACK = "rack"
APP = {"app": "web"}


@dataclass(frozen=True)
class Case:
    """A cluster with a gang `g` that waits."""

    nodes: tuple[Any, ...]
    around: tuple[Any, ...]
    pods: int
    fields: dict[str, Any]
    service: bool
    tier: tuple[Any, ...]

    def opened(self) -> Opened:
        services = [
            Service(metadata=ObjectMeta(name="web", namespace=NAMESPACE, uid="web"), spec=ServiceSpec(selector=APP))
        ]
        waiting = gang("g", pods=self.pods, cpu="1", labels=APP, **self.fields)
        return open_session(
            *self.nodes, *self.around, *(services if self.service else ()), waiting, tiers=[list(self.tier)]
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes, around = [], []
    for number in range(draw(st.integers(1, 8))):
        name = f"n{number}"
        labels = {HOST: name} if draw(st.integers(0, 9)) else {}
        for key in (ZONE, RACK):
            if value := draw(st.sampled_from(["a", "b", "c", ""])):
                labels[key] = value
        taints = [Taint(key="old", effect="PreferNoSchedule")] if draw(st.integers(0, 5)) == 0 else []
        nodes.append(node(name, cpu=str(draw(st.integers(1, 6))), labels=labels, taints=taints))
        for other in range(draw(st.integers(0, 2))):
            app = draw(st.sampled_from(["web", "db"]))
            around.append(pod(f"{name}-{other}", on=name, labels={"app": app}, cpu="100m", scheduler="another"))
    keys = draw(st.lists(st.sampled_from([HOST, ZONE, RACK]), unique=True, max_size=3))
    spread = [constraint(key, draw(st.integers(1, 3)), "ScheduleAnyway", draw(st.booleans())) for key in keys]
    if draw(st.integers(0, 3)) == 0:
        spread.append(
            constraint(draw(st.sampled_from([ZONE, RACK, HOST])), draw(st.integers(1, 2)), "DoNotSchedule", False)
        )
    fields: dict[str, Any] = {"spread": spread}
    if draw(st.booleans()):
        company = st.tuples(
            st.sampled_from([-50, -1, 1, 50, 100]),
            st.builds(
                lambda key, app: term(key, app=app), st.sampled_from([HOST, ZONE, RACK]), st.sampled_from(["web", "db"])
            ),
        )
        fields["affinity"] = prefers(*draw(st.lists(company, min_size=1, max_size=3)))
    tier = draw(st.sampled_from([(Predicates, NodeOrder), (Predicates, NodeOrder, Binpack), (NodeOrder,)]))
    return Case(tuple(nodes), tuple(around), draw(st.integers(2, 14)), fields, draw(st.booleans()), tier)


def constraint(key: str, skew: int, action: str, everything: bool) -> TopologySpreadConstraint:
    selector = LabelSelector() if everything else LabelSelector(match_labels=APP)
    return TopologySpreadConstraint(topology_key=key, max_skew=skew, when_unsatisfiable=action, label_selector=selector)


def where(case: Case, at_a_time: int) -> list[str]:
    """The nodes that the gang takes, in order."""
    opened = case.opened()
    taken, _ = placed(opened, at_a_time, afresh=True)
    assert not opened.ssn.dispatch.failures.counts
    return taken


@given(cases())
@settings(max_examples=4 * settings().max_examples)
def test_a_sweep_goes_where_single_pods_go(case: Case) -> None:
    one_by_one = where(case, 1)
    event(f"{len(set(one_by_one))} nodes")
    assert where(case, case.pods) == one_by_one


def test_a_gang_with_preferences_is_placed_in_one_choice() -> None:
    nodes = [node(f"n{number}", cpu="2", labels={HOST: f"n{number}", ZONE: f"z{number % 3}"}) for number in range(30)]
    spread = [constraint(key, 1, "ScheduleAnyway", False) for key in (ZONE, HOST)]
    opened = open_session(
        *nodes, gang("g", pods=50, cpu="1", labels=APP, spread=spread), tiers=[[Predicates, NodeOrder]]
    )
    waiting = opened.ssn.tasks_of(opened.job("g"))
    chosen = opened.ssn.placer.choose(opened.ssn.task_class(int(waiting[0])), 50).nodes
    assert len(chosen) == 50
    assert sorted(set(chosen[:30].tolist())) == list(range(30)), "every node once before any takes a second"
