"""The word `Unschedulable` on a pod makes autoscalers add nodes: it is said when that would help, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import Objects, PluginChoice, gang, node, open_session, pod, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.effects import PodCondition
from volcano_py.api.reasons import Reason
from volcano_py.framework.status.closing import Closing
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.plugins.proportion import Proportion

NODE = node("n1", cpu="4")
FULL = [pod(f"foreign-{index}", cpu="1", on="n1", scheduler="other") for index in range(4)]


def waiting(name: str, **fields: Any) -> Objects:
    """A job of one pod that requests 1 cpu, also in its minResources, and is not admitted yet."""
    return gang(name, cpu="1", min_resources={"cpu": "1"}, group_phase="Pending", **fields)


@pytest.mark.parametrize(
    ("objects", "plugin", "condition"),
    [
        ([FULL, waiting("job")], Gang, ("Unschedulable", Reason.NODES_REFUSE)),
        (
            [FULL, waiting("job")],
            (Overcommit, {"arguments": {"overcommit-factor": 1}}),
            ("Unschedulable", Reason.CLUSTER_OVERCOMMITTED),
        ),
        (
            [gang("old", pods=4, cpu="1", min_resources={"cpu": "4"}, running_on=["n1"] * 4), waiting("job")],
            Proportion,
            ("Unschedulable", Reason.CLUSTER_OVERCOMMITTED),
        ),
        (
            [queue("small", capability={"cpu": "500m"}), waiting("job", queue="small")],
            Proportion,
            ("Undetermined", Reason.OVER_CAPABILITY),
        ),
        (
            [queue("closed", state="Closed"), waiting("job", queue="closed")],
            Proportion,
            ("Undetermined", Reason.QUEUE_CLOSED),
        ),
    ],
    ids=["full nodes", "a cluster promised to others", "a cluster held by its only queue", "capability", "closed"],
)
def test_the_word_is_for_the_nodes(objects: list[Objects], plugin: PluginChoice, condition: tuple[str, Reason]) -> None:
    session = open_session(
        NODE, *objects, tiers=[[Gang], [plugin]] if plugin is not Gang else [[Gang]], actions=[Enqueue, Allocate]
    )
    for action in (Enqueue, Allocate):
        action(action.arguments_type()).execute(session.ssn)
    reported = [effect for effect in Closing(session.ssn, "cycle").effects() if isinstance(effect, PodCondition)]
    assert [(effect.pod.name, effect.reason, effect.code) for effect in reported] == [("job-0", *condition)]
