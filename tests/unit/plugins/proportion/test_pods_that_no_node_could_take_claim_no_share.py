"""What waits for no free place, as it fits no node or is gated, leaves its queue's share to others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.api.objects import ApiObject, Node, Taint, Toleration
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.proportion import Proportion


def nodes(**fields: Any) -> list[Node]:
    """40 cpu together."""
    return [node(f"n{index}", cpu="10", **fields) for index in range(4)]


def opened(*objects: Objects | list[Any], on: list[Node] | None = None) -> Opened:
    flat: list[Any] = [one for each in objects for one in (each if isinstance(each, list) else [each])]
    queues = [queue("a"), queue("b")]
    return open_session(*(on or nodes()), *queues, *flat, tiers=[[Gang], [Predicates, Proportion]], actions=[Allocate])


def elastic(name: str, count: int, queue: str, cpu: str = "1", **fields: Any) -> list[ApiObject]:
    """So many pods that may start one by one."""
    return gang(name, pods=count, min_member=1, queue=queue, cpu=cpu, **fields)


def deserved(session: Opened) -> dict[str, int]:
    """Queue → deserved cpu."""
    facts = session.plugin(Proportion).describe_queues()
    return {name: facts[name]["deserved"].get("cpu", 0) // 1000 for name in ("a", "b")}


def test_pods_with_a_selector_that_no_node_has() -> None:
    session = opened(elastic("runs", 50, "a"), elastic("stuck", 50, "b", node_selector={"pool": "typo"}))
    assert deserved(session) == {"a": 40, "b": 0}


def test_pods_that_tolerate_no_node() -> None:
    gpus = [node(f"g{index}", cpu="10", taints=(Taint("gpu", "", "NoSchedule"),)) for index in range(2)]
    runs = elastic("runs", 50, "a", tolerations=[Toleration("gpu", "Exists")])
    session = opened(runs, elastic("stuck", 50, "b"), on=gpus)
    assert deserved(session) == {"a": 20, "b": 0}


def test_pods_larger_than_any_node() -> None:
    assert deserved(opened(elastic("runs", 50, "a"), elastic("large", 5, "b", cpu="11"))) == {"a": 40, "b": 0}


def test_pods_that_are_gated() -> None:
    session = opened(elastic("runs", 50, "a"), elastic("gated", 50, "b", gates=["example.com/quota"]))
    assert deserved(session) == {"a": 40, "b": 0}


def test_a_gang_for_which_all_nodes_are_too_few() -> None:
    assert deserved(opened(elastic("runs", 50, "a"), gang("large", pods=5, queue="b", cpu="6"))) == {"a": 40, "b": 0}
    assert deserved(opened(elastic("runs", 50, "a"), gang("fits", pods=4, queue="b", cpu="6"))) == {"a": 20, "b": 20}


def test_a_gang_with_one_pod_that_fits_nowhere() -> None:
    large = [pod("large-2", group="large", cpu="11"), *gang("large", pods=2, min_member=3, queue="b", cpu="6")]
    assert deserved(opened(elastic("runs", 50, "a"), large)) == {"a": 40, "b": 0}


def test_of_an_elastic_job_the_pods_beyond_what_all_nodes_could_take() -> None:
    """One pod of 6 cpu fits on each node of 10: more than 24 cpu would lie idle."""
    session = opened(queue("c", weight=8), elastic("runs", 50, "a"), elastic("large", 9, "c", cpu="6"))
    assert deserved(session)["a"] == 16


def test_the_share_is_claimed_again_once_a_node_could_take_them() -> None:
    runs, waits = elastic("runs", 50, "a"), elastic("waits", 50, "b", node_selector={"pool": "new"})
    assert deserved(opened(runs, waits, on=[*nodes(), node("new", cpu="40", labels={"pool": "new"})])) == {
        "a": 40,
        "b": 40,
    }


def test_pods_that_wait_for_others_to_leave_claim_theirs() -> None:
    places = [f"n{index}" for index in range(4) for _ in range(10)]
    session = opened(elastic("runs", 40, "a", running_on=places), elastic("waits", 50, "b"))
    assert deserved(session) == {"a": 20, "b": 20}


@pytest.mark.parametrize("fields", [{"node_selector": {"pool": "typo"}}, {"gates": ["example.com/quota"]}])
def test_the_report_has_all_requests(fields: dict[str, Any]) -> None:
    session = opened(elastic("runs", 50, "a"), elastic("stuck", 50, "b", **fields))
    assert session.plugin(Proportion).describe_queues()["b"]["request"]["cpu"] == 50_000
