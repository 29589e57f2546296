"""drf with enableNamespaceOrder: the order of namespaces in a queue, and which of them may preempt which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.api.objects import ObjectMeta, ResourceQuota, ResourceQuotaSpec
from volcano_py.api.report import NamespaceShare
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.gang import Gang

ON = (Drf, {"enableNamespaceOrder": True})


def weights(by_namespace: Mapping[str, int]) -> list[ResourceQuota]:
    return [
        ResourceQuota(
            metadata=ObjectMeta(name="weight", namespace=namespace, uid=f"quota-{namespace}"),
            spec=ResourceQuotaSpec(hard={"volcano.sh/namespace.weight": str(weight)}),
        )
        for namespace, weight in by_namespace.items()
    ]


def job(namespace: str, name: str, held: int, *, more: int = 0, **fields: Any) -> list[Any]:
    return gang(
        name,
        namespace=namespace,
        pods=held + more,
        min_member=1,
        running_on=["n1"] * held,
        **{"cpu": "1", **fields},
    )


def key(session: Opened, namespace: str, queue: str = "default") -> tuple[Any, ...]:
    return session.ssn.ask.namespace_key(session.ssn.queues[queue], namespace)


def placed(session: Opened) -> list[str]:
    """Jobs in the order in which their pods were placed."""
    Allocate(None).execute(session.ssn)
    return [name.rpartition("-")[0] for name in session.binds]


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        # (weight, CPUs in use) of ns1 and ns2
        ((2, 6), (1, 2), "ns2"),  # 6/2 against 2/1
        ((3, 6), (1, 3), "ns1"),  # 6/3 against 3/1
        ((1, 2), (1, 2), "ns1"),  # equal: by name
    ],
)
def test_the_namespace_that_uses_less_for_its_weight_goes_first(
    one: tuple[int, int], other: tuple[int, int], first: str
) -> None:
    session = open_session(
        node("n1", cpu="16"),
        weights({"ns1": one[0], "ns2": other[0]}),
        job("ns1", "a", one[1]),
        job("ns2", "b", other[1]),
        tiers=[[ON]],
    )
    assert min(("ns1", "ns2"), key=lambda namespace: key(session, namespace)) == first


@pytest.mark.parametrize("cpus", [5, 10, 11, 17, 20])
def test_as_much_for_its_weight_is_equal_however_it_is_rounded(cpus: int) -> None:
    """In floats, 3/10 over 3 is less than 1/10 over 1."""
    session = open_session(
        node("n1", cpu=str(cpus)), weights({"ns2": 3}), job("ns1", "a", 1), job("ns2", "b", 3), tiers=[[ON]]
    )
    assert key(session, "ns1") < key(session, "ns2"), "by name"


def test_usage_is_counted_in_each_queue_by_itself() -> None:
    session = open_session(
        node("n1", cpu="10"),
        queue("q1"),
        queue("q2"),
        job("ns1", "a", 4, queue="q1"),
        job("ns1", "b", 1, queue="q2"),
        tiers=[[ON]],
    )
    assert key(session, "ns1", "q1") == (pytest.approx(0.4), "ns1")
    assert key(session, "ns1", "q2") == (pytest.approx(0.1), "ns1")
    assert key(session, "elsewhere", "q2") == (0.0, "elsewhere")


def test_usage_follows_what_is_placed_evicted_and_taken_back() -> None:
    session = open_session(node("n1", cpu="10"), job("ns1", "a", 2, more=2), tiers=[[ON]])
    before = key(session, "ns1")
    statement = session.place("ns1/a", {"ns1/a-2": "n1"})
    session.pipeline("ns1/a", {"ns1/a-3": "n1"}, statement)
    assert key(session, "ns1") == (0.4, "ns1")
    session.evict("ns1/a-0", statement=statement)
    assert key(session, "ns1") == (pytest.approx(0.3), "ns1")
    statement.discard()
    assert key(session, "ns1") == before


def test_a_turn_moves_the_rank_of_all_jobs_of_the_namespace() -> None:
    session = open_session(
        node("n1", cpu="10"),
        job("ns1", "job1", 0, more=1, cpu="2", age=4),
        job("ns1", "job2", 0, more=1, age=3),
        job("ns2", "job3", 0, more=1, age=2),
        job("ns2", "job4", 0, more=1, age=1),
        tiers=[[Gang, ON]],
        actions=[Allocate],
    )
    assert placed(session) == ["job1", "job3", "job4", "job2"]


def test_with_jobs_of_one_size_the_namespaces_take_turns() -> None:
    session = open_session(
        node("n1", cpu="10"),
        *(job(namespace, f"job{n}", 0, more=1, age=10 - n) for n, namespace in enumerate(("ns1", "ns1", "ns2", "ns2"))),
        tiers=[[Gang, ON]],
        actions=[Allocate],
    )
    assert placed(session) == ["job0", "job2", "job1", "job3"]


def test_without_the_switch_namespaces_do_not_matter() -> None:
    session = open_session(
        node("n1", cpu="10"),
        *(job(namespace, f"job{n}", 0, more=1, age=10 - n) for n, namespace in enumerate(("ns1", "ns1", "ns2", "ns2"))),
        tiers=[[Gang, Drf]],
        actions=[Allocate],
    )
    assert not session.ssn.dispatch.calls("namespace_order")
    assert placed(session) == ["job0", "job1", "job2", "job3"]


@pytest.mark.parametrize(
    ("quotas", "running", "expected"),
    [
        # ns2 asks for 1 CPU of 10 next to what it holds
        ({}, (8, 2), 5),  # .3 against .7, .6, .5, .4, .3
        ({"ns1": 3}, (8, 2), 0),  # .3 against .7/3
        ({}, (5, 5), 0),  # .6 against .4
    ],
)
def test_namespaces_are_compared_before_jobs(
    quotas: Mapping[str, int], running: tuple[int, int], expected: int
) -> None:
    session = open_session(
        node("n1", cpu="10"),
        weights(quotas),
        job("ns1", "a", running[0]),
        job("ns2", "b", running[1], more=1),
        tiers=[[ON]],
    )
    victims = session.victims("preemptable", f"ns2/b-{running[1]}", session.running("ns1/a", "ns2/b"))
    assert len(victims) == expected
    assert all(name.startswith("a-") for name in victims)


def test_a_tie_between_namespaces_gives_and_inside_one_the_jobs_decide() -> None:
    """ns1 6, ns2 4 and a new job in ns2: .5 against .5, more than the .4 of now; its .1 against .3 of its own b."""
    session = open_session(
        node("n1", cpu="10"), job("ns1", "a", 6), job("ns2", "b", 4), job("ns2", "new", 0, more=1), tiers=[[ON]]
    )
    for_a = session.victims("preemptable", "ns2/new-0", session.running("ns1/a"))
    assert len(for_a) == 1, "the next would leave ns1 with less than ns2 gets"
    assert len(session.victims("preemptable", "ns2/new-0", session.running("ns2/b"))) == 3


def test_namespaces_come_out_equal_however_it_is_rounded() -> None:
    """.3 over 3 against .1 without a pod of a, which is more than the .2 over 3 of now."""
    session = open_session(
        node("n1", cpu="10"), weights({"ns2": 3}), job("ns1", "a", 2), job("ns2", "b", 2, more=1), tiers=[[ON]]
    )
    assert session.victims("preemptable", "ns2/b-2", session.running("ns1/a")) == ["a-1"]


def test_where_namespaces_are_equal_before_and_after_the_jobs_decide() -> None:
    """By CPUs both hold .5, whatever memory they have: no namespace is owed anything."""
    session = open_session(
        node("n1", cpu="10", memory="10Gi"),
        *(
            gang(f"{name}-cpu", namespace=spot, queue="default", pods=5, min_member=1, cpu="1", running_on=["n1"] * 5)
            for spot, name in (("ns1", "a"), ("ns2", "b"))
        ),
        gang("a-memory", namespace="ns1", pods=3, min_member=1, memory="1Gi", running_on=["n1"] * 3),
        gang("b-memory", namespace="ns2", memory="1Gi"),
        tiers=[[ON]],
    )
    assert len(session.victims("preemptable", "ns2/b-memory-0", session.running("ns1/a-memory"))) == 2
    assert session.victims("preemptable", "ns2/b-memory-0", session.running("ns2/b-cpu")) == [
        f"b-cpu-{number}" for number in range(1, 5)
    ]


def test_inside_a_namespace_the_jobs_decide() -> None:
    session = open_session(node("n1", cpu="10"), job("ns1", "large", 9), job("ns1", "small", 1, more=1), tiers=[[ON]])
    victims = session.victims("preemptable", "ns1/small-1", session.running("ns1/large"))
    assert len(victims) == 7, ".2 against .8 down to .2"


def test_a_namespace_gives_whichever_of_its_jobs_holds_less() -> None:
    """Five pods of a go by namespace, down to the tie; at the sixth ns1 would have less."""
    session = open_session(
        node("n1", cpu="10"), job("ns1", "a", 6), job("ns1", "c", 2), job("ns2", "b", 2, more=1), tiers=[[ON]]
    )
    assert len(session.victims("preemptable", "ns2/b-2", session.running("ns1/a"))) == 5


def test_what_a_namespace_holds_in_all_queues_is_reported_with_its_weight_and_each_job_separately() -> None:
    session = open_session(
        node("n1", cpu="10"),
        queue("a"),
        weights({"ns1": 2}),
        job("ns1", "one", 2, queue="a"),
        job("ns1", "two", 3),
        job("ns2", "three", 1),
        tiers=[[Drf]],
    )
    drf = session.plugin(Drf)
    assert drf.describe_namespaces() == {"ns1": NamespaceShare(0.5, 2), "ns2": NamespaceShare(0.1, 1)}
    assert drf.describe_namespaces()["ns1"].weighted == 0.25
    assert drf.describe_jobs() == {"ns1/one": 0.2, "ns1/two": 0.3, "ns2/three": 0.1}
