"""conformance: system pods are never victims."""

from __future__ import annotations

import pytest

from tests.support.policies import Ruthless
from tests.support.sessions import gang, node, open_session, pod, pod_group
from volcano_py.plugins.conformance import Conformance

POINTS = ("preemptable", "reclaimable")
OBJECTS = (
    node("n1"),
    gang("urgent", cpu="1"),
    pod_group("app", phase="Running"),
    pod("plain", group="app", cpu="1", on="n1"),
    pod("important", group="app", cpu="1", on="n1", priority_class="my-critical"),
    pod("cluster-critical", group="app", cpu="1", on="n1", priority_class="system-cluster-critical"),
    pod("node-critical", group="app", cpu="1", on="n1", priority_class="system-node-critical"),
    pod_group("dns", namespace="kube-system", phase="Running"),
    pod("dns", namespace="kube-system", group="dns", cpu="1", on="n1"),
)


@pytest.mark.parametrize("point", POINTS)
def test_critical_classes_and_kube_system_are_spared(point: str) -> None:
    session = open_session(*OBJECTS, tiers=[[Conformance, Ruthless]])
    candidates = session.running("app", "kube-system/dns")
    assert session.victims(point, "urgent-0", candidates) == ["important", "plain"]
    assert session.victims(point, "urgent-0", candidates[::-1]) == ["important", "plain"], "asked again"


@pytest.mark.parametrize("point", POINTS)
def test_no_other_tier_can_give_them_up(point: str) -> None:
    session = open_session(*OBJECTS, tiers=[[Ruthless], [Conformance]])
    candidates = session.running("app", "kube-system/dns")
    assert session.victims(point, "urgent-0", candidates) == ["important", "plain"]


@pytest.mark.parametrize("point", POINTS)
def test_alone_it_gives_up_no_pod(point: str) -> None:
    session = open_session(*OBJECTS, tiers=[[Conformance]])
    assert session.victims(point, "urgent-0", session.running("app")) == []


def test_switched_off_it_protects_no_pod() -> None:
    session = open_session(*OBJECTS, tiers=[[Ruthless, (Conformance, {"enableReclaimable": False})]])
    assert len(session.victims("reclaimable", "urgent-0", session.running("app"))) == 4
    assert len(session.victims("preemptable", "urgent-0", session.running("app"))) == 2
