"""numa-aware: which nodes take a pod, what the others say, scores, and which CPUs count as used."""

from typing import Any

import numpy as np
import pytest

from tests.support.placement.node_answers import answers, batch_scores, class_of, node_rows, refusing_for_good, willing
from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.numa.cpu_lists import write_cpus
from volcano_py.api.numa.topologies import Numatopology
from volcano_py.framework.plugin import GoesBy, Reach
from volcano_py.framework.views import NodeView
from volcano_py.plugins.numa_aware import NumaAware
from volcano_py.plugins.numa_aware.use import CpuUse

ONE = "node(s) had too few CPUs free on one NUMA node"
FEW = "node(s) had too few CPUs free on as few NUMA nodes as they could be on"


def session(*objects: Any, weight: int = 1) -> Opened:
    """Nodes for all Numatopologies, and the pod `new`."""
    nodes = [node(each.metadata.name, cpu="64") for each in objects if isinstance(each, Numatopology)]
    return open_session(pod_group("g"), nodes, objects, tiers=[[(NumaAware, {"arguments": {"weight": weight}})]])


def says(new: Any, made: Numatopology, *others: Any) -> str:
    return answers(session(made, new, *others), NumaAware, "new")["n1"]


# -- which nodes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        pytest.param(topology("n1", places(8, 8)), "", id="fits"),
        pytest.param(
            topology("n1", places(8, 8), manager="none"), "node(s) had no static CPU manager policy", id="not static"
        ),
        pytest.param(
            topology("n1", places(8, 8), policy="restricted"),
            "node(s) had the topology manager policy restricted, not single-numa-node",
            id="another policy",
        ),
        pytest.param(
            topology("n1", places(8, 8), policy="none"),
            "node(s) had the topology manager policy none, not single-numa-node",
            id="no policy",
        ),
        pytest.param(
            topology("n1", places(8, 8), policy="strict"),
            "node(s) had an unknown topology manager policy, not single-numa-node",
            id="an unknown policy",
        ),
        pytest.param(topology("n1", []), "node(s) had a Numatopology without CPUs", id="no CPUs"),
        pytest.param(
            topology("n1", places(8, 8), ""), "node(s) had no CPU free for pods with CPUs of their own", id="none free"
        ),
        pytest.param(topology("n1", places(8, 8), "0-2,8-10"), ONE, id="too few"),
        pytest.param(topology("n1", places(8, 8), "0-3,8-10", reserved="1"), ONE, id="one is reserved"),
        pytest.param(topology("n1", places(3, 3)), "node(s) had too small NUMA nodes", id="too small"),
    ],
)
def test_a_node_takes_a_pod_whose_cpus_it_can_align_under_the_same_policy(made: Numatopology, answer: str) -> None:
    assert says(pinned("new", 4), made) == answer


def test_only_what_may_change_leaves_hope_for_evictions() -> None:
    opened = session(
        topology("small", places(3, 3)),
        topology("full", places(8, 8), "0-2"),
        topology("other", places(8, 8), policy="restricted"),
        pinned("new", 4),
        node("none"),
    )
    assert refusing_for_good(opened, NumaAware, "new") == ["none", "other", "small"]


@pytest.mark.parametrize(
    ("cpus", "policy", "answer"),
    [
        (4, "single-numa-node", ""),
        (4, "restricted", ""),
        (7, "best-effort", ""),
        (7, "restricted", FEW),
        (7, "single-numa-node", ONE),
        (9, "restricted", ""),
        (9, "single-numa-node", "node(s) had too small NUMA nodes"),
        (17, "restricted", "node(s) had too few CPUs"),
    ],
)
def test_the_worked_example(cpus: int, policy: str, answer: str) -> None:
    """Two NUMA nodes of 8, of which 6 and 3 are free."""
    made = topology("n1", places(8, 8), "0-5,8-10", policy=policy)
    assert says(pinned("new", cpus, policy=policy), made) == answer


@pytest.mark.parametrize(
    ("made", "is_taken"),
    [
        (topology("n1", places(8, 8), "0-2,8-10"), False),
        (topology("n1", places(8, 8), "0-2,8-10", policy="restricted"), False),
        (topology("n1", places(8, 8), "0-2,8-10", policy="best-effort"), True),
        (topology("n1", places(8, 8), "0-2,8-10", policy="none"), True),
        (topology("n1", places(8, 8), "0-2,8-10", manager="none"), True),
        (topology("n1", []), True),
    ],
)
def test_a_pod_without_a_policy_has_to_pass_that_of_the_node(made: Numatopology, is_taken: bool) -> None:
    opened = session(made, node("plain"), pinned("new", 4, policy=""))
    assert willing(opened, NumaAware, "new") == (["n1", "plain"] if is_taken else ["plain"])


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(pod("new", group="g", cpu="4"), id="not guaranteed"),
        pytest.param(pinned("new", "3500m", policy=""), id="a part of a CPU"),
        pytest.param(pinned("new", "500m", policy="", init="4"), id="an init container"),
    ],
)
def test_other_pods_pass_everywhere(new: Any) -> None:
    opened = session(topology("n1", places(8, 8), "0"), node("plain"), new)
    assert willing(opened, NumaAware, "new") == ["n1", "plain"]
    task_class = class_of(opened, "new")
    assert opened.plugin(NumaAware).predicate_reach(task_class) is Reach.STATIC


