"""Jobs that wait for other pods are looked at when pods move by which nodes refuse them, or may move in the cycle."""

from __future__ import annotations

from tests.support.sessions import gang, node, pod
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from volcano_py.api.objects import (
    Affinity,
    ApiObject,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)

HOST = "kubernetes.io/hostname"
ROOMY = [node(name, cpu="8", labels={HOST: name}) for name in ("n1", "n2")]


def near(app: str) -> Affinity:
    return Affinity(pod_affinity=_of(app))


def apart(app: str) -> Affinity:
    return Affinity(pod_anti_affinity=_of(app))


def _of(app: str) -> PodAffinity:
    return PodAffinity(
        required=[PodAffinityTerm(topology_key=HOST, label_selector=LabelSelector(match_labels={"app": app}))]
    )


def settled(*objects: ApiObject) -> Cluster:
    cluster = Cluster(*ROOMY, *objects)
    cluster.settle()
    return cluster


def test_what_waits_for_pods_that_do_not_come_is_not_looked_at_and_reported_all_the_same() -> None:
    cluster = settled(*gang("web", cpu="1", affinity=near("db")))
    report = cluster.cycle()
    assert Watcher.jobs == set()
    assert "podAffinity requires the same" in report.pending[0].message


def test_pods_that_it_does_not_wait_for_are_placed_without_a_look_at_it() -> None:
    cluster = settled(*gang("web", cpu="1", affinity=near("db")), *gang("cache", cpu="1", affinity=near("store")))
    cluster.put(*gang("other", cpu="1", labels={"app": "store"}, namespace="elsewhere"))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["other-0"], {"other"})
    assert cluster.looked_at() == set()


def test_it_follows_a_pod_that_it_waits_for_in_the_same_cycle() -> None:
    cluster = settled(*gang("web", cpu="1", affinity=near("db")), *gang("other", cpu="1", affinity=near("store")))
    cluster.put(*gang("db", cpu="1", labels={"app": "db"}))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["db-0", "web-0"], {"db", "web"})


def test_it_follows_one_that_waits_for_a_third() -> None:
    cluster = settled(
        *gang("page", cpu="1", affinity=near("web")),
        *gang("web", cpu="1", affinity=near("db"), labels={"app": "web"}),
    )
    assert cluster.looked_at() == set()
    cluster.put(*gang("db", cpu="1", labels={"app": "db"}))
    cluster.cycle()
    assert Watcher.jobs == {"db", "web", "page"}


def test_it_follows_a_pod_that_another_scheduler_has_placed() -> None:
    cluster = settled(*gang("web", cpu="1", affinity=near("db")))
    cluster.put(pod("db", on="n2", labels={"app": "db"}, scheduler="default-scheduler"))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_other_pods_keep_away_is_looked_at_when_one_of_them_is_gone() -> None:
    loud = [pod(f"loud-{name}", on=name, labels={"app": "loud"}, affinity=apart("calm")) for name in ("n1", "n2")]
    calm = gang("calm", cpu="1", labels={"app": "calm"})
    cluster = settled(*loud, *calm, *gang("shy", cpu="1", affinity=apart("loud")))
    assert cluster.looked_at() == set()
    cluster.state.delete("Pod", loud[0])
    cluster.cycle()
    assert Watcher.jobs == {"calm", "shy"}
    assert cluster.bound() == ["calm-0", "shy-0"]


def test_what_is_spread_is_looked_at_when_pods_move_among_which_it_is_spread() -> None:
    selector = LabelSelector(match_labels={"app": "web"})
    spread = TopologySpreadConstraint(max_skew=1, topology_key=HOST, label_selector=selector)
    there = [pod("web-a", on="n1", labels={"app": "web"}), pod("web-b", on="n2", labels={"app": "web"}, cpu="8")]
    cluster = settled(
        *there,
        pod("web-c", on="n1", labels={"app": "web"}),
        *gang("new", cpu="1", labels={"app": "web"}, spread=[spread]),
    )
    assert cluster.looked_at() == set()
    cluster.put(*gang("other", cpu="1"))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["other-0"], {"other"})
    cluster.state.delete("Pod", there[0])
    cluster.cycle()
    assert cluster.bound() == ["new-0"]


def test_a_gang_that_a_term_of_others_divides_is_looked_at() -> None:
    """Which of its pods holds up the others is part of the message."""
    busy = [each for name in ("n1", "n2") for each in gang(f"on-{name}", cpu="6", running_on=[name])]
    group = gang("large", pods=2)[0]
    members = [pod(f"large-{number}", group="large", cpu="4", labels={"app": str(number)}) for number in range(2)]
    cluster = settled(*busy, group, *members)
    assert cluster.looked_at() == set()
    cluster.put(*gang("alone", cpu="1", affinity=apart("0")))
    assert cluster.looked_at() == {"alone", "large"}
