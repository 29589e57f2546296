"""A claim comes a moment after its pod, by another watch or by a controller: it is not reported missing at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from tests.support.placement.devices import with_claims
from tests.support.placement.volumes import using
from tests.support.sessions import NOW, gang, node
from tests.unit.framework.closed import Closed, closed
from tests.unit.state.watched import with_meta
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates


def waiting(seconds: float, lacking: Callable[[Pod, str], Pod] = using) -> Closed:
    """A PodGroup of that age whose pod lacks its claim."""
    group, member = gang("g", cpu="1")
    assert isinstance(member, Pod)
    born = NOW - timedelta(seconds=seconds)
    return closed(
        node("n1"),
        with_meta(group, creation_timestamp=born),
        lacking(member, "data"),
        tiers=[[Gang, Predicates]],
    )


def test_the_claims_of_a_young_job_may_be_on_their_way() -> None:
    young = waiting(1.5)
    assert young.status("g") is None
    assert young.pods() == {}
    assert young.events("g-0") == []
    assert young.closing.look_again_at == NOW.timestamp() + 0.5
    assert [job.reason for job in young.closing.pending] == [Reason.VOLUME_NOT_READY], "but it is counted"


def test_later_they_are_missed() -> None:
    grown = waiting(2)
    sentence = "VolumeNotReady: PersistentVolumeClaim team/data does not exist; create it"
    assert grown.pods() == {"g-0": ("Unschedulable", sentence)}
    assert grown.conditions("g")["Unschedulable"].message.startswith("VolumeNotReady: 1/1 tasks in gang unschedulable")
    assert grown.events("g-0") == [("Warning", "FailedScheduling", sentence)]


def test_claims_to_devices_are_waited_for_as_well() -> None:
    assert waiting(1.5, with_claims).pods() == {}
    sentence = "DevicesNotReady: ResourceClaim team/data does not exist; create it"
    assert waiting(2, with_claims).pods() == {"g-0": ("Unschedulable", sentence)}
