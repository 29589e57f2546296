"""`simulate --play`: objects come when they were created, as often as they say, and pods end."""

from __future__ import annotations

import runpy
from typing import Any, Final

import pytest
from click.testing import CliRunner

from tests.unit.docs.pages import PROJECT
from volcano_py.cli.simulate import simulate
from volcano_py.cluster.manifests import ManifestError, read_text, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.play import Play, PlayResult
from volcano_py.scheduler import builtin_registry

PICTURE: Final = PROJECT / "docs" / "images" / "held_places.py"
EXAMPLE: Final = PROJECT / "examples" / "large-jobs"
NODE: Final = """
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
"""


def pod(name: str = "p", *, came: str = "00:00:00", cpu: str = "4", spec: str = "", **annotations: str) -> str:
    marks = ", ".join(f'volcano.sh/{key.replace("_", "-")}: "{value}"' for key, value in annotations.items())
    return f"""
kind: Pod
metadata: {{name: {name}, creationTimestamp: "2026-01-01T{came}Z", annotations: {{{marks}}}}}
spec: {{schedulerName: volcano, {spec} containers: [{{name: main, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}
---
"""


def play(text: str, seconds: float) -> PlayResult:
    registry = builtin_registry()
    configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
    assert configuration is not None
    return Play(stored(read_text(NODE + text)), configuration, registry).run(seconds)


def test_pods_come_at_their_creation_times_wait_and_end() -> None:
    result = play(
        pod("first", simulate_runs_for="10m") + pod("second", came="00:01:00", simulate_runs_for="5m"), 20 * 60
    )
    first, second = result.work
    assert (first.name, first.waits, first.ended) == ("default/first", (0.0,), 1)
    assert (second.name, second.waits, second.ended) == ("default/second", (9 * 60.0,), 1)
    assert [(run.pod, run.node, run.started, run.ended) for run in result.runs] == [
        ("default/first", "n1", 0.0, 600.0),
        ("default/second", "n1", 600.0, 900.0),
    ]
    assert result.utilisation == {"cpu": pytest.approx(15 / 20), "memory": 0.0}


def test_an_object_comes_as_often_as_it_says() -> None:
    result = play(pod(cpu="1", simulate_times="5", simulate_every="30s", simulate_runs_for="1m"), 300)
    (work,) = result.work
    assert (work.name, work.came, work.started, work.ended) == ("default/p", 5, 5, 5)
    assert [run.started for run in result.runs] == [0.0, 30.0, 60.0, 90.0, 120.0]


@pytest.mark.parametrize(
    ("made", "ended"),
    [
        ({"simulate_runs_for": "2m", "spec": "activeDeadlineSeconds: 60,"}, 60.0),
        ({"running_estimate": "3m"}, 180.0),
        ({"running_estimate": "3m", "simulate_runs_for": "1m"}, 60.0),
        ({"spec": "activeDeadlineSeconds: 90,"}, 90.0),
        ({}, None),
    ],
)
def test_a_pod_runs_as_long_as_it_says_or_declares(made: dict[str, Any], ended: float | None) -> None:
    (run,) = play(pod(**made), 600).runs
    assert run.ended == ended


def test_a_job_whose_pods_have_ended_has_ended() -> None:
    text = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 2
  tasks:
  - name: worker
    replicas: 2
    template:
      metadata: {annotations: {volcano.sh/simulate-runs-for: 1m}}
      spec: {containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
"""
    (work,) = play(text, 300).work
    assert (work.name, work.came, work.started, work.ended) == ("default/train", 1, 1, 1)


@pytest.mark.parametrize(
    "annotations",
    [
        {"simulate_times": "0"},
        {"simulate_times": "many"},
        {"simulate_times": "999999"},
        {"simulate_times": "2", "simulate_every": "soon"},
        {"simulate_runs_for": "-1m"},
    ],
)
def test_annotations_that_cannot_be_read_are_reported(annotations: dict[str, str]) -> None:
    with pytest.raises(ManifestError, match=r"volcano\.sh/simulate-"):
        play(pod(**annotations), 300)


def test_it_is_one_or_the_other() -> None:
    result = CliRunner().invoke(simulate, ["-f", str(EXAMPLE), "--play", "1m", "--cycles", "3"])
    assert result.exit_code == 2
    assert "exclude each other" in result.output


def test_json_has_what_was_played() -> None:
    played = play(pod(simulate_runs_for="1m"), 120).as_json()["played"]
    assert played == {
        "time": "2m",
        "work": [
            {"name": "default/p", "came": 1, "started": 1, "ended": 1, "meanWait": "0s", "longestWait": "0s"},
        ],
        "utilisation": {"cpu": 0.5, "memory": 0.0},
    }


def test_the_picture_of_the_guide_is_what_is_played() -> None:
    """When this fails: python docs/images/held_places.py."""
    script = runpy.run_path(str(PICTURE))
    assert PICTURE.with_name("held-places.svg").read_text(encoding="utf-8") == script["picture"]()
