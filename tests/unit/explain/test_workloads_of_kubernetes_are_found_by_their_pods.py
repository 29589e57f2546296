"""`explain job/x`, `deployment/x` and so on: Kubernetes' own workloads, known by the owners of their pods."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import node, volcano_job, world_of
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.target import ExplainError

HASH = "6d4f8c7b9"


def owner(api_version: str, kind: str, name: str) -> str:
    uid = f"{api_version.replace('/', '-')}-{name}"
    reference = f"apiVersion: {api_version}, kind: {kind}, name: {name}, uid: {uid}, controller: true"
    return f"ownerReferences: [{{{reference}}}]"


def pod(
    name: str, owned: str, *, cpu: str = "1", scheduler: str = "volcano", phase: str = "Pending", more: str = ""
) -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, {owned}{more}}}
spec:
  schedulerName: {scheduler}
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: {phase}}}
---"""


def replica_set(name: str, owned: str = "") -> str:
    return f"""
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: {name}, uid: uid-{name}, {owned}}}
---"""


def of_replica_set(name: str, count: int, *, cpu: str = "1", more: str = "") -> str:
    owned = owner("apps/v1", "ReplicaSet", name)
    return "".join(pod(f"{name}-{number}", owned, cpu=cpu, more=more) for number in range(count))


def explained(text: str, kind: str, name: str = "web") -> WorkloadExplanation:
    return explain_workload(world_of(node() + text), kind, f"default/{name}")


@pytest.mark.parametrize(
    ("kind", "api_version", "owner_kind"),
    [
        ("job", "batch/v1", "Job"),
        ("job.batch", "batch/v1", "Job"),
        ("statefulset", "apps/v1", "StatefulSet"),
        ("replicaset", "apps/v1", "ReplicaSet"),
        ("daemonset", "apps/v1", "DaemonSet"),
    ],
)
def test_its_pods_are_those_that_it_owns(kind: str, api_version: str, owner_kind: str) -> None:
    owned = owner(api_version, owner_kind, "web")
    others = pod("else-0", owner(api_version, owner_kind, "else")) + pod(
        "alike-0", owner("example.com/v1", owner_kind, "web")
    )
    found = explained(pod("web-0", owned, cpu="64") + pod("web-1", owned, cpu="64") + others, kind)
    assert (found.name, found.now.state, found.now.wanted) == ("default/web", "Waiting", 2)
    assert "64 cpu" in found.now.message


def test_a_deployment_owns_what_its_replica_sets_own() -> None:
    text = replica_set("web-1", owner("apps/v1", "Deployment", "web")) + of_replica_set("web-1", 2, cpu="64")
    assert explained(text, "deployment").now.wanted == 2
    with pytest.raises(ExplainError):
        explained(text.replace("kind: Deployment", "kind: Rollout"), "deployment")


def test_where_replica_sets_are_not_read_their_names_say_the_deployment() -> None:
    text = of_replica_set(f"web-{HASH}", 2, cpu="64", more=f", labels: {{pod-template-hash: {HASH}}}")
    assert explained(text, "deployment").now.wanted == 2
    with pytest.raises(ExplainError):
        explained(text + replica_set(f"web-{HASH}"), "deployment")


def test_a_job_of_volcano_comes_first() -> None:
    text = volcano_job("1", 3).replace("{name: train}", "{name: web}") + pod("web-x", owner("batch/v1", "Job", "web"))
    assert explained(text, "job").now.wanted == 3
    assert explained(text, "job.batch").now.wanted == 1


def rolled(*revisions: tuple[str, str]) -> str:
    """A Deployment with a ReplicaSet of two pods for each (name, cpu)."""
    sets = (replica_set(name, owner("apps/v1", "Deployment", "web")) for name, _ in revisions)
    return "".join(sets) + "".join(of_replica_set(name, 2, cpu=cpu) for name, cpu in revisions)


def test_of_several_podgroups_one_that_waits_is_explained_and_the_others_are_counted() -> None:
    found = explained(rolled(("web-1", "1"), ("web-2", "64"), ("web-3", "65")), "deployment")
    assert found.now.state == "Waiting"
    assert found.now.others == "its other PodGroups: 1 waits for the same reason, 1 does not wait"
    assert "  its other PodGroups: 1 waits for the same reason, 1 does not wait" in [*drawn(found)]


def test_a_podgroup_that_waits_for_another_reason_is_named() -> None:
    text = rolled(("web-1", "64"), ("web-2", "1")).replace(
        "{name: web-2-", "{annotations: {scheduling.volcano.sh/queue-name: absent}, name: web-2-"
    )
    assert explained(text, "deployment").now.others == (
        "its other PodGroup: 1 waits for another reason (default/podgroup-apps-v1-web-2)"
    )


def test_a_workload_that_runs_is_said_to_run() -> None:
    found = explained(rolled(("web-1", "1")), "deployment")
    assert (found.now.state, found.now.others) == ("Starting", "")


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        (
            "",
            "job",
            (
                "job default/web does not exist, or you may not read it: no Volcano Job has this name, and no pod "
                "belongs to a Kubernetes Job of this name; check its name and --namespace. Kinds that can be "
                "explained: podgroup, job, deployment, statefulset, replicaset, daemonset, job.batch, cronjob, "
                "cronjob.batch, pod, queue, node"
            ),
        ),
        (
            "",
            "statefulset",
            "you may not read it: no pod belongs to a Kubernetes StatefulSet of this name; check its name",
        ),
        (
            "",
            "podgroup",
            "podgroup default/web does not exist, or you may not read it; check its name and --namespace.",
        ),
        (
            replica_set("web"),
            "replicaset",
            "replicaset default/web has no pods: `kubectl describe replicaset.apps web --namespace default` says why",
        ),
        (
            replica_set("web-1", owner("apps/v1", "Deployment", "web")),
            "deployment",
            "deployment default/web has no pods: `kubectl describe deployment.apps web --namespace default` says why",
        ),
        (
            pod("web-0", owner("batch/v1", "Job", "web"), scheduler="default-scheduler"),
            "job",
            "the pods of job default/web have schedulerName default-scheduler: this scheduler (volcano) does not place",
        ),
        (
            pod("web-0", owner("batch/v1", "Job", "web"), phase="Succeeded"),
            "job",
            "the pods of job default/web have ended",
        ),
    ],
    ids=["no job", "no statefulset", "no podgroup", "no pods", "no pods of a deployment", "another scheduler", "ended"],
)
def test_what_was_looked_for_is_said(text: str, kind: str, error: str) -> None:
    with pytest.raises(ExplainError) as raised:
        explained(text, kind)
    assert error in str(raised.value)
