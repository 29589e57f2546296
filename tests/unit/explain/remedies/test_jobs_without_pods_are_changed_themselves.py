"""A Volcano Job that is not admitted, or is not valid, has no pods that a remedy could change."""

from __future__ import annotations

from tests.unit.explain.causes import OVERCOMMIT, explained, node, volcano_job

GPU_NODE = node(extra="").replace('cpu: "8"', 'cpu: "8", nvidia.com/gpu: "4"')
TWO_TASKS = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 2
  tasks:
  - name: server
    replicas: 1
    template: {spec: {containers: [{name: main, image: pause, resources: {requests: {cpu: '1'}}}]}}
  - name: worker
    replicas: 1
    template:
      spec:
        containers:
        - {name: main, image: pause, resources: {requests: {cpu: '1'}, limits: {nvidia.com/gpu: 8}}}
---"""


def test_a_minimum_above_the_replicas_is_lowered() -> None:
    found = explained(node() + volcano_job("1", 3).replace("minAvailable: 3", "minAvailable: 5"))
    assert (found.now.reason, found.now.running, found.now.wanted) == ("InvalidJob", 0, 5)
    assert found.limits[0].note == "0 of the 5 pods that must start together exist"
    assert [each.text for each in found.remedies] == ["lower minAvailable of Job default/train from 5 to 3"]


def test_a_minimum_is_not_lowered_for_pods_that_are_too_large() -> None:
    found = explained(node() + volcano_job("6", 3).replace("minAvailable: 3", "minAvailable: 5"))
    assert not found.remedies


def test_the_task_that_asks_for_the_most_asks_for_less() -> None:
    found = explained(GPU_NODE + TWO_TASKS, OVERCOMMIT)
    assert found.now.reason == "ClusterOvercommitted"
    assert {each.kind: each.text for each in found.remedies}["smaller-pods"] == (
        "ask for less: 4 nvidia.com/gpu for each pod of task worker instead of 8 nvidia.com/gpu "
        "(recreate Job default/train)"
    )


def test_a_job_of_many_containers_is_left_alone() -> None:
    two = "{name: second, image: pause, resources: {requests: {cpu: '1'}}}"
    text = TWO_TASKS.replace("limits: {nvidia.com/gpu: 8}}}", "limits: {nvidia.com/gpu: 8}}}\n        - " + two)
    assert "smaller-pods" not in {each.kind for each in explained(GPU_NODE + text, OVERCOMMIT).remedies}
