"""A forecast lets declared ends happen, by the scheduler's own decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.explain.causes import explained, gang, node, world_of
from volcano_py.cluster.manifests import EPOCH
from volcano_py.explain import forecast as module
from volcano_py.explain.forecast import forecast
from volcano_py.explain.target import find
from volcano_py.explain.world import World


def runs(name: str, cpu: str, *, deadline: int = 0, estimate: str = "", on: str = "n1", ago: int = 0) -> str:
    """A gang of one pod that has been running for so many seconds."""
    begun = (EPOCH - timedelta(seconds=ago)).isoformat().replace("+00:00", "Z")
    annotations = f", annotations: {{volcano.sh/running-estimate: {estimate}}}" if estimate else ""
    return f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {{name: {name}{annotations}}}
spec: {{minMember: 1}}
status: {{phase: Running}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}-0, annotations: {{scheduling.k8s.io/group-name: {name}}}}}
spec:
  schedulerName: volcano
  nodeName: {on}
  {f"activeDeadlineSeconds: {deadline}" if deadline else ""}
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: Running, startTime: "{begun}"}}
---"""


def test_it_starts_when_the_pods_in_its_way_are_to_end() -> None:
    found = explained(node() + runs("a", "4", deadline=600) + runs("b", "4", estimate="2h") + gang(1, "6")).forecast
    assert found is not None
    assert (found.at, found.after, found.undeclared) == ("2026-01-01T02:00:00Z", ("default/b",), 0)
    assert 7190 <= found.seconds <= 7200


def test_an_estimate_that_is_over_counts_as_late() -> None:
    """It was to run for a minute, and has for three: two more are foreseen."""
    found = explained(node() + runs("a", "8", estimate="1m", ago=180) + gang(1, "6")).forecast
    assert found is not None
    late = datetime.fromisoformat(found.at) - EPOCH
    assert timedelta(seconds=110) < late < timedelta(seconds=130)


def test_a_job_that_comes_first_takes_the_place_and_ends_too() -> None:
    """The one ahead declares an hour: it starts after 10 minutes, and the workload an hour later."""
    ahead = gang(1, "8", pod="priority: 9\n  activeDeadlineSeconds: 3600").replace("train", "ahead")
    found = explained(node() + runs("a", "8", deadline=600) + ahead + gang(1, "8")).forecast
    assert found is not None
    start = datetime.fromisoformat(found.at)
    assert EPOCH + timedelta(seconds=4190) < start < EPOCH + timedelta(seconds=4210)
    assert found.after == ("default/ahead",)


def test_many_ends_are_tried_in_portions_and_the_moment_is_still_exact() -> None:
    """100 pods that end one after the other; the 50th end makes room for half of the node."""
    others = "".join(runs(f"r{number}", "1", deadline=60 * number, on="n1") for number in range(1, 101))
    found = explained(node(cpu="100", memory="64Gi", pods=300) + others + gang(1, "50")).forecast
    assert found is not None
    assert (found.at, found.after) == ("2026-01-01T00:50:00Z", ("default/r50",))


ONE_A_MINUTE = "".join(runs(f"r{number}", "1", deadline=60 * number) for number in range(1, 101))
FULL = node(cpu="100", memory="64Gi", pods=300) + ONE_A_MINUTE


@pytest.mark.parametrize(
    ("waits", "before", "ends"),
    [
        (gang(1, "50"), {}, 50),
        (gang(3, "10"), {}, 30),
        (gang(1, "10"), {"cpu": 25_000}, 40),  # 25 CPUs are as much as three pods of the workload
        (gang(1, "101"), {}, 0),
        (gang(0, minimum=1), {}, 0),
    ],
    ids=["one pod", "a gang", "behind other work", "more than there is", "without pods"],
)
def test_the_search_begins_where_room_for_the_workload_and_what_is_ahead_is_counted(
    waits: str, before: dict[str, int], ends: int
) -> None:
    world = world_of(FULL + waits)
    assert module._likely(world, find(world, "podgroup", "default/train"), before) == ends


@pytest.mark.parametrize("ends", [0, 1, 20, 49, 50, 51, 99, 100])
def test_wherever_the_search_begins_it_finds_the_same(ends: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_likely", lambda *_: ends)
    found = explained(FULL + gang(1, "50")).forecast
    assert found is not None
    assert (found.at, found.after) == ("2026-01-01T00:50:00Z", ("default/r50",))


def test_without_a_declared_end_there_is_none() -> None:
    found = explained(node() + runs("a", "8") + gang(1, "6")).forecast
    assert found is not None
    assert (found.at, found.undeclared) == ("", 1)
    assert found.why.startswith("no running pod declares when it ends (activeDeadlineSeconds of pods")


def test_what_no_end_lets_start_has_none() -> None:
    found = explained(node() + runs("a", "6", deadline=60) + runs("b", "2") + gang(1, "8")).forecast
    assert found is not None
    assert (found.at, found.undeclared) == ("", 1)
    assert found.why.startswith(
        "it does not start even when all pods with a declared end have ended; 1 running pod without"
    )


def test_nothing_runs_where_nothing_can_end() -> None:
    found = explained(node() + gang(1, "12")).forecast
    assert found is not None
    assert found.why == "no running job would make room by ending"


def test_the_copy_is_as_it_was_afterwards() -> None:
    world = world_of(node() + runs("a", "4", deadline=600) + gang(1, "6"))
    target, now = find(world, "podgroup", "default/train"), world.simulation.now
    assert forecast(world, target) == forecast(world, target)
    assert (world.simulation.now, world.placed("default/train")) == (now, 0)
    assert datetime.fromtimestamp(now, UTC) < EPOCH + timedelta(minutes=1)


def test_a_right_guess_costs_three_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A little before that moment, just before it, and the moment itself."""
    tried: list[int] = []
    starts_after = module._Search._starts_after

    def counted(search: module._Search, ends: list[module._End]) -> bool:
        tried.append(len(ends))
        return starts_after(search, ends)

    monkeypatch.setattr(module._Search, "_starts_after", counted)
    monkeypatch.setattr(World, "affordable", lambda *_, **__: 12)  # as in a large cluster
    found = explained(FULL + gang(1, "50")).forecast
    assert found is not None
    assert (found.after, sum(tried), tried[-1]) == (("default/r50",), 50, 1)
    assert len(tried) <= 3
