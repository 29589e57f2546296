"""Ranks: pods of different classes get other places, but not if these depend on the CPUs that others have there."""

import pytest

from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import node, open_session, pod_group
from volcano_py.framework.topology.ranks import deal
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.numa_aware import NumaAware


@pytest.mark.parametrize(("is_known", "first"), [(True, "b"), (False, "a")])
def test_pods_of_different_classes_stay_where_their_cpus_are(is_known: bool, first: str) -> None:
    pods = [pinned("p-0", 4, policy=""), pinned("p-1", 4, policy=""), pinned("p-2", 2, policy="")]
    opened = open_session(
        pod_group("g", min_member=3),
        [node("a"), node("b"), *pods],
        [topology(name, places(4, 4)) for name in ("a", "b")] if is_known else [],
        tiers=[[NumaAware, NetworkTopologyAware]],
    )
    statement = opened.place("g", {"p-0": "b", "p-1": "a", "p-2": "a"})
    deal(opened.ssn, statement)
    statement.commit()
    assert opened.binds["p-0"] == first
