"""A pod that no node takes on account of its volumes gets a message that says where they are, who uses them, and what
would help.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.node_answers import class_of
from tests.support.placement.volumes import (
    HOST,
    LOCAL,
    MADE,
    ZONE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    mine,
    session,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import node, pod


def reported(*objects: Any, **arguments: Any) -> str:
    """What the pod `p`, which uses the claim `data`, is given after the summary."""
    opened = session(*objects, **arguments)
    message = opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    return message.replace("\n", " ").partition(" are unavailable: ")[2].partition(". ")[2]


@pytest.mark.parametrize(
    ("on", "end"),
    [
        (["n9"], ", and none does; nodes have {0}=n1 (1), {0}=n2 (1), {0}=n3 (1): bring such a node back, or create"),
        (["n1"], ": 1 of 3 nodes does."),
    ],
)
def test_from_where_a_bound_volume_can_be_used(on: list[str], end: str) -> None:
    message = reported(mine("data"), claim("data", bound_to="pv"), volume("pv", on=on, claim="data"))
    assert (
        f"A volume of the pod can be used only from a node that has label {HOST}={on[0]}{end.format(HOST)}" in message
    )


def test_the_zone_of_a_bound_volume_is_reported() -> None:
    there = volume("pv", claim="data", labels={ZONE: "z9"})
    assert reported(mine("data"), claim("data", bound_to="pv"), there) == (
        f"A volume of the pod is in {ZONE} z9: add nodes there, or create the claim again."
    )


def test_the_pod_that_uses_an_exclusive_claim_is_reported() -> None:
    there = (claim("data", bound_to="pv", modes=["ReadWriteOncePod"]), volume("pv", claim="data"))
    holder = using(pod("holder", group="g", on="n1"), "data")
    assert reported(mine("data"), there, holder) == (
        "PersistentVolumeClaim team/data is ReadWriteOncePod and in use by team/holder on n1: wait for that to end."
    )


def test_how_many_volumes_a_driver_attaches_is_reported() -> None:
    old = using(pod("old", on="n1"), "a")
    attached = [claim(name, bound_to=f"pv-{name}") for name in ("a", "data")]
    volumes = [volume(f"pv-{name}", claim=name, driver="disk.csi") for name in ("a", "data")]
    assert reported(mine("data"), old, attached, volumes, csi_node("n1", **{"disk.csi": 1}), at=[node("n1")]) == (
        "CSI driver disk.csi attaches at most 1 volume to such a node: add nodes, or wait for pods to end."
    )


def test_a_class_that_makes_no_volumes_is_reported_with_what_is_wanted() -> None:
    assert reported(mine("data", "more"), claim("data"), claim("more")) == (
        f"StorageClass {LOCAL} provisions no volumes, and no free volume has 10Gi ReadWriteOnce for these nodes: "
        "create a PersistentVolume."
    )


def test_where_a_class_makes_volumes_is_reported() -> None:
    zonal = storage_class("zonal", provisioner="disk.csi", zones=["c", "d"])
    assert reported(mine("data"), zonal, claim("data", of="zonal")) == (
        f"By its allowedTopologies StorageClass zonal provisions volumes only for a node that has label {ZONE} in (c, "
        f"d), and none does; nodes have {ZONE}=a (2), {ZONE}=b (1): label nodes or correct allowedTopologies."
    )


def test_a_volume_that_is_being_created_names_its_node() -> None:
    assert reported(mine("data"), claim("data", of=MADE, node="gone")) == (
        "A volume of the pod is being provisioned for node gone: free space there, or create the claim again."
    )


def test_a_volume_that_is_kept_for_the_claim_is_named() -> None:
    assert reported(mine("data"), claim("data"), volume("pv", on=["n9"], claim="data", phase="Available")) == (
        "PersistentVolume pv is kept for its claim: free space where it can be used."
    )


def test_a_class_without_room_is_reported() -> None:
    small = capacity("small", largest="1Gi", nodes={})
    assert reported(mine("data"), claim("data", of=MADE), csi_driver("disk.csi"), small) == (
        f"StorageClass {MADE} has no room for 10Gi on these nodes (CSIStorageCapacity): ask for less."
    )
