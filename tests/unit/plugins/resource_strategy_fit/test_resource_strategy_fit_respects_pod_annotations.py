"""Pods may bring a scoring strategy of their own; what cannot be read is ignored, with an event."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from tests.support.placement.node_answers import scores
from tests.support.registries import checked_registry
from tests.support.sessions import NOW, Opened, node, open_session, pod, pod_group
from volcano_py.api.effects import Bind, Effect, Event
from volcano_py.api.names import IGNORED_ANNOTATION
from volcano_py.config import parse_configuration
from volcano_py.plugins.resource_strategy_fit import ResourceStrategyFit
from volcano_py.plugins.resource_strategy_fit.override import OverrideError, read_override
from volcano_py.plugins.resource_strategy_fit.settings import Scoring, Strategy
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState

GPU = "nvidia.com/gpu"
TYPE, WEIGHT = "volcano.sh/resource-strategy-scoring-type", "volcano.sh/resource-strategy-weight"
SPREAD = {"n1": 500, "n2": 750}
"""What the default strategy says of the two nodes of `session`."""


def session(annotations: Mapping[str, str], pods: int = 1, weight: int = 10) -> Opened:
    """Two nodes of 16 CPUs, one of them with 4 in use; pods of 4 CPUs with these annotations."""
    made = [pod(f"p{number}", group="g", cpu="4", annotations=annotations) for number in range(pods)]
    return open_session(
        node("n1", cpu="16"),
        node("n2", cpu="16"),
        pod("old", on="n1", cpu="4"),
        pod_group("g"),
        made,
        tiers=[[(ResourceStrategyFit, {"arguments": {"resourceStrategyFitWeight": weight}})]],
    )


def of(opened: Opened) -> dict[str, float]:
    return scores(opened, ResourceStrategyFit, "p0")


def close(opened: Opened) -> list[Event]:
    """The events of a cycle that ends now."""
    opened.effects.clear()
    opened.plugin(ResourceStrategyFit).on_session_close(opened.ssn)
    return [effect for effect in opened.effects if isinstance(effect, Event)]


def test_both_annotations_together_replace_what_is_configured() -> None:
    assert of(session({})) == SPREAD
    assert of(session({TYPE: "MostAllocated", WEIGHT: '{"cpu": 3}'})) == {"n1": 500, "n2": 250}
    assert of(session({TYPE: "LeastAllocated", WEIGHT: '{"memory": 1}'})) == {"n1": 0, "n2": 0}
    assert of(session({TYPE: "MostAllocated", WEIGHT: '{"c*": 1}'})) == {"n1": 500, "n2": 250}


def test_a_resource_of_weight_0_does_not_disqualify_a_node_that_has_too_little_of_it() -> None:
    opened = open_session(
        node("n1", cpu="2", memory="16Gi"),
        pod_group("g"),
        pod(
            "p0",
            group="g",
            cpu="4",
            memory="4Gi",
            annotations={TYPE: "MostAllocated", WEIGHT: '{"cpu": 0, "memory": 1}'},
        ),
        tiers=[[ResourceStrategyFit]],
    )
    assert of(opened) == {"n1": 250}


def test_pods_with_and_without_them_are_scored_side_by_side() -> None:
    packed = pod("packed", group="g", cpu="4", annotations={TYPE: "MostAllocated", WEIGHT: '{"cpu": 1}'})
    spread = pod("spread", group="g", cpu="4")
    opened = open_session(
        node("n1", cpu="16"),
        pod("old", on="n1", cpu="8"),
        pod_group("g"),
        packed,
        spread,
        tiers=[[ResourceStrategyFit]],
    )
    assert scores(opened, ResourceStrategyFit, "packed") == {"n1": 750}
    assert scores(opened, ResourceStrategyFit, "spread") == {"n1": 250}


def test_the_texts_are_read_as_one_scoring_and_weights_by_resource() -> None:
    strategies = read_override(" MostAllocated", f'{{"cpu": 0, "{GPU}": 5}}')
    assert strategies.of("cpu") == Strategy(Scoring.MOST_ALLOCATED, 0)
    assert strategies.of(GPU) == Strategy(Scoring.MOST_ALLOCATED, 5)
    assert strategies.of("memory") is None


BAD = {
    "no weights": ({TYPE: "MostAllocated"}, f"annotation {WEIGHT} is missing"),
    "no type": ({WEIGHT: '{"cpu": 1}'}, f"annotation {TYPE} is missing"),
    "unknown type": ({TYPE: "Most", WEIGHT: '{"cpu": 1}'}, f"annotation {TYPE} is 'Most': write MostAllocated or"),
    "negative": ({TYPE: "MostAllocated", WEIGHT: '{"cpu": -1}'}, f"annotation {WEIGHT} is '{{\"cpu\": -1}}': write"),
    "no JSON": ({TYPE: "MostAllocated", WEIGHT: "cpu: 1"}, f"annotation {WEIGHT} is 'cpu: 1': write whole numbers"),
    "no mapping": ({TYPE: "MostAllocated", WEIGHT: "[1]"}, "is '[1]'"),
    "empty": ({TYPE: "MostAllocated", WEIGHT: "{}"}, "is '{}'"),
    "no number": ({TYPE: "MostAllocated", WEIGHT: '{"cpu": "1"}'}, "write whole numbers"),
    "a fraction": ({TYPE: "MostAllocated", WEIGHT: '{"cpu": 0.5}'}, "write whole numbers"),
    "a truth": ({TYPE: "MostAllocated", WEIGHT: '{"cpu": true}'}, "write whole numbers"),
    "too heavy": ({TYPE: "MostAllocated", WEIGHT: '{"cpu": 99999999999999999999}'}, "write whole numbers"),
    "a star alone": ({TYPE: "MostAllocated", WEIGHT: '{"*": 1}'}, "write whole numbers"),
    "deep": ({TYPE: "MostAllocated", WEIGHT: '{"a":' * 3000}, "write whole numbers"),
}


@pytest.mark.parametrize(("annotations", "reported"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_leaves_the_configured_strategy_and_is_reported_when_the_pod_is_placed(
    annotations: dict[str, str], reported: str
) -> None:
    opened = session(annotations)
    assert of(opened) == SPREAD
    assert opened.ssn.dispatch.failures.counts == {}
    opened.place("g", {"p0": "n2"}).commit()
    with capture_logs() as logs:
        (event,) = close(opened)
    assert (event.about.name, event.type, event.reason) == ("p0", "Warning", "IgnoredAnnotation")
    assert reported in event.message
    assert event.message.endswith("; nodes were scored as the scheduler is configured")
    assert [(entry["pod"], entry["pods"]) for entry in logs] == [("team/p0", 1)]
    with pytest.raises(OverrideError):
        read_override(annotations.get(TYPE, ""), annotations.get(WEIGHT, ""))


def test_every_pod_gets_the_event_and_the_log_has_it_once() -> None:
    opened = session({TYPE: "MostAllocated"}, pods=3)
    of(opened)
    opened.place("g", {"p0": "n1", "p1": "n2"}).commit()
    with capture_logs() as logs:
        events = close(opened)
    assert [event.about.name for event in events] == ["p0", "p1"], "the third one is not placed"
    assert [entry["pods"] for entry in logs] == [2]


def test_no_event_is_recorded_while_nothing_is_placed_or_nothing_is_wrong() -> None:
    waiting = session({TYPE: "MostAllocated"})
    of(waiting)
    assert close(waiting) == []
    waiting.place("g", {"p0": "n2"}).discard()
    assert close(waiting) == []
    good = session({TYPE: "MostAllocated", WEIGHT: '{"cpu": 1}'})
    of(good)
    good.place("g", {"p0": "n2"}).commit()
    assert close(good) == []


def test_the_status_of_a_pod_is_not_written_again_in_the_next_cycle() -> None:
    state = session({TYPE: "MostAllocated"}).state
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: resource-strategy-fit\n"
    registry = checked_registry()
    configuration = parse_configuration(text, registry.catalogue()).config
    assert configuration is not None
    effects: list[Effect] = []
    scheduler = Scheduler(registry, effects.extend)
    reported = []
    for _ in range(2):
        scheduler.run_cycle(state.snapshot(NOW.timestamp()), configuration)
        for effect in effects:
            if isinstance(effect, Bind):
                assert state.assume_bound(effect.pod.uid, effect.node)
        reported.append([effect.reason for effect in effects if isinstance(effect, Event)])
        effects.clear()
    assert [IGNORED_ANNOTATION in reasons for reasons in reported] == [True, False]


def test_the_status_of_a_pod_is_not_written_again_with_the_next_of_its_kind() -> None:
    annotations = {TYPE: "MostAllocated"}
    pods = [pod(f"p{number}", group="g", cpu="4", annotations=annotations) for number in range(2)]

    def bind_the_first(state: ClusterState) -> None:
        assert state.assume_bound(pods[0].metadata.uid, "n1")

    opened = open_session(
        node("n1", cpu="16"), pod_group("g"), pods, tiers=[[ResourceStrategyFit]], prepare=bind_the_first
    )
    scores(opened, ResourceStrategyFit, "p1")
    opened.place("g", {"p1": "n1"}).commit()
    assert [event.about.name for event in close(opened)] == ["p1"]


def test_a_plugin_that_is_off_reads_no_annotations() -> None:
    opened = session({TYPE: "MostAllocated"}, weight=0)
    assert of(opened) == {"n1": 0, "n2": 0}
    opened.place("g", {"p0": "n2"}).commit()
    assert close(opened) == []
