"""However pods are placed, promised places, evicted and taken back: the room of a queue for pods with claims to devices
is what a count of all pods says.
"""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.devices import allocated, device_claim, device_class, request, with_claims
from tests.support.queues.queue_trees import HIERARCHICAL, queue, room
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.devices.claims import ResourceClaim
from volcano_py.api.objects import ApiObject
from volcano_py.framework.statement import Statement
from volcano_py.plugins.gang import Gang
from volcano_py.state.status import ALLOCATED_STATUSES, ON_NODE_STATUSES, TaskStatus

SIZES: Final = {"one": 1, "two": 2, "three": 3}
"""Claims that any pod may use → devices."""
LEAVES: Final = ("a1", "a2", "b")
ABOVE: Final = {"a1": "a", "a2": "a"}
NOW: Final = frozenset(TaskStatus(status) for status in range(len(ON_NODE_STATUSES)) if ON_NODE_STATUSES[status])
THEN: Final = frozenset(
    TaskStatus(status) for status in range(len(ALLOCATED_STATUSES)) if ALLOCATED_STATUSES[status]
) | {TaskStatus.PIPELINED}

ANY: Final = 2**31

Pods = list[tuple[str, bool, tuple[str, ...], int]]
"""Queue, whether it runs, claims, and devices that it asks for by a claim of its own."""

pods = st.lists(
    st.tuples(
        st.sampled_from(LEAVES),
        st.booleans(),
        st.lists(st.sampled_from(sorted(SIZES)), max_size=2, unique=True).map(tuple),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=7,
)
limits = st.fixed_dictionaries({}, optional={name: st.integers(0, 8) for name in (*LEAVES, "a")})
steps = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["place", "pipeline", "evict", "discard"])), max_size=12)


def opened(drawn: Pods, most: dict[str, int]) -> Opened:
    """Pod N is the only one of job N. Claims have their devices if a pod runs that uses them."""
    running = {claim for _, runs, claims, _ in drawn if runs for claim in claims}
    shared = [claim(name, size, name in running) for name, size in SIZES.items()]
    objects: list[ApiObject] = []
    for at, (leaf, runs, claims, own) in enumerate(drawn):
        made = pod(str(at), group=f"g{at}", cpu="1", on="n1" if runs else "")
        names = [*claims, *([f"own-{at}"] if own else [])]
        objects += [pod_group(f"g{at}", queue=leaf), with_claims(made, *names)]
        if own:
            objects.append(claim(f"own-{at}", own, runs))
    queues = [queue("root")] + [
        queue(name, ABOVE.get(name, ""), capability={"deviceclass/gpu": str(most[name])} if name in most else None)
        for name in ("a", *LEAVES)
    ]
    return open_session(node("n1", cpu="100"), device_class(), queues, shared, objects, tiers=[[Gang], [HIERARCHICAL]])


def claim(name: str, size: int, is_given: bool) -> ResourceClaim:
    devices = allocated(*((name, str(at)) for at in range(size)), node="n1")
    return device_claim(name, request(count=size), allocation=devices if is_given else None)


def expected(session: Opened, drawn: Pods, most: dict[str, int], at: int, statuses: frozenset[TaskStatus]) -> int:
    """How many pods like this one fit, by the definition."""
    tasks = session.ssn.ledger.tasks
    leaf, _, claims, own = drawn[at]
    # A claim that no other pod uses is like one of the pod's own.
    alone = {each for each in claims if sum(each in names for _, _, names, _ in drawn) == 1}
    own += sum(SIZES[each] for each in alone)
    room = ANY
    above = ABOVE.get(leaf, "")
    ceilings = {leaf: min(most.get(leaf, ANY), most.get(above, ANY)), above: most.get(above, ANY)}
    for each, ceiling in ceilings.items():
        inside = [number for number, (where, *_) in enumerate(drawn) if each in (where, ABOVE.get(where))]
        holding = [drawn[number] for number in inside if tasks.status[session.rows(str(number))[0]] in statuses]
        used = {claim for _, _, names, _ in holding for claim in names}
        held = sum(SIZES[claim] for claim in used) + sum(count for *_, count in holding)
        left = ceiling - held - sum(SIZES[claim] for claim in claims if claim not in used | alone)
        asks = own or any(claim not in used | alone for claim in claims)
        if ceiling < ANY and asks and (left < 0 or own):
            room = min(room, 0 if left < 0 else left // own)
    return room


def at_once(session: Opened, at: int) -> int:
    task = session.task(str(at))
    return session.ssn.ask.bindable(task.job.queue, task.task_class).count


def step(session: Opened, at: int, how: str, open_statements: list[Statement]) -> None:
    name = str(at)
    status = session.ssn.ledger.tasks.status[session.rows(name)[0]]
    if how == "discard" and open_statements:
        open_statements.pop().discard()
    elif how == "evict" and status == TaskStatus.RUNNING:
        open_statements.append(session.evict(name))
    elif how == "place" and status == TaskStatus.PENDING and at_once(session, at) > 0:
        open_statements.append(session.place(f"g{at}", {name: "n1"}))
    elif how == "pipeline" and status == TaskStatus.PENDING and room(session, name).count > 0:
        open_statements.append(session.pipeline(f"g{at}", {name: "n1"}))


@given(pods, limits, steps)
def test_the_room_for_devices_is_what_a_count_says(
    drawn: Pods, most: dict[str, int], taken: list[tuple[int, str]]
) -> None:
    session = opened(drawn, most)
    statements: list[Statement] = []
    for at, how in [(0, ""), *taken]:
        step(session, at % len(drawn), how, statements)
        for number in range(len(drawn)):
            found = room(session, str(number))
            assert found.count == expected(session, drawn, most, number, THEN)
            assert at_once(session, number) == min(found.count, expected(session, drawn, most, number, NOW))
