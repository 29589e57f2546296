"""A node attaches so many volumes of a driver: those that are there and those that pods of this cycle bring."""

from __future__ import annotations

from typing import Any

from tests.support.placement.node_answers import answers, class_of, node_rows, refusing_for_good, willing
from tests.support.placement.volumes import MADE, claim, csi_node, mine, session, using, volume
from tests.support.sessions import Opened, node, pod
from volcano_py.framework.plugin import Reach
from volcano_py.framework.views import NodeView
from volcano_py.plugins.predicates import Predicates

TOO_MANY = "node(s) exceed max volume count"


def attached(name: str, driver: str = "disk.csi") -> list[Any]:
    return [claim(name, bound_to=f"pv-{name}"), volume(f"pv-{name}", claim=name, driver=driver)]


def limited(count: int | None = 2) -> list[Any]:
    return [csi_node(name, **{"disk.csi": count}) for name in ("n1", "n2")]


def test_a_node_attaches_so_many_volumes_of_a_driver() -> None:
    old = [using(pod(f"old-{name}", on="n1"), name) for name in ("a", "b")]
    opened = session(mine("data"), old, attached("a"), attached("b"), attached("data"), limited())
    assert answers(opened, Predicates, "p") == {"n1": TOO_MANY, "n2": "", "n3": ""}
    other = session(mine("data"), old, attached("a"), attached("b"), attached("data", "other.csi"), limited())
    assert len(willing(other, Predicates, "p")) == 3
    off = session(mine("data"), old, attached("a"), attached("b"), attached("data"), limited(), NodeVolumeLimits=False)
    assert len(willing(off, Predicates, "p")) == 3


def test_evictions_can_help_against_attach_limits() -> None:
    old = [using(pod(f"old-{name}", on="n1"), name) for name in ("a", "b")]
    opened = session(mine("data"), old, attached("a"), attached("b"), attached("data"), limited())
    assert answers(opened, Predicates, "p")["n1"] == TOO_MANY
    assert refusing_for_good(opened, Predicates, "p") == []


def test_volumes_of_a_pod_that_goes_are_attached_until_it_is_gone() -> None:
    old = [using(pod(f"old-{name}", on="n1", group="g"), name) for name in ("a", "b")]
    opened = session(mine("data"), old, attached("a"), attached("b"), attached("data"), limited())
    row = opened.node_row("n1")
    assert not opened.ssn.placer.may_take(class_of(opened, "p"), row)
    opened.evict("old-a")
    assert opened.ssn.placer.may_take(class_of(opened, "p"), row)
    assert answers(opened, Predicates, "p")["n1"] == TOO_MANY


def test_a_volume_that_several_pods_use_counts_once_a_node() -> None:
    old = [using(pod(f"old-{number}", on="n1"), "shared") for number in range(3)]
    opened = session(mine("shared", "data"), old, attached("shared"), attached("data"), limited())
    assert len(willing(opened, Predicates, "p")) == 3


def test_a_volume_that_several_pods_use_is_one_more_where_it_is_not_attached_yet() -> None:
    both = [using(pod("old-shared", on="n2"), "shared"), using(pod("old-b", on="n2"), "b")]
    old = [*(using(pod(f"old-{name}", on="n1"), name) for name in ("a", "c")), *both]
    claims = [each for name in ("shared", "a", "b", "c") for each in attached(name)]
    opened = session(mine("shared"), old, claims, limited())
    assert answers(opened, Predicates, "p") == {"n1": TOO_MANY, "n2": "", "n3": ""}


def test_a_pod_that_attaches_nothing_new_is_welcome_on_a_node_beyond_its_limit() -> None:
    """A limit may shrink beneath what is attached; kube-scheduler counts only where the pod brings a new volume."""
    old = [using(pod(f"old-{name}", on="n1"), name) for name in ("shared", "b")]
    opened = session(mine("shared"), old, attached("shared"), attached("b"), limited(1))
    assert willing(opened, Predicates, "p") == ["n1", "n2", "n3"]


def test_a_driver_whose_volume_is_attached_already_is_not_reported_as_full() -> None:
    old = [using(pod(f"old-{name}", on="n1"), name) for name in ("shared", "b")]
    claims = [*attached("shared"), *attached("b"), *attached("new", "other.csi")]
    limits = csi_node("n1", **{"disk.csi": 1, "other.csi": 0})
    opened = session(mine("shared", "new"), old, claims, limits, at=[node("n1")])
    message = opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    assert "CSI driver other.csi attaches at most 0 volumes" in message
    assert "disk.csi" not in message


def test_volumes_that_are_to_be_created_count_as_their_drivers() -> None:
    old = [using(pod(f"old-{name}", on="n1"), name) for name in ("a", "b")]
    opened = session(mine("data"), old, attached("a"), attached("b"), claim("data", of=MADE), limited())
    assert willing(opened, Predicates, "p") == ["n2", "n3"]


def test_the_placer_counts_the_volumes_of_the_pods_that_it_places() -> None:
    pods = [mine(f"c{number}", f"d{number}", name=f"p{number}") for number in range(4)]
    claims = [claim(f"{kind}{number}", of=MADE) for number in range(4) for kind in "cd"]
    opened = session(pods, claims, [csi_node(name, **{"disk.csi": 3}) for name in ("n1", "n2")])
    task_class = class_of(opened, "p0")
    assert opened.plugin(Predicates).predicate_reach(task_class) is Reach.ROW
    opened.place("g", {"p0": "n1"})
    assert willing(opened, Predicates, "p1") == ["n2", "n3"]


def rooms(opened: Opened, name: str, *, released: bool = False) -> list[int] | None:
    """How many pods of the class of this one n1 and n2 take."""
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ("n1", "n2")), released=released)
    found = opened.plugin(Predicates).predicate_room(class_of(opened, name), view)
    return None if found is None else found.tolist()


def test_a_node_has_room_for_as_many_pods_as_it_can_attach_the_volumes_of() -> None:
    pods = [mine(f"c{number}", f"d{number}", name=f"p{number}") for number in range(2)]
    claims = [claim(f"{kind}{number}", of=MADE) for number in range(2) for kind in "cd"]
    nodes_of_driver = [csi_node("n1", **{"disk.csi": 3}), csi_node("n2", **{"disk.csi": 7})]
    assert rooms(session(pods, claims, nodes_of_driver), "p0") == [1, 3]


def test_room_counts_what_is_released_where_it_is_asked_for() -> None:
    old = [using(pod(f"old-{name}", on="n1", group="g"), name) for name in ("a", "b")]
    opened = session(mine("data"), old, attached("a"), attached("b"), attached("data"), limited())
    opened.evict("old-a")
    assert rooms(opened, "p") == [0, 2]
    assert rooms(opened, "p", released=True) == [1, 2]


def test_a_driver_that_knows_no_limit_has_none() -> None:
    opened = session(mine("data"), attached("data"), limited(None))
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p")) is Reach.STATIC
