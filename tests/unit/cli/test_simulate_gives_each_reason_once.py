"""The table of PodGroups has a gang's reason in full; its pods show the code, and what else there is to say. PodGroups
are named as people call them, and Jobs that get no pods have a row."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from volcano_py.cli.simulate import simulate

MANIFESTS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {minMember: 2}}
- &pod
  apiVersion: v1
  kind: Pod
  metadata: {name: pair-0, annotations: {scheduling.k8s.io/group-name: pair}}
  spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "6"}}}]}
- {<<: *pod, metadata: {name: pair-1, annotations: {scheduling.k8s.io/group-name: pair}}}
- {<<: *pod, metadata: {name: orphan, annotations: {scheduling.k8s.io/group-name: missing}}}
"""


OWNED = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "2", memory: 32Gi, pods: "110"}}}
- &pod
  apiVersion: v1
  kind: Pod
  metadata:
    name: web-5d8f-x
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f, uid: 0d3a, controller: true}]
  spec: &spec {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]}
- {<<: *pod, metadata: {name: alone}}
- &job
  apiVersion: batch.volcano.sh/v1alpha1
  kind: Job
  metadata: {name: train}
  spec: {minAvailable: 1, tasks: [{name: w, replicas: 1, template: {spec: *spec}}]}
- {<<: *job, metadata: {name: invalid}, spec: {minAvailable: 3,
    tasks: [{name: w, replicas: 1, template: {spec: *spec}}]}}
- {<<: *job, metadata: {name: claims}, spec: {minAvailable: 1, volumes: [{mountPath: /data, volumeClaimName: absent}],
    tasks: [{name: w, replicas: 1, template: {spec: *spec}}]}}
- {<<: *job, metadata: {name: strange}, spec: {minAvailable: 1, schedulerName: another,
    tasks: [{name: w, replicas: 1, template: {spec: *spec}}]}}
"""


def rows_of(manifests: str, path: Path) -> dict[str, str]:
    """The first cell of each row → the row."""
    (path / "all.yaml").write_text(manifests)
    result = CliRunner(env={"COLUMNS": "400"}).invoke(simulate, ["--filename", str(path)])
    assert result.exit_code == 0, result.output
    return {line.split("│")[1].strip(): line for line in result.output.splitlines() if line.startswith("│")}


def test_pod_groups_are_named_after_the_owners_that_people_know(tmp_path: Path) -> None:
    rows = rows_of(OWNED, tmp_path)
    assert {"default/web-5d8f (ReplicaSet)", "default/alone (Pod)", "default/train (Job)"} <= rows.keys()
    assert not [name for name in rows if "podgroup-" in name or "volcanojob" in name]


def test_jobs_that_get_no_pods_have_a_row_with_the_reason(tmp_path: Path) -> None:
    rows = rows_of(OWNED, tmp_path)
    phase, why = (cell.strip() for cell in rows["default/invalid (Job)"].split("│")[2:4])
    assert (phase, why.partition(",")[0]) == (
        "Pending",
        "InvalidJob: spec.minAvailable: 3 is more than the replicas of all tasks",
    )
    assert "PVCError: PersistentVolumeClaim default/absent does not exist" in rows["default/claims (Job)"]
    assert "OtherScheduler: schedulerName is another" in rows["default/strange (Job)"], "it has a PodGroup, too"


HAS_ENOUGH = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "2", memory: 32Gi, pods: "110"}}}
- apiVersion: batch.volcano.sh/v1alpha1
  kind: Job
  metadata: {name: train, uid: 0d3a}
  spec:
    minAvailable: 1
    tasks:
    - {name: w, replicas: 2, template: {spec: {containers: [{name: main, resources: {requests: {cpu: "9"}}}]}}}
  status: {state: {phase: Pending, reason: FailedCreate, message: exceeded quota}}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {name: train-0d3a, ownerReferences: [&job {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train,
    uid: 0d3a, controller: true}]}
  spec: {minMember: 1}
  status: {phase: Inqueue}
- apiVersion: v1
  kind: Pod
  metadata: {name: train-w-0, ownerReferences: [*job], annotations: {scheduling.k8s.io/group-name: train-0d3a}}
  spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "9"}}}]}
"""


def test_a_job_with_the_pods_that_it_starts_with_waits_for_what_they_wait_for(tmp_path: Path) -> None:
    """The pods beyond them are refused, which does not keep it from starting; the page and explain say so, too."""
    assert "NeverFits" in rows_of(HAS_ENOUGH, tmp_path)["default/train (Job)"]


def test_a_pod_group_under_another_name_has_the_reason_of_its_job(tmp_path: Path) -> None:
    """A Job may come with the PodGroup of another version."""
    without_pods = HAS_ENOUGH.partition("- apiVersion: v1\n  kind: Pod\n")[0].replace("train-0d3a", "older")
    rows = rows_of(without_pods, tmp_path)
    assert "FailedCreate: exceeded quota" in rows["default/train (Job)"]


def test_jobs_that_get_no_pods_are_in_the_json_output(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(OWNED)
    result = CliRunner().invoke(simulate, ["--filename", str(tmp_path), "--output", "json"])
    refused = json.loads(result.stdout)["refusedJobs"]
    assert {name: (job["phase"], job["reason"]) for name, job in refused.items()} == {
        "default/invalid": ("Pending", "InvalidJob"),
        "default/claims": ("Pending", "PVCError"),
        "default/strange": ("Pending", "OtherScheduler"),
    }


def test_a_sentence_of_the_podgroup_is_not_repeated_for_its_pods(tmp_path: Path) -> None:
    rows = rows_of(MANIFESTS, tmp_path)

    assert "Insufficient cpu" in rows["default/pair"]
    for pod in ("default/pair-0", "default/pair-1"):
        assert "see its PodGroup" in rows[pod]
        assert "Insufficient cpu" not in rows[pod]
    assert "PodGroup default/missing does not exist" in rows["default/orphan"], "there is no PodGroup to look at"
