"""preempt and reclaim search once for jobs that are equal, where they find nothing."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from tests.property.evictions.test_evictions_end import a_job, a_node, simulation_of
from tests.property.resting.test_what_is_futile_for_a_job_is_futile_for_its_equals import with_equals
from volcano_py.framework.eviction.plan import EvictionPlan


@pytest.mark.parametrize(
    ("policy", "searches"),
    [
        ("capacity", 2),
        ("capacity in a tree", 4),  # allocate comes after reclaim, which tries each
        ("fairness alone", 1),
    ],
)
def test_three_equal_jobs_cost_one_search_in_an_action_after_allocate(policy: str, searches: int) -> None:
    job = {"namespace": "ns1", "queue": "q1", "min": 2, "priority": "low"}
    objects: list[dict[str, Any]] = [
        {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 1},
        {"kind": "Queue", "metadata": {"name": "q1"}, "spec": {"deserved": {"cpu": 8}}},
        a_node("n0", 4),
        *a_job({**job, "name": "runs"}, 2, 2, ["n0", "n0"]),
        *a_job({**job, "name": "waits"}, 2, 2, []),
    ]
    simulation = simulation_of(with_equals(objects), policy)
    with patch.object(EvictionPlan, "carry_out", autospec=True, side_effect=EvictionPlan.carry_out) as carried_out:
        simulation.step()
    assert carried_out.call_count == searches
