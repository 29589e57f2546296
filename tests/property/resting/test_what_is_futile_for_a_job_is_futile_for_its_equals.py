"""preempt and reclaim do not search again after they found nothing for an equal job: what they do stays the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from tests.property.evictions.test_evictions_end import POLICIES, clusters, simulation_of
from volcano_py.framework.eviction.runs.futile import Futile
from volcano_py.framework.eviction.starving import Starving

CYCLES: Final = 6
FEW: Final = settings(max_examples=max(10, settings().max_examples // 3))


def with_equals(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each job without a placed pod twice more."""
    placed = {_group(pod) for pod in objects if pod["kind"] == "Pod" and "nodeName" in pod["spec"]}
    waiting = [each for each in objects if each["kind"] in ("PodGroup", "Pod") and _group(each) not in placed]
    return objects + [_renamed(each, copied) for copied in ("again", "too") for each in waiting]


def _group(obj: dict[str, Any]) -> tuple[str, str]:
    meta = obj["metadata"]
    annotations = meta.get("annotations", {})
    return meta.get("namespace", ""), annotations.get("scheduling.k8s.io/group-name", meta["name"])


def _renamed(obj: dict[str, Any], copied: str) -> dict[str, Any]:
    new = copy.deepcopy(obj)
    name, _, number = new["metadata"]["name"].partition("-")
    new["metadata"]["name"] = f"{name}{copied}-{number}" if number else f"{name}{copied}"
    for key, group in new["metadata"].get("annotations", {}).items():
        new["metadata"]["annotations"][key] = f"{group}{copied}"
    return new


def life(objects: list[dict[str, Any]], policy: str, contains: Callable[[Futile, Starving], bool]) -> list[Any]:
    """What each cycle did and reported."""
    simulation = simulation_of(objects, policy)
    with patch.object(Futile, "__contains__", contains):
        simulation.run(CYCLES)
    cluster = simulation.cluster
    reports = [(each.pending, each.pipelined_tasks, each.binds, each.evictions) for each in simulation.reports]
    return [reports, dict(cluster.binds), list(cluster.evict_effects), list(cluster.events)]


@pytest.mark.parametrize("policy", POLICIES)
@FEW
@given(objects=clusters())
def test_what_is_futile_for_a_job_is_futile_for_its_equals(policy: str, objects: list[dict[str, Any]]) -> None:
    objects = with_equals(objects)
    assert life(objects, policy, Futile.__contains__) == life(objects, policy, lambda _futile, _work: False)
