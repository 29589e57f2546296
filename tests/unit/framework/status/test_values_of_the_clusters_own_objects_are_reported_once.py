"""What cannot be read of nodes, ResourceQuotas, NodeShards and queues is logged and gets one event on the object."""

from __future__ import annotations

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.support.cycles import Cycles
from tests.support.sessions import NAMESPACE, node, queue
from volcano_py.api.effects import Event
from volcano_py.api.objects import ApiObject, Node, ObjectMeta, Queue, ResourceQuota, ResourceQuotaSpec
from volcano_py.api.shards.node_shards import SHARD_OF_QUEUE, TAKES_QUEUES, NodeShard, NodeShardSpec, NodeShardStatus
from volcano_py.api.shards.sharding import Sharding

SWITCH = "write true or false; until then it counts as false"
AMOUNT = "write millicores without a unit, such as 1500; until then nothing is added"


def oversubscribed(cpu: str = "1", *, switch: str = "true", uid: str = "node-n1") -> Node:
    plain = node("n1", cpu="4")
    marks = {"volcano.sh/oversubscription-cpu": cpu, "volcano.sh/oversubscription-memory": "0"}
    metadata = msgspec.structs.replace(
        plain.metadata, uid=uid, labels={"volcano.sh/oversubscription": switch}, annotations=marks
    )
    return msgspec.structs.replace(plain, metadata=metadata)


def quota(weight: str) -> ResourceQuota:
    metadata = ObjectMeta(name="share", namespace=NAMESPACE, uid="q")
    return ResourceQuota(metadata=metadata, spec=ResourceQuotaSpec(hard={"volcano.sh/namespace.weight": weight}))


def shard(name: str, takes: str) -> NodeShard:
    metadata = ObjectMeta(name=name, uid=f"shard-{name}", labels={TAKES_QUEUES.key: takes})
    return NodeShard(metadata, NodeShardSpec(nodes_desired=["n1"]), NodeShardStatus(nodes_in_use=["n1"]))


def assigned(name: str, to: str) -> Queue:
    plain = queue(name)
    return msgspec.structs.replace(
        plain, metadata=msgspec.structs.replace(plain.metadata, annotations={SHARD_OF_QUEUE: to})
    )


def events(cycles: Cycles) -> list[str]:
    """Object and message of those of the next cycle."""
    cycles.effects.clear()
    cycles.run()
    found = [each for each in cycles.effects if isinstance(each, Event) and each.reason == "IgnoredAnnotation"]
    assert {each.type for each in found} <= {"Warning"}
    return [f"{each.about.kind} {each.about.key}: {each.message}" for each in found]


def reported(*objects: ApiObject, sharding: Sharding | None = None) -> list[str]:
    """The events of the first of two cycles; the log says the same, and the second has none."""
    with capture_logs() as lines:
        cycles = Cycles(*objects, sharding=sharding)
        found = events(cycles)
    logged = [line for line in lines if line["event"] == "value ignored"]
    assert [f"{line['kind']} {line['object']}: {line['problem']}" for line in logged] == found
    assert events(cycles) == []
    return found


@pytest.mark.parametrize(
    ("bad", "found", "fix"),
    [
        (oversubscribed(switch="yes"), "label volcano.sh/oversubscription is 'yes'", SWITCH),
        *(
            (oversubscribed(cpu), f"annotation volcano.sh/oversubscription-cpu is '{cpu}'", AMOUNT)
            for cpu in ("1500m", "-1", "much", "")
        ),
    ],
    ids=["switch", "unit", "negative", "words", "nothing"],
)
def test_a_nodes_oversubscription(bad: Node, found: str, fix: str) -> None:
    assert reported(bad) == [f"Node n1: {found}: {fix}"]


@pytest.mark.parametrize("fine", [oversubscribed("1500"), oversubscribed("0"), oversubscribed("much", switch="false")])
def test_oversubscription_that_can_be_read_or_is_turned_off(fine: Node) -> None:
    assert reported(fine) == []


@pytest.mark.parametrize("weight", ["0", "500m", "-3", "heavy"])
def test_a_weight_of_a_namespace(weight: str) -> None:
    fix = "write a whole number above 0, such as 3; until then this quota gives its namespace no weight"
    assert reported(quota(weight)) == [
        f"ResourceQuota {NAMESPACE}/share: spec.hard volcano.sh/namespace.weight is '{weight}': {fix}"
    ]
    assert reported(quota("3")) == []


def test_whether_a_shard_takes_queues() -> None:
    fix = "write true or false; until then it counts as true"
    assert reported(shard("a", ""), shard("b", "maybe"), sharding=Sharding("a")) == [
        f"NodeShard b: label shard.volcano.sh/volcano-py-takes-queues is 'maybe': {fix}"
    ]


def test_a_shard_that_a_queue_names_and_that_does_not_exist() -> None:
    fix = "there is no NodeShard of this name; create it, or write the name of one"
    problem = f"Queue ours: annotation shard.volcano.sh/volcano-py-shard is 'c': {fix}"
    cycles = Cycles(shard("a", "true"), assigned("ours", "c"), sharding=Sharding("a"))
    assert events(cycles) == [f"{problem}; until then the queue counts as assigned to none"]
    cycles.state.upsert("NodeShard", shard("c", "true"))
    assert events(cycles) == []
    cycles.state.delete("NodeShard", shard("c", "true"))
    assert len(events(cycles)) == 1
    cycles.state.delete("Queue", assigned("ours", "c"))
    assert cycles.state.snapshot(0).unreadable_objects == {}


def test_another_value_and_another_object_of_the_name_are_reported_and_nothing_else() -> None:
    cycles = Cycles(oversubscribed("much"))
    assert len(events(cycles)) == 1
    for after, times in (
        (msgspec.structs.replace(oversubscribed("much"), status=node("n1", cpu="8").status), 0),
        (oversubscribed("more"), 1),
        (oversubscribed("more", uid="another"), 1),
        (oversubscribed("5"), 0),
    ):
        cycles.state.upsert("Node", after)
        assert len(events(cycles)) == times


def test_what_a_node_offers_that_cannot_be_counted_is_logged_once() -> None:
    bad = node("n1", devices={"nvidia.com/gpu": "-1"})
    labelled = msgspec.structs.replace(bad, metadata=msgspec.structs.replace(bad.metadata, labels={"zone": "a"}))
    with capture_logs() as lines:
        cycles = Cycles(bad)
        cycles.state.upsert("Node", labelled)
    assert len([line for line in lines if "cannot be counted" in line["event"]]) == 1
