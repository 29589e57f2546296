"""Two edits at the same instant, each judged without the other, as by two replicas: both are admitted.

The scheduler reads by the same rules. What it then reports, on which queue, and which jobs go on, is tested here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.support.queues.queue_worlds import queue, world
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, pod_group
from volcano_py.admission.pod_groups import validate_create as judge_group
from volcano_py.admission.queues import QueueRules, validate_create, validate_delete, validate_update
from volcano_py.api.objects import ApiObject, PodGroup, Queue
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

CAPACITY: Final = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: capacity, enableHierarchy: true}, {name: predicates}]
"""
HDRF: Final = CAPACITY.replace("capacity", "drf")
RULES: Final = QueueRules()

Edit = Queue | PodGroup | str
"""A queue as it is to be, a PodGroup, or the name of a queue that is to be deleted."""


@dataclass(frozen=True)
class Race:
    """`stored` queues, two edits, the queues with a report and its text, and those whose jobs run, or are stopped."""

    stored: list[Queue]
    edits: tuple[Edit, Edit]
    reported: dict[str, str]
    running: set[str]
    stopped: set[str] = field(default_factory=set)
    configuration: str = CAPACITY


def deserving(name: str, parent: str = "", *, cpu: int) -> Queue:
    return queue(name, parent, deserved={"cpu": cpu})


RACES: Final = [
    pytest.param(
        Race(
            [deserving("dept", cpu=10)],
            (deserving("one", "dept", cpu=6), deserving("two", "dept", cpu=5)),
            {
                "dept": "ExceedsParent: queue dept: spec.deserved is 10 cpu, the queues below it have 11 cpu together "
                "(one: 6 cpu, two: 5 cpu); lower theirs or raise its own"
            },
            {"one", "two", "aside"},
        ),
        id="entitlements that are too much together",
    ),
    pytest.param(
        Race(
            [queue("dept", capability={"cpu": 10}), queue("one", "dept")],
            (queue("dept", capability={"cpu": 4}), queue("one", "dept", capability={"cpu": 8})),
            {
                "one": "ExceedsParent: queue one: spec.capability is 8 cpu, but queue dept above it may have 4 cpu at "
                "most, which applies; lower one or raise the other"
            },
            {"one", "aside"},
        ),
        id="a ceiling goes up while that above it comes down",
    ),
    pytest.param(
        Race(
            [queue("one"), queue("two")],
            (queue("one", "two"), queue("two", "one")),
            {
                "one": "InvalidQueue: queue one: spec.parent leads back to this queue (one → two → one); name "
                "another queue in one of them",
                "two": "InvalidQueue: queue two: spec.parent leads back to this queue (two → one → two); name "
                "another queue in one of them",
            },
            {"aside"},
            {"one", "two"},
        ),
        id="two queues move below each other",
    ),
    pytest.param(
        Race(
            [queue("dept")],
            ("dept", queue("one", "dept")),
            {
                "one": "InvalidQueue: queue one: spec.parent is dept, which does not exist; create it or name another "
                "queue"
            },
            {"aside"},
            {"one"},
        ),
        id="a queue is deleted while another comes below it",
    ),
    pytest.param(
        Race(
            [queue("dept")],
            (pod_group("in-dept", queue="dept"), queue("one", "dept")),
            {
                "dept": "InvalidQueue: queue dept: has queues below it (one), and jobs run only in leaf queues; "
                "recreate its jobs in one of those"
            },
            {"one", "aside"},
            {"dept"},
        ),
        id="work comes while the first queue comes below",
    ),
    pytest.param(
        Race(
            [],
            (queue("sci", path="root/sci", weights="1/1"), queue("lab", path="root/sci/lab", weights="1/1/1")),
            {
                "sci": "InvalidQueue: queue sci: the path of queue lab leads through its path, root/sci (annotation "
                "volcano.sh/hierarchy); only queues at the ends of paths can have jobs: give one of them another path"
            },
            {"lab", "aside"},
            {"sci"},
            HDRF,
        ),
        id="paths that exclude each other",
    ),
]


@pytest.mark.parametrize("race", RACES)
def test_both_are_admitted_and_the_scheduler_reports_it_and_goes_on(race: Race) -> None:
    for edit in race.edits:
        assert judged(edit, race.stored) == ()
    queues = {each.metadata.name: each for each in (*race.stored, queue("aside"))}
    for edit in race.edits:
        if isinstance(edit, Queue):
            queues[edit.metadata.name] = edit
        elif isinstance(edit, str):
            del queues[edit]
    at_work = sorted({"aside"} | race.running | race.stopped)
    jobs = [each for name in at_work for each in gang(f"in-{name}", queue=name, cpu="1")]
    simulation = simulated(race.configuration, [*queues.values(), node("n1", cpu="20"), *jobs])
    simulation.run()
    reported = [each for each in simulation.cluster.events if each.about.kind == "Queue"]
    # The same event in every cycle; whoever writes them counts them.
    assert {(each.about.name, f"{each.reason}: {each.message}") for each in reported} == set(race.reported.items())
    assert {name for name in at_work if f"team/in-{name}-0" in simulation.cluster.binds} == race.running


def judged(edit: Edit, stored: list[Queue]) -> Any:
    """What speaks against the edit, with the other one not stored yet."""
    beside = world(*stored)
    if isinstance(edit, PodGroup):
        return judge_group(edit, beside, "default")
    if isinstance(edit, str):
        return validate_delete(edit, beside, RULES)
    before = next((each for each in stored if each.metadata.name == edit.metadata.name), None)
    if before is None:
        return validate_create(edit, beside, RULES)
    return validate_update(before, edit, beside, RULES)


def simulated(configuration: str, objects: list[ApiObject]) -> Simulation:
    registry = checked_registry()
    parsed = parse_configuration(configuration, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    return Simulation([(type(each).__name__, each) for each in objects], parsed.config, registry)
