"""Queues with parents, and sessions in which the capacity plugin owns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.support import sessions
from tests.support.sessions import Objects, Opened, PluginChoice, gang, node, open_session
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.objects import ApiObject, Queue
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.votes import Room
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.gang import Gang

HIERARCHICAL = (Capacity, {"enableHierarchy": True})


def queue(name: str, parent: str = "", **fields: Any) -> Queue:
    """As `sessions.queue`, below `parent`. Amounts may be a number, which is so many cpu."""
    for amounts in ("capability", "deserved", "guarantee"):
        if isinstance(fields.get(amounts), int):
            fields[amounts] = {"cpu": str(fields[amounts])}
    made = sessions.queue(name, **fields)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, parent=parent))


def root(**fields: Any) -> Queue:
    """The root queue, as the scheduler makes it."""
    return queue("root", reclaimable=False, **fields)


def opened(*objects: Objects, cpu: int = 128, level: int = 0, hierarchy: bool = True, **more: Any) -> Opened:
    """A session over one node of `cpu` with the capacity plugin, `level` being its ancestorReclaimLevel.

    Next to it is gang, which protects no pod from reclaim here.
    """
    entry: Mapping[str, Any] = {"enableHierarchy": hierarchy, "arguments": {"ancestorReclaimLevel": level}}
    size = node("n1", **{"cpu": str(cpu), "memory": "10Ti", "pods": "100000", **more})
    tiers: list[list[PluginChoice]] = [[(Gang, {"enableReclaimable": False})], [(Capacity, entry)]]
    return open_session(root(), size, *objects, tiers=tiers, actions=[Enqueue, Allocate])


def jobs(name: str, queue: str, pods: int = 1, *, running: int | None = None, **fields: Any) -> list[ApiObject]:
    """A job of pods of 1 cpu each with a minimum of 1; all of them run unless `running` says how many do."""
    on_node = pods if running is None else running
    asked = {"cpu": "1", "min_member": 1, **fields}
    return gang(name, pods=pods, queue=queue, running_on=["n1"] * on_node, **asked)


def reported(session: Opened) -> dict[str, dict[str, Any]]:
    """What the plugin says of queues."""
    return {name: dict(facts) for name, facts in session.plugin(Capacity).describe_queues().items()}


def cpus(session: Opened, field: str, queues: Sequence[str] = ()) -> dict[str, float]:
    """Queue → cpus of that field, of all that have any or of those named."""
    facts = reported(session)
    names = queues or [name for name in facts if facts[name][field].get("cpu")]
    return {name: facts[name][field].get("cpu", 0) / 1000 for name in names}


def room(session: Opened, pod: str) -> Room:
    """How many more pods like this one its queue may take."""
    task = session.task(pod)
    return session.ssn.ask.allocatable(task.job.queue, task.task_class)


def allocate(session: Opened) -> dict[str, float]:
    """Run the actions; what each queue holds afterwards, in cpus, with the queues below."""
    Enqueue(None).execute(session.ssn)
    Allocate(None).execute(session.ssn)
    assert not session.ssn.dispatch.failures.counts
    return cpus(session, "allocated")


def next_queue(session: Opened, *names: str) -> str:
    """Whose turn it is among these queues."""
    return queue_order(session.ssn, [session.ssn.queues[name] for name in names]).pop().name