def test_containers_are_aligned_one_by_one() -> None:
    made = topology("n1", places(8, 8))
    assert says(pinned("new", 5, 5), made) == ""
    assert says(pinned("new", 5, 5, "500m", 3, 3), made) == ""
    assert says(pinned("new", 5, 5, 5), made) == "node(s) had too small NUMA nodes"
    assert says(pinned("new", 5, 5), topology("n1", places(8, 8), "0-6,8-11")) == ONE


def test_a_container_sees_which_cpus_those_before_took_of_several_numa_nodes() -> None:
    """Five CPUs take one NUMA node whole, and a CPU of the other one."""
    made = topology("n1", places(4, 4), policy="restricted")
    assert says(pinned("new", 5, 3, policy="restricted"), made) == ""
    assert says(pinned("new", 5, 1, 3, policy="restricted"), made) == "node(s) had too few CPUs"
    assert says(pinned("new", 5, 4, policy="restricted"), made) == "node(s) had too few CPUs"


# -- scores ------------------------------------------------------------------------------------------------------------


def test_nodes_that_use_fewer_numa_nodes_are_better() -> None:
    """The worked example: 1, 2 and 4 NUMA nodes, weight 10."""
    fours = places(4, 4, 4, 4)
    opened = session(
        topology("one", fours, "0-3", policy="best-effort"),
        topology("two", fours, "0-1,4-5", policy="best-effort"),
        topology("four", fours, "0,4,8,12", policy="best-effort"),
        pinned("new", 4, policy="best-effort"),
        weight=10,
    )
    assert batch_scores(opened, NumaAware, "new", ["four", "one", "two"]) == {"four": 0.0, "one": 750.0, "two": 500.0}
    assert batch_scores(opened, NumaAware, "new", ["one", "two"]) == {"one": 500.0, "two": 0.0}
    assert batch_scores(opened, NumaAware, "new", ["one"]) == {"one": 0.0}
    assert opened.plugin(NumaAware).batch_node_order_reach(class_of(opened, "new")) is Reach.DOMAIN


@pytest.mark.parametrize(("policy", "weight"), [("", 1), ("best-effort", 0)])
def test_without_a_policy_or_a_weight_there_are_no_scores(policy: str, weight: int) -> None:
    new = pinned("new", 4, policy=policy)
    opened = session(topology("n1", places(8, 8), policy="best-effort"), new, weight=weight)
    assert batch_scores(opened, NumaAware, "new") is None
    assert opened.plugin(NumaAware).scores_nodes_alone(class_of(opened, "new"))


# -- room --------------------------------------------------------------------------------------------------------------


def room(opened: Opened) -> list[int] | None:
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened))
    found = opened.plugin(NumaAware).predicate_room(class_of(opened, "new"), view)
    return None if found is None else found.tolist()


def test_room_is_known_where_a_container_fits_on_one_numa_node() -> None:
    plenty = np.iinfo(np.int64).max
    opened = session(
        topology("a", places(8, 8), "0-6,8-10"),
        topology("b", places(8, 8), "0-6", policy="restricted"),
        topology("c", places(8, 8), "0-6", policy="best-effort"),
        pinned("new", 3, policy=""),
        node("d"),
    )
    assert room(opened) == [3, 2, plenty, plenty]
    assert room(session(topology("a", places(8, 8)), pinned("new", 9, policy=""))) is None
    assert room(session(topology("a", places(8, 8)), pinned("new", 2, 2, policy=""))) is None


# -- which CPUs are in use ---------------------------------------------------------------------------------------------


def free(opened: Opened, *, released: bool = False) -> str:
    return write_cpus(opened.plugin(NumaAware)._use.free(opened.node_row("n1"), released=released))


def test_pods_of_one_cycle_see_what_those_before_took_and_undoing_gives_it_back() -> None:
    opened = session(topology("n1", places(8, 8)), *(pinned(f"p{number}", 6) for number in range(3)))
    statement = opened.place("g", {"p0": "n1"})
    assert free(opened) == "6-15"
    opened.place("g", {"p1": "n1"}, statement)
    assert free(opened) == "6-7,14-15"
    assert answers(opened, NumaAware, "p2") == {"n1": ONE}
    statement.discard()
    assert free(opened) == "0-15"


