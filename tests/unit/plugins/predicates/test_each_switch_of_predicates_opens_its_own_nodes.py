"""Every switch of predicates takes away its own filter and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.placement.node_answers import class_of
from tests.support.placement.volumes import (
    HOST,
    LOCAL,
    MADE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import (
    Affinity,
    ISCSISource,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    SelectorRequirement,
    Taint,
    TopologySpreadConstraint,
    Volume,
)
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.predicates import Predicates

ZONE = "topology.kubernetes.io/zone"
DISK = "disk.csi"

REFUSED_BY = {
    "NodeAffinity": {"affinity", "selector"},
    "TaintToleration": {"tainted"},
    "NodePorts": {"port"},
    "PodAffinity": {"company"},
    "PodTopologySpread": {"crowded"},
    "NodeVolumeLimits": {"attached"},
    "VolumeZone": {"zone"},
    "VolumeBinding": {"reach", "volumeless", "spaceless", "written"},
}
"""Switch → the nodes that only its filter refuses."""
REFUSED = sorted(set().union(*REFUSED_BY.values()))
NODES = ("free", "cordoned", *REFUSED)


def labels_of(name: str) -> dict[str, str]:
    return {
        HOST: name,
        ZONE: "other" if name == "zone" else "home",
        "row": "crowded" if name == "crowded" else "empty",
        "pool": "other" if name == "affinity" else "mine",
        "disk": "none" if name == "selector" else "ssd",
        "room": "none" if name == "spaceless" else "some",
    }


def nodes() -> list[Any]:
    return [
        node(
            name,
            labels=labels_of(name),
            unschedulable=name == "cordoned",
            taints=[Taint(key="dedicated", effect="NoSchedule")] if name == "tainted" else [],
        )
        for name in NODES
    ]


def asking() -> Any:
    """A pod that is asked about by every filter."""
    term = NodeSelectorTerm(match_expressions=[SelectorRequirement(key="pool", operator="In", values=["mine"])])
    even = TopologySpreadConstraint(topology_key="row", label_selector=LabelSelector(match_labels={"app": "row"}))
    web = PodAffinityTerm(topology_key=HOST, label_selector=LabelSelector(match_labels={"app": "web"}))
    made = pod(
        "p",
        group="g",
        cpu="1",
        host_ports=[80],
        node_selector={"disk": "ssd"},
        affinity=Affinity(
            node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=[term])),
            pod_anti_affinity=PodAffinity(required=[web]),
        ),
        spread=[even],
    )
    return mounting(using(made, "bound", "zoned", "chosen", "made"))


def mounting(made: Pod) -> Pod:
    """The pod with the one disk that only a single pod on a node may write."""
    volumes = [*made.spec.volumes, Volume(name="disk", iscsi=ISCSISource(iqn="disk"))]
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, volumes=volumes))


def storage() -> list[Any]:
    others = [name for name in NODES if name != "reach"]
    with_volumes = [name for name in NODES if name != "volumeless"]
    return [
        storage_class(LOCAL),
        storage_class(MADE, provisioner="maker.csi"),
        csi_driver("maker.csi"),
        capacity("room", free="1Ti", nodes={"room": "some"}),
        claim("bound", bound_to="pv-bound"),
        volume("pv-bound", on=others, claim="bound", driver=DISK),
        claim("zoned", bound_to="pv-zoned"),
        volume("pv-zoned", claim="zoned", labels={ZONE: "home"}),
        claim("chosen"),
        *(volume(f"pv-{name}", on=[name]) for name in with_volumes),
        claim("made", of=MADE),
        claim("old", bound_to="pv-old"),
        volume("pv-old", claim="old", driver=DISK),
        csi_node("attached", **{DISK: 1}),
    ]


def session(**switches: bool) -> Opened:
    return open_session(
        nodes(),
        storage(),
        pod("listens", on="port", host_ports=[80]),
        pod("serves", on="company", labels={"app": "web"}),
        [pod(f"row-{number}", on="crowded", labels={"app": "row"}) for number in range(2)],
        using(pod("attaches", on="attached"), "old"),
        mounting(pod("writes", on="written")),
        pod_group("g"),
        asking(),
        tiers=[[(Predicates, {"arguments": {f"predicate.{name}Enable": on for name, on in switches.items()}})]],
    )


def taking(opened: Opened) -> set[str]:
    rows = opened.ssn.placer.feasible(class_of(opened, "p")).tolist()
    return {opened.ssn.snapshot.nodes[row].name for row in rows}


def test_every_filter_refuses_its_nodes() -> None:
    assert taking(session()) == {"free"}


@pytest.mark.parametrize("switch", REFUSED_BY)
def test_a_switch_opens_the_nodes_that_only_its_filter_refuses(switch: str) -> None:
    assert taking(session(**{switch: False})) == {"free", *REFUSED_BY[switch]}


def test_without_any_filter_only_cordons_hold() -> None:
    assert taking(session(**dict.fromkeys(REFUSED_BY, False))) == set(NODES) - {"cordoned"}


@pytest.mark.parametrize("switch", ["Cache", "DynamicResourceAllocation"])
@pytest.mark.parametrize("on", [True, False])
def test_switches_of_what_is_not_a_filter_here_open_nothing(switch: str, on: bool) -> None:
    assert taking(session(**{switch: on})) == {"free"}


def test_without_volume_binding_single_pod_claims_are_not_checked() -> None:
    def opened(on: bool) -> Opened:
        return open_session(
            node("n1"),
            [claim("data", bound_to="pv", modes=["ReadWriteOncePod"]), volume("pv", claim="data")],
            using(pod("holder", on="n1"), "data"),
            pod_group("g"),
            using(pod("p", group="g", cpu="1"), "data"),
            tiers=[[(Predicates, {"arguments": {"predicate.VolumeBindingEnable": on}})]],
        )

    assert taking(opened(True)) == set()
    without = opened(False)
    assert taking(without) == {"n1"}
    assert without.plugin(Predicates).predicate_reach(class_of(without, "p")) is Reach.STATIC
