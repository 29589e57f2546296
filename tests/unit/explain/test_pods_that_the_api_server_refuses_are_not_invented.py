"""Volcano Jobs whose controller has tried to create their pods, and could not: its status says so."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import explained, node, volcano_job, world_of
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_workload import explain_workload

MESSAGE = 'POST /api/v1/namespaces/default/pods: 403 Forbidden: pods "train-main-0" is forbidden: exceeded quota: small'


def refused_job(reason: str = "FailedCreate", message: str = MESSAGE, count: int = 2) -> str:
    state = f"status: {{state: {{phase: Pending, reason: {reason}, message: '{message}'}}}}\n---"
    return volcano_job("1", count).replace("{name: train}", "{name: train, uid: train}").removesuffix("---") + state


OWNED = (
    "ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train, uid: train, controller: true}]"
)
GROUP = f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {{name: train-train, {OWNED}}}
spec: {{minMember: 2}}
status: {{phase: Inqueue}}
---"""
POD = f"""
apiVersion: v1
kind: Pod
metadata:
  name: train-main-0
  annotations: {{scheduling.k8s.io/group-name: train-train, volcano.sh/task-spec: main, volcano.sh/job-version: "0"}}
  {OWNED}
spec: {{schedulerName: volcano, containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "1"}}}}}}]}}
---"""


def test_a_job_without_pods_is_explained_by_what_the_api_server_answered() -> None:
    found = explained(node() + refused_job() + GROUP)
    assert (found.now.state, found.now.running, found.now.wanted) == ("Waiting", 0, 2)
    assert (found.now.reason, found.now.message) == ("FailedCreate", MESSAGE)
    [binding] = [limit for limit in found.limits if limit.binding]
    assert (binding.kind, binding.note) == ("gang", "0 of the 2 pods that must start together exist")


def test_the_remedy_is_that_its_pods_are_accepted() -> None:
    [remedy] = explained(node() + refused_job() + GROUP).remedies
    assert remedy.kind == "missing-pods"
    assert remedy.text == (
        "correct what the API server refuses of Job default/train: its controller tries again, and its pods start when "
        "they are accepted"
    )


def test_pods_that_would_wait_anyway_are_no_remedy() -> None:
    found = explained(node(cpu="1") + refused_job() + GROUP)
    assert "missing-pods" not in {remedy.kind for remedy in found.remedies}


def test_only_the_pods_that_exist_count_when_a_quota_admits_a_part() -> None:
    found = explained(node() + refused_job() + GROUP + POD)
    assert (found.now.reason, found.now.running) == ("FailedCreate", 0)
    assert [remedy.kind for remedy in found.remedies] == ["missing-pods", "fewer-pods"]


def test_a_job_that_breaks_a_rule_starts_when_it_is_corrected() -> None:
    text = refused_job("InvalidJob", "spec.policies[0].event: unknown").replace(
        "  minAvailable", "  policies: [{event: Nonsense, action: RestartJob}]\n  minAvailable"
    )
    [remedy] = explained(node() + text).remedies
    assert remedy.text == "correct Job default/train: its pods are created as soon as it is valid"


@pytest.mark.parametrize("reason", ["FailedCreate", "PodGroupError", "InvalidJob"])
def test_a_job_without_a_pod_group_gets_none(reason: str) -> None:
    found = explained(node() + refused_job(reason, "spec.tasks[0].name: must be a DNS label"))
    assert (found.now.reason, found.now.message) == (reason, "spec.tasks[0].name: must be a DNS label")
    assert [remedy.kind for remedy in found.remedies] == ["missing-pods"]


def test_an_invalid_job_has_to_be_corrected() -> None:
    [remedy] = explained(node() + refused_job("InvalidJob", "spec.tasks: Required value")).remedies
    assert remedy.text == "correct Job default/train: its pods are created as soon as it is valid"


def test_its_pods_take_no_place_on_nodes() -> None:
    assert explain_node(world_of(node() + refused_job() + GROUP), "n1").pods == {}


def test_a_new_phase_does_not_bring_the_refused_pods() -> None:
    """Its only pod runs, so that the Job does; the other one is still refused."""
    job = refused_job().replace("minAvailable: 2", "minAvailable: 1")
    world = world_of(node() + job + GROUP.replace("minMember: 2", "minMember: 1") + POD)
    assert [pod.metadata.name for pod in world.pods_of("default/train-train")] == ["train-main-0"]
    assert explain_workload(world, "job", "default/train").now.state == "Starting"


CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n---"
LACKS_A_CLAIM = "PersistentVolumeClaim default/data does not exist; create it"


def with_claim(job: str) -> str:
    return job.replace(
        "spec:\n  minAvailable", "spec:\n  volumes: [{mountPath: /d, volumeClaimName: data}]\n  minAvailable", 1
    )


@pytest.mark.parametrize("job", [volcano_job("1"), refused_job("PVCError", LACKS_A_CLAIM, 1)])
def test_a_job_that_waits_for_a_claim_says_so(job: str) -> None:
    found = explained(node() + with_claim(job))
    assert (found.now.state, found.now.reason, found.now.message) == ("Waiting", "PVCError", LACKS_A_CLAIM)
    assert [remedy.text for remedy in found.remedies] == [
        "create the PersistentVolumeClaim data, with a volume that every node can use"
    ]


def test_a_claim_that_exists_by_now_is_not_waited_for() -> None:
    """The controller has not looked again yet."""
    found = explained(node() + CLAIM + with_claim(refused_job("PVCError", LACKS_A_CLAIM, 1)))
    assert found.now.reason != "PVCError"