def test_bound_pods_hold_cpus_until_the_object_shows_them() -> None:
    """As after a restart: nothing but the cluster says so."""
    old = [pinned("old", 6, on="n1", phase="Pending"), pinned("older", 4, on="n1", age=9)]
    opened = session(topology("n1", places(8, 8)), *old)
    assert free(opened) == "4-7,14-15", "the older one is first"
    shown = topology("n1", places(8, 8), "0-7,12-15", shown={"older": "8-11"})
    assert free(session(shown, *old)) == "6-7,12-15", "what the object shows, and what the other one will get"


def test_an_exporter_that_names_no_pods_is_believed_by_the_number_of_cpus() -> None:
    old = [pinned("old", 4, on="n1", phase="Pending"), pinned("older", 4, on="n1", age=9)]
    opened = session(topology("n1", places(8, 8), "0-3,8-15"), *old)
    assert free(opened) == "8-15", "one pod has its CPUs, the newer one gets the next ones"
    assert free(session(topology("n1", places(8, 8), "8-15"), *old)) == "8-15"


@pytest.mark.parametrize("listed", ["0-15", "2-15"])
def test_reserved_cpus_count_as_given_to_no_pod_whether_they_are_listed_or_not(listed: str) -> None:
    old = pinned("old", 2, on="n1", phase="Pending")
    assert free(session(topology("n1", places(8, 8), listed, reserved="2"), old)) == "4-15"


def test_pods_of_others_without_a_policy_hold_cpus_too() -> None:
    other = pinned("other", 2, policy="", group="", on="n1", scheduler="default-scheduler")
    assert free(session(topology("n1", places(8, 8)), other)) == "2-15"
    part = pinned("other", "1500m", policy="", group="", on="n1", scheduler="default-scheduler")
    assert free(session(topology("n1", places(8, 8)), part)) == "0-15"


def test_cpus_of_leaving_pods_are_free_then_and_so_are_those_of_pods_that_are_gone() -> None:
    made = topology("n1", places(8, 8), "12-15", shown={"here": "0-3", "leaving": "4-7", "gone": "8-11"})
    here = [pinned("here", 4, on="n1"), pinned("leaving", 4, on="n1", deleting=True)]
    opened = session(made, pinned("new", 8), *here)
    assert (free(opened), free(opened, released=True)) == ("12-15", "4-15")
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened), released=True)
    assert opened.plugin(NumaAware).predicate(class_of(opened, "new"), view).tolist() == [0]
    opened.pipeline("g", {"new": "n1"})
    assert (free(opened), free(opened, released=True)) == ("", "4-7"), "the promised place is nobody else's"


def test_evicted_pods_give_their_cpus_back_then() -> None:
    made = topology("n1", places(8), "", shown={"here": "0-7"})
    opened = session(made, pinned("here", 8, on="n1"), pinned("new", 8))
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened), released=True)
    assert opened.plugin(NumaAware).predicate(class_of(opened, "new"), view).all()
    statement = opened.evict("here")
    assert (free(opened), free(opened, released=True)) == ("", "0-7")
    assert not opened.plugin(NumaAware).predicate(class_of(opened, "new"), view).any()
    statement.discard()
    assert (free(opened), free(opened, released=True)) == ("", "")


def test_on_a_silent_node_no_more_cpus_will_be_free_whoever_leaves() -> None:
    """Its exporter has ended: nobody is evicted for CPUs that it will never show."""
    made = topology("n1", places(4, 4), "", shown={"gone": "0-3", "here": "4-7"})
    opened = session(made, pinned("here", 4, on="n1"), pinned("new", 4))
    opened.evict("here")
    plugin, row = opened.plugin(NumaAware), opened.node_row("n1")
    for silent, then in ((frozenset[str](), "0-7"), (frozenset({"n1"}), "")):
        use = CpuUse(opened.ssn, plugin._nodes, silent)
        assert (write_cpus(use.free(row, released=False)), write_cpus(use.free(row, released=True))) == ("", then)


def test_a_place_that_was_kept_and_does_not_fit_any_more_takes_what_is_there() -> None:
    opened = session(topology("n1", places(4, 4), "0-1,4-5"), pinned("new", 4))
    opened.place("g", {"new": "n1"})
    assert free(opened) == ""
    assert not opened.ssn.dispatch.failures.counts


def test_a_cycle_in_which_nothing_asks_for_cpus_does_not_work_out_which_are_in_use() -> None:
    opened = session(topology("n1", places(8, 8)), pinned("old", 4, on="n1"), pod("new", group="g", cpu="1"))
    opened.place("g", {"new": "n1"})
    assert willing(opened, NumaAware, "new") == ["n1"]
    assert "_use" not in vars(opened.plugin(NumaAware))


def test_jobs_that_wait_for_cpus_are_looked_at_after_any_change() -> None:
    opened = session(topology("n1", places(4, 4)), pinned("new", 4))
    assert opened.plugin(NumaAware).predicate_goes_by(class_of(opened, "new")) is GoesBy.UNKNOWN
    assert opened.plugin(NumaAware).predicate_reach(class_of(opened, "new")) is Reach.ROW
