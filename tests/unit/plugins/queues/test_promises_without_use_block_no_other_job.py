"""Which promises keep a job out: not those to pods that fit no node, nor those beyond the part of their owners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, queue
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.objects import ApiObject, PodGroup, Taint
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import Vote
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.proportion.plugin import Proportion

BOTH: list[type[Plugin]] = [Overcommit, Proportion]


def opened(*objects: Objects | Sequence[Objects], plugins: Sequence[type[Plugin]] = (Overcommit,)) -> Opened:
    """A cluster of 100 cpu."""
    made = [node(f"n{index}", cpu="50") for index in range(2)]
    flat: list[Any] = [one for each in objects for one in (each if isinstance(each, list | tuple) else [each])]
    return open_session(*made, *flat, tiers=[[Predicates, Gang, *plugins]], actions=[Enqueue])


def waiting(name: str, cpu: str, namespace: str = "team", queue: str = "default") -> PodGroup:
    return pod_group(name, phase="Pending", min_resources={"cpu": cpu}, namespace=namespace, queue=queue)


def promised(name: str, cpu: str, namespace: str = "team", queue: str = "default") -> PodGroup:
    """A PodGroup that was admitted, without pods."""
    return pod_group(name, min_resources={"cpu": cpu}, namespace=namespace, queue=queue)


def may_enter(session: Opened, job: str) -> bool:
    return session.ssn.ask.job_enqueueable(session.job(job)).vote is not Vote.REJECT


# -- pods that fit no node -------------------------------------------------------------------------------------------


def alone(name: str, cpu: str, **fields: Any) -> list[ApiObject]:
    """A job of one pod."""
    return gang(name, cpu=cpu, min_resources={"cpu": cpu}, **fields)


@pytest.mark.parametrize("plugins", [BOTH, [Overcommit], [Proportion], [Overcommit, Capacity]])
def test_pods_with_a_selector_that_no_node_has_are_promised_nothing(plugins: list[type[Plugin]]) -> None:
    useless = [alone(f"useless-{index}", "5", node_selector={"pool": "none"}) for index in range(26)]
    session = opened(useless, waiting("asks", "100"), plugins=plugins)
    assert may_enter(session, "asks")


def test_nor_are_pods_that_are_larger_than_any_node() -> None:
    assert may_enter(opened(alone("large", "51"), alone("larger", "60"), waiting("asks", "100")), "asks")


def test_nor_pods_that_tolerate_no_node() -> None:
    tainted = node("tainted", cpu="50", taints=[Taint(key="owner", value="x", effect="NoSchedule")])
    session = opened(tainted, alone("a", "50", node_selector={"kubernetes.io/hostname": "x"}), waiting("asks", "180"))
    assert may_enter(session, "asks")
    session = open_session(
        tainted,
        alone("a", "50"),
        waiting("asks", "50"),
        tiers=[[Predicates, Gang, Overcommit]],
        actions=[Enqueue],
    )
    assert may_enter(session, "asks")


def test_a_gang_that_is_larger_than_all_nodes_that_would_take_it_is_promised_nothing() -> None:
    picky = node("picky", cpu="50", labels={"pool": "picky"})
    fields: dict[str, Any] = {"cpu": "25", "node_selector": {"pool": "picky"}}
    three = gang("three", pods=3, min_resources={"cpu": "75"}, **fields)
    assert may_enter(opened(picky, three, waiting("asks", "180")), "asks")
    two = gang("two", pods=2, min_resources={"cpu": "50"}, **fields)
    assert not may_enter(opened(picky, two, waiting("asks", "131")), "asks")


def test_jobs_that_are_alike_are_promised_no_more_for_being_many() -> None:
    alike = [alone(f"alike-{index:02}", "10", group_phase="Pending") for index in range(20)]
    session = opened(alike, plugins=BOTH[:1])
    Enqueue(None).execute(session.ssn)
    assert [session.job(f"alike-{index:02}").phase.text for index in range(20)] == ["Inqueue"] * 12 + ["Pending"] * 8


def test_they_are_still_admitted_so_that_autoscalers_see_them() -> None:
    useless = [alone(f"useless-{index}", "50", node_selector={"pool": "none"}, group_phase="Pending") for index in "ab"]
    session = opened(promised("one", "120"), useless, waiting("asks", "1"), plugins=BOTH)
    Enqueue(None).execute(session.ssn)
    assert {session.job(f"useless-{index}").phase.text for index in "ab"} == {"Inqueue"}
    assert session.job("asks").phase.text == "Pending"


def test_jobs_admitted_in_the_same_cycle_do_not_block_a_job() -> None:
    useless = [
        alone(f"useless-{index}", "20", node_selector={"pool": "none"}, group_phase="Pending", age=9)
        for index in range(26)
    ]
    session = opened(useless, waiting("asks", "100"), plugins=BOTH)
    Enqueue(None).execute(session.ssn)
    assert session.job("asks").phase.text == "Inqueue"


def test_pods_that_fit_when_others_are_gone_keep_their_promise() -> None:
    full = gang("full", pods=2, cpu="50", running_on=["n0", "n1"])
    session = opened(full, alone("waits", "20"), waiting("asks", "1"))
    assert not may_enter(session, "asks")


def test_a_gang_that_is_incomplete_without_such_a_pod_is_promised_nothing() -> None:
    one = pod("mixed-1", group="mixed", cpu="1", node_selector={"pool": "none"})
    other = pod("mixed-0", group="mixed", cpu="40")
    gang_of_two = pod_group("mixed", min_member=2, min_resources={"cpu": "41"})
    assert may_enter(opened(gang_of_two, one, other, waiting("asks", "120")), "asks")
    either = pod_group("mixed", min_member=1, min_resources={"cpu": "41"})
    assert may_enter(opened(either, one, other, waiting("asks", "80")), "asks")
    assert not may_enter(opened(either, one, other, waiting("asks", "81")), "asks")


def test_selectors_do_not_count_without_the_predicate() -> None:
    session = open_session(
        node("n0", cpu="100"),
        alone("a", "100", node_selector={"pool": "none"}),
        waiting("asks", "21"),
        tiers=[[Gang, Overcommit]],
        actions=[Enqueue],
    )
    assert not may_enter(session, "asks")


# -- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plugins", [BOTH, [Overcommit], [Proportion], [Overcommit, Capacity]])
def test_what_a_namespace_was_promised_beyond_its_part_does_not_count_for_namespaces_within_theirs(
    plugins: list[type[Plugin]],
) -> None:
    greedy = [promised("one", "100", "greedy"), promised("two", "100", "greedy")]
    session = opened(greedy, waiting("half", "50", "modest"), waiting("more", "71", "modest"), plugins=plugins)
    assert may_enter(session, "modest/half")
    assert not may_enter(session, "modest/more")


def test_it_counts_for_its_own_namespace() -> None:
    session = opened(promised("one", "120", "greedy"), waiting("two", "1", "greedy"), waiting("any", "1", "modest"))
    assert not may_enter(session, "greedy/two")
    assert may_enter(session, "modest/any")


def test_so_it_is_between_queues_by_weight() -> None:
    queues = queue("large", weight=3), queue("small", weight=1)
    session = opened(
        *queues,
        promised("a", "120", queue="small"),
        waiting("b", "75", queue="large"),
        waiting("c", "1", queue="small"),
    )
    assert may_enter(session, "b")
    assert not may_enter(session, "c")


def test_what_a_queue_deserves_is_its_part() -> None:
    queues = queue("says", deserved={"cpu": "80"}), queue("other", weight=9)
    session = opened(*queues, promised("a", "120", queue="other"), waiting("b", "80", queue="says"))
    assert may_enter(session, "b")
    session = opened(*queues, promised("a", "120", queue="other"), waiting("b", "81", queue="says"))
    assert not may_enter(session, "b")


def test_promises_within_the_parts_of_others_count_and_so_does_what_pods_use() -> None:
    full = gang("full", pods=2, cpu="50", namespace="greedy", running_on=["n0", "n1"])
    assert not may_enter(opened(full, waiting("asks", "30", "modest")), "modest/asks")
    both = promised("a", "50", "greedy"), promised("b", "50", "modest")
    assert not may_enter(opened(both, waiting("asks", "21", "modest")), "modest/asks")
    assert may_enter(opened(both, waiting("asks", "20", "modest")), "modest/asks")


@pytest.mark.parametrize("plugins", [[Overcommit], BOTH, [Overcommit, Capacity]])
def test_an_admitted_object_counts_at_once_and_once(plugins: list[type[Plugin]]) -> None:
    """Also where several plugins vote, which share what is promised."""
    asks = [waiting(f"modest-{index}", "20", "modest") for index in range(4)]
    # Capacity and proportion admit up to the cluster's 100 cpu, overcommit up to 120.
    session = opened(promised("a", "120" if plugins == [Overcommit] else "100", "greedy"), asks, plugins=plugins)
    Enqueue(None).execute(session.ssn)
    phases = [session.job(f"modest/modest-{index}").phase.text for index in range(4)]
    assert phases == ["Inqueue", "Inqueue", "Pending", "Pending"]


def test_the_queues_below_another_divide_its_part() -> None:
    objects = [queue("root"), queue("above", capability={"cpu": "40"}, parent="root"), queue("beside", parent="root")]
    objects += [queue("greedy", parent="above"), queue("modest", parent="above")]
    more = [promised("a", "40", queue="greedy"), promised("d", "50", queue="beside")]
    asks = [waiting("b", "20", queue="modest"), waiting("c", "1", queue="greedy"), waiting("e", "21", queue="modest")]
    session = open_session(
        node("n0", cpu="100"),
        *objects,
        *more,
        *asks,
        tiers=[[Predicates, Gang, Overcommit, (Capacity, {"enableHierarchy": True})]],
        actions=[Enqueue],
    )
    assert may_enter(session, "b")
    assert not may_enter(session, "c")
    assert not may_enter(session, "e")
