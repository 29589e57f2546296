"""Each pod is bound where its spread allows it after all pods before it; who waits at the end finds no node for it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cycles import Cycles
from tests.support.placement import spreading
from tests.support.placement.spreading import Newcomer, Place
from tests.support.sessions import NAMESPACE, gang, node, pod
from volcano_py.api.effects import Bind
from volcano_py.api.objects import ApiObject, LabelSelector, TopologySpreadConstraint
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

ZONE = "topology.kubernetes.io/zone"
ENOUGH = 40
"""Cycles; each but the last binds a pod, and there are fewer pods than that."""

constraints = st.builds(
    TopologySpreadConstraint,
    max_skew=st.integers(1, 2),
    topology_key=st.sampled_from([ZONE, spreading.HOSTNAME]),
    when_unsatisfiable=st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
    label_selector=st.sampled_from([LabelSelector(match_labels={"app": app}) for app in "ab"]),
)


def pair(constraint: TopologySpreadConstraint) -> tuple[str, str]:
    return constraint.topology_key, constraint.when_unsatisfiable


@st.composite
def jobs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to four; each has its own size, minimum, label and constraints."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        pods = draw(st.integers(1, 6))
        found.append(
            {
                "name": f"j{number}",
                "pods": pods,
                "min_member": draw(st.sampled_from([1, pods])),
                "cpu": str(draw(st.integers(1, 2))),
                "labels": {"app": draw(st.sampled_from("ab"))},
                "spread": draw(st.lists(constraints, max_size=2, unique_by=pair)),
            }
        )
    return found


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Place], dict[str, int]]:
    """Nodes with pods on them, and how many CPUs are free on each."""
    places, free = [], {}
    for number in range(draw(st.integers(1, 5))):
        name = f"n{number}"
        zone = draw(st.sampled_from(["z1", "z2", "z3", None]))
        labels = {spreading.HOSTNAME: name} | ({} if zone is None else {ZONE: zone})
        apps = draw(st.lists(st.sampled_from("ab"), max_size=2))
        places.append(Place(name, labels, pods=[(NAMESPACE, {"app": app}) for app in apps]))
        free[name] = draw(st.integers(0, 6))
    return places, free


def objects(places: list[Place], free: dict[str, int], wanted: list[dict[str, Any]]) -> list[ApiObject]:
    found: list[ApiObject] = []
    for place in places:
        found.append(node(place.name, cpu=str(free[place.name]), labels=place.labels))
        found.extend(
            pod(f"{place.name}-{number}", labels=labels, on=place.name, scheduler="another")
            for number, (_, labels) in enumerate(place.pods)
        )
    for job in wanted:
        found.extend(gang(**job))
    return found


@given(cluster=clusters(), wanted=jobs(), seed=st.integers(0, 3))
@settings(max_examples=settings().max_examples // 2)
def test_it_does(cluster: tuple[list[Place], dict[str, int]], wanted: list[dict[str, Any]], seed: int) -> None:
    places, free = cluster
    by_name = {place.name: place for place in places}
    job_of = {f"{job['name']}-{number}": job for job in wanted for number in range(job["pods"])}
    cycles = Cycles(objects(places, free, wanted), plugins=(Gang, Predicates, NodeOrder), seed=seed)
    bound: dict[str, str] = {}
    for _ in range(ENOUGH):
        seen = len(cycles.effects)
        cycles.run()
        news = [effect for effect in cycles.effects[seen:] if isinstance(effect, Bind)]
        for bind in news:
            job = job_of[bind.pod.name]
            newcomer = Newcomer(NAMESPACE, job["labels"], job["spread"])
            assert spreading.refusals(newcomer, places)[bind.node] == "", f"{bind.pod.name} on {bind.node}"
            by_name[bind.node].pods.append((NAMESPACE, job["labels"]))
            free[bind.node] -= int(job["cpu"])
            bound[bind.pod.name] = bind.node
            assert cycles.state.assume_bound(bind.pod.uid, bind.node)
        if not news:
            break
    else:
        raise AssertionError("it does not end")
    for name in job_of.keys() - bound.keys():
        job = job_of[name]
        if job["min_member"] == 1 or any(other in bound for other in job_of if job_of[other] is job):
            said = spreading.refusals(Newcomer(NAMESPACE, job["labels"], job["spread"]), places)
            takers = [place for place, text in said.items() if not text and free[place] >= int(job["cpu"])]
            assert not takers, f"{name} waits although {takers} would take it"
