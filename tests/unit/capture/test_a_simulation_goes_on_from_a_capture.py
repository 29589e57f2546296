"""A simulation of a capture: it begins at the captured moment, with pods that run, wait and leave."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.support.sessions import gang, node, queue
from volcano_py.api.objects import ApiObject, Pod, PodGroup, Queue
from volcano_py.capture.model import Capture, CaptureError
from volcano_py.capture.start import configuration_of, simulation_of
from volcano_py.cluster.manifests import Stored
from volcano_py.config import default_configuration_text
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import Simulation

TAKEN = 1_793_620_800.0


def items(*objects: ApiObject | list[ApiObject]) -> tuple[Stored, ...]:
    flat = [obj for each in objects for obj in (each if isinstance(each, list) else [each])]
    return tuple((type(obj).__name__, obj) for obj in flat)


def captured(*objects: ApiObject | list[ApiObject]) -> Capture:
    return Capture(taken=TAKEN, items=items(*objects), configuration=default_configuration_text())


def started(capture: Capture) -> Simulation:
    registry = builtin_registry()
    return simulation_of(capture, configuration_of(capture, registry), registry)


def test_time_goes_on_from_the_moment_of_the_capture() -> None:
    simulation = started(captured(node("n1")))

    assert simulation.now == TAKEN
    simulation.step()
    assert simulation.now == TAKEN + 1


def test_what_runs_holds_its_place_and_what_waits_is_placed_beside_it() -> None:
    capture = captured(
        node("n1", cpu="4"),
        queue("default"),
        list(gang("runs", pods=3, cpu="1", running_on=["n1"] * 3)),
        list(gang("fits", pods=1, cpu="1")),
        list(gang("too-large", pods=2, cpu="1")),
    )

    result = started(capture).run()

    assert dict(result.binds) == {"team/fits-0": "n1"}
    assert result.evictions == ()


def test_a_pod_that_is_being_deleted_holds_its_place_for_one_cycle_and_is_then_gone() -> None:
    *_, leaving = gang("leaves", pods=1, cpu="4", running_on=["n1"])
    assert isinstance(leaving, Pod)
    gone_soon = replace(
        leaving, metadata=replace(leaving.metadata, deletion_timestamp=datetime.fromtimestamp(TAKEN + 30, UTC))
    )
    simulation = started(
        captured(node("n1", cpu="4"), queue("default"), list(gang("next", pods=1, cpu="4")), gone_soon)
    )

    simulation.step()
    assert dict(simulation.cluster.binds) == {}
    assert simulation.cluster.get("Pod", leaving.metadata.key, Pod) is None
    assert dict(simulation.run().binds) == {"team/next-0": "n1"}


def test_its_own_scheduler_names_and_default_queue_count() -> None:
    capture = replace(
        captured(node("n1"), queue("lab"), list(gang("train", pods=1, queue="lab"))),
        scheduler_names=frozenset({"other"}),
        default_queue="lab",
    )

    simulation = started(capture)
    result = simulation.run()

    assert dict(result.binds) == {}
    assert simulation.cluster.get("Queue", "lab", Queue) is not None
    assert simulation.cluster.get("Queue", "default", Queue) is None
    assert simulation.cluster.get("PodGroup", "team/train", PodGroup) is not None


def test_a_configuration_that_is_invalid_is_named_with_its_faults() -> None:
    capture = Capture(taken=TAKEN, items=(), configuration="actions: 7\ntiers: x\n", source="ConfigMap a/b")

    with pytest.raises(CaptureError, match=r"in ConfigMap a/b is invalid:(.|\n)*error: tiers: must be a list"):
        configuration_of(capture, builtin_registry())
