"""A gang some of whose pods are created only when others run never starts."""

from __future__ import annotations

from tests.unit.explain.causes import explained, node

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: MINIMUM
  tasks:
  - {name: first, replicas: 1, template: TEMPLATE}
  - {name: then, replicas: 2, dependsOn: {name: [first]}, template: TEMPLATE}
---""".replace("TEMPLATE", "{spec: {containers: [{name: main, image: pause, resources: {requests: {cpu: '1'}}}]}}")


def test_a_gang_with_depends_on_inside_it_waits_for_itself() -> None:
    found = explained(node() + JOB.replace("MINIMUM", "3"))
    assert found.now.reason == "NotEnoughTasks"
    assert found.now.message == (
        "Job default/train waits for itself: task then waits for others (dependsOn), and a gang of 3 pods waits for "
        "them; set spec.minAvailable to 1 at most"
    )


def test_a_gang_that_does_not_need_them_starts() -> None:
    assert explained(node() + JOB.replace("MINIMUM", "1")).now.state == "Starting"


def test_the_remedy_is_a_smaller_gang() -> None:
    found = {each.kind: each.text for each in explained(node() + JOB.replace("MINIMUM", "3")).remedies}
    assert found["fewer-pods"] == ("start with fewer pods: lower minAvailable of Job default/train from 3 to 1")
