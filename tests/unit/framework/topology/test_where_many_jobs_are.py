"""Where the pods of all jobs are, at once, is what a look at each job says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import gang, node, open_session
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import NODES, TREE
from tests.unit.state.topology.test_pods_belong_to_sub_groups import PART, divided
from volcano_py.framework.topology.placements import Placement, group_placements, placements
from volcano_py.plugins.network_topology import NetworkTopologyAware


@given(st.lists(st.lists(st.sampled_from([*NODES, "gone", ""]), min_size=1, max_size=4), min_size=1, max_size=4))
def test_all_at_once_is_as_one_by_one(places: list[list[str]]) -> None:
    """Pods are on nodes, on nodes that do not exist, or wait."""
    jobs = [
        gang(f"g{number}", pods=len(nodes), running_on=[name for name in nodes if name])
        for number, nodes in enumerate(places)
    ]
    opened = open_session(*(node(name, cpu="4") for name in NODES), *TREE, *jobs, tiers=[[NetworkTopologyAware]])
    ssn = opened.ssn
    expected = {}
    for number in range(len(jobs)):
        job = opened.job(f"g{number}")
        placed, tie = ssn.topology.placed_in(job), ssn.topology.tie(job)
        if tie is not None:
            expected[job.row] = Placement(tie, len(placed), len(set(placed.tolist())))
    rows = ssn.job_rows()
    assert placements(ssn.ledger, ssn.topology.tree, rows) == expected
    first = opened.job("g0").row
    assert placements(ssn.ledger, ssn.topology.tree, rows[rows != first]) == {
        row: found for row, found in expected.items() if row != first
    }


@given(st.lists(st.tuples(st.sampled_from(["", "0", "1", "2"]), st.sampled_from([*NODES, "gone"])), max_size=6))
def test_sub_groups_at_once_are_as_one_by_one(pods: list[tuple[str, str]]) -> None:
    policy = {"name": "p", "matchLabelKeys": [PART]}
    objects = divided([part for part, _ in pods], [policy], [place for _, place in pods])
    opened = open_session(*(node(name, cpu="4") for name in NODES), *TREE, *objects, tiers=[[NetworkTopologyAware]])
    ssn, job = opened.ssn, opened.job("train")
    groups = ssn.sub_groups(job)
    expected = {}
    for number in () if groups is None else groups.numbers:
        placed, tie = ssn.topology.placed_in(job, number), ssn.topology.tie(job, number)
        if tie is not None:
            expected[number] = Placement(tie, len(placed), len(set(placed.tolist())))
    found = group_placements(ssn.ledger, ssn.topology.tree, ssn.job_rows())
    assert found.get(job.row, {}) == expected
