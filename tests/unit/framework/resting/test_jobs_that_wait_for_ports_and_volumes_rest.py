"""Jobs that wait for a host port, a disk or a volume are looked at when one is given back, comes, or means another."""

from __future__ import annotations

from typing import Any, Final

from tests.support.placement.volumes import LOCAL, MADE, capacity, claim, csi_driver, csi_node, storage_class, volume
from tests.support.placement.volumes import using as with_claims
from tests.support.sessions import gang, node, pod
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_spec
from volcano_py.api.objects import ApiObject, GCEPersistentDiskSource, Pod, Volume

HOST: Final = "kubernetes.io/hostname"
DRIVER: Final = "disk.csi"
ROOMY: Final = [
    *(node(name, cpu="8", labels={HOST: name}) for name in ("n1", "n2")),
    storage_class(LOCAL),
    storage_class(MADE, provisioner=DRIVER),
]


def using(name: str, *claims: str, **fields: Any) -> list[ApiObject]:
    """A job of one pod with these claims."""
    group, member = gang(name, cpu="1", **fields)
    assert isinstance(member, Pod)
    return [group, with_claims(member, *claims)]


def mounting(name: str, disk: str, **fields: Any) -> list[ApiObject]:
    group, member = gang(name, cpu="1", **fields)
    assert isinstance(member, Pod)
    source = GCEPersistentDiskSource(pd_name=disk)
    return [group, with_spec(member, volumes=[Volume(name="disk", gce_persistent_disk=source)])]


def settled(*objects: ApiObject, **fields: Any) -> Cluster:
    """A cluster at rest, in which no cycle looks at any job that waits."""
    cluster = Cluster(*ROOMY, *objects, **fields)
    cluster.settle()
    assert cluster.looked_at() == set()
    return cluster


def servers(port: int) -> list[ApiObject]:
    """A pod on each node that holds the port."""
    return [each for name in ("n1", "n2") for each in gang(f"on-{name}-{port}", running_on=[name], host_ports=[port])]


def test_what_waits_for_a_host_port_is_looked_at_when_the_port_is_free_again() -> None:
    web, dns = gang("web", cpu="1", host_ports=[80]), gang("dns", cpu="1", host_ports=[53])
    cluster = settled(*servers(80), *servers(53), *web, *dns)
    assert "Host port 80/TCP is taken by" in cluster.cycle().pending[0].message
    cluster.put(*gang("other", cpu="1", host_ports=[443]))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["other-0"], {"other"})
    cluster.state.delete("Pod", cluster.pod("on-n2-80-0"))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]
    assert "dns" not in Watcher.jobs


def test_what_waits_for_a_host_port_rests_where_pods_may_be_evicted_too() -> None:
    cluster = settled(*servers(80), *gang("web", cpu="1", host_ports=[80]), actions="allocate, preempt")
    cluster.state.delete("Pod", cluster.pod("on-n2-80-0"))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_waits_for_a_disk_is_looked_at_when_the_disk_is_free_again() -> None:
    users = [each for name in ("n1", "n2") for each in mounting(f"on-{name}", "d", running_on=[name])]
    cluster = settled(*users, *mounting("web", "d"))
    cluster.state.delete("Pod", cluster.pod("on-n1-0"))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_waits_for_a_claim_that_does_not_exist_is_looked_at_when_it_comes() -> None:
    cluster = settled(*using("web", "data"), *using("dns", "zones"))
    assert "PersistentVolumeClaim team/data does not exist" in cluster.cycle().pending[0].message
    cluster.put(claim("data", of=MADE))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["web-0"], {"web"})


def test_what_waits_for_a_volume_is_looked_at_when_one_of_its_class_comes() -> None:
    cluster = settled(*using("web", "data"), claim("data"), *using("dns", "zones"), claim("zones", of="other"))
    cluster.put(volume("pv-1", on=["n2"]))
    cluster.cycle()
    assert (cluster.bound(), Watcher.jobs) == (["web-0"], {"web"})


def test_what_waits_for_space_is_looked_at_when_a_driver_has_some() -> None:
    full = capacity("n1", free="1Gi", nodes={HOST: "n1"})
    cluster = settled(*using("web", "data"), claim("data", of=MADE, size="10Gi"), csi_driver(DRIVER), full)
    cluster.put(capacity("n1", free="20Gi", nodes={HOST: "n1"}))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_waits_for_space_is_looked_at_when_the_driver_reports_none_any_more() -> None:
    cluster = settled(*using("web", "data"), claim("data", of=MADE), csi_driver(DRIVER))
    cluster.put(csi_driver(DRIVER, reports_capacity=False))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def attached(name: str, on: str) -> list[ApiObject]:
    """A job that runs on the node with a volume of the driver, and its claim and volume."""
    data = volume(f"pv-{name}", of=MADE, driver=DRIVER, claim=name)
    return [data, claim(name, of=MADE, bound_to=f"pv-{name}"), *using(name, name, running_on=[on])]


def one_each() -> list[ApiObject]:
    """Each node attaches one volume."""
    return [csi_node(name, **{DRIVER: 1}) for name in ("n1", "n2")]


def test_what_no_node_can_attach_is_looked_at_when_a_volume_of_the_driver_leaves() -> None:
    waiting = [claim("data", of=MADE), *using("web", "data")]
    cluster = settled(*one_each(), *attached("a", "n1"), *attached("b", "n2"), *waiting)
    cluster.state.delete("Pod", cluster.pod("b-0"))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_no_node_can_attach_is_looked_at_when_a_node_attaches_more() -> None:
    waiting = [claim("data", of=MADE), *using("web", "data")]
    cluster = settled(*one_each(), *attached("a", "n1"), *attached("b", "n2"), *waiting)
    cluster.put(csi_node("n1", **{DRIVER: 2}))
    cluster.cycle()
    assert cluster.bound() == ["web-0"]


def test_what_waits_for_room_is_looked_at_when_a_pod_turns_out_to_use_a_volume_there() -> None:
    """The claim of a pod that runs may become known later than the pod."""
    data, its_claim, *user = attached("late", "n1")
    waiting = [claim("data", of=MADE), *using("web", "data", node_selector={HOST: "n1"})]
    busy = gang("busy", cpu="8", running_on=["n1"])
    cluster = settled(*one_each(), *busy, *user, *waiting)
    assert "Insufficient cpu" in cluster.cycle().pending[0].message
    cluster.put(data, its_claim)
    cluster.cycle()
    assert "exceed max volume count" in cluster.settle().pending[0].message


def test_a_claim_for_one_pod_at_a_time_wakes_the_next_when_that_pod_is_gone() -> None:
    data = [
        volume("pv-data", of=MADE, claim="data", modes=["ReadWriteOncePod"]),
        claim("data", of=MADE, bound_to="pv-data", modes=["ReadWriteOncePod"]),
    ]
    cluster = settled(*data, *using("first", "data", running_on=["n1"]), *using("second", "data"))
    cluster.put(pod("stranger", on="n2", cpu="1", scheduler="default-scheduler"))
    assert "second" not in cluster.looked_at()
    cluster.state.delete("Pod", cluster.pod("first-0"))
    cluster.cycle()
    assert cluster.bound() == ["second-0"]
