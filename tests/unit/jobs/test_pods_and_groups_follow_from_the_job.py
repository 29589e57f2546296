"""Pods, claims and the PodGroup of a Job, field by field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.jobs.job_objects import group, job, pods, task
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.group import group_changes, group_of, is_outdated, min_resources
from volcano_py.jobs.members import Members
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import JobPlugin
from volcano_py.jobs.pods import claim_name, claim_of, pod_of


def made(of: VolcanoJob, task_name: str = "worker", index: int = 0, **fields: Any) -> dict[str, Any]:
    found = of.task(task_name)
    assert found is not None
    return pod_of(of, found, index, **fields)


def test_a_pod_says_whose_it_is() -> None:
    pod = made(job(task(replicas=3), status={"version": 2, "retryCount": 1}, queue="q"), index=2)
    assert pod["metadata"] == {
        "name": "train-worker-2",
        "namespace": "ns",
        "labels": {
            "volcano.sh/task-index": "2",
            "volcano.sh/job-name": "train",
            "volcano.sh/task-spec": "worker",
            "volcano.sh/job-namespace": "ns",
            "volcano.sh/queue-name": "q",
        },
        "annotations": {
            "volcano.sh/task-index": "2",
            "volcano.sh/task-spec": "worker",
            "volcano.sh/job-name": "train",
            "volcano.sh/queue-name": "q",
            "volcano.sh/job-version": "2",
            "volcano.sh/job-retry-count": "1",
            "volcano.sh/template-uid": "train-worker",
            "scheduling.k8s.io/group-name": "train-job-uid",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": "train",
                "uid": "job-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_a_queue_whose_name_is_no_label_is_written_where_it_may_be() -> None:
    longest = "q" * 63
    assert made(job(task(), queue=longest))["metadata"]["labels"]["volcano.sh/queue-name"] == longest
    metadata = made(job(task(), queue=f"{longest}q"))["metadata"]
    assert "volcano.sh/queue-name" not in metadata["labels"]
    assert metadata["annotations"]["volcano.sh/queue-name"] == f"{longest}q"


def test_the_template_is_kept_and_never_changed() -> None:
    template = task()["template"] | {"metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}}}
    of = job({"name": "worker", "replicas": 1, "template": template}, volumes=[{"mountPath": "/d", "volumeClaim": {}}])
    before = msgspec.json.encode(of)
    pod = made(of)
    assert pod["metadata"]["labels"]["app"] == "x"
    assert pod["metadata"]["annotations"]["note"] == "y"
    assert pod["spec"]["containers"][0]["image"] == "work"
    assert msgspec.json.encode(of) == before


@pytest.mark.parametrize(
    ("of_job", "of_template", "expected"),
    [
        ({}, {}, {"schedulerName": "volcano"}),
        ({"schedulerName": "other"}, {}, {"schedulerName": "other"}),
        ({"schedulerName": "other"}, {"schedulerName": "mine"}, {"schedulerName": "mine"}),
        ({"priorityClassName": "high"}, {}, {"priorityClassName": "high"}),
        ({"priorityClassName": "high"}, {"priorityClassName": "low"}, {"priorityClassName": "low"}),
        ({}, {"hostNetwork": True}, {"dnsPolicy": "ClusterFirstWithHostNet"}),
        ({}, {"hostNetwork": True, "dnsPolicy": "Default"}, {"dnsPolicy": "Default"}),
    ],
)
def test_what_the_template_leaves_open_comes_from_the_job(
    of_job: dict[str, Any], of_template: dict[str, Any], expected: dict[str, Any]
) -> None:
    full = task()
    full["template"]["spec"].update(of_template)
    spec = made(job(full, **of_job))["spec"]
    assert {key: spec[key] for key in expected} == expected


def test_a_job_that_may_be_preempted_has_pods_that_may_be() -> None:
    of = job()
    metadata = msgspec.structs.replace(
        of.metadata,
        annotations={"volcano.sh/preemptable": "true", "mine": "x"},
        labels={"volcano.sh/preemptable": "true"},
    )
    pod = made(msgspec.structs.replace(of, metadata=metadata))
    assert pod["metadata"]["annotations"]["volcano.sh/preemptable"] == "true"
    assert pod["metadata"]["labels"]["volcano.sh/preemptable"] == "true"
    assert "mine" not in pod["metadata"]["annotations"]


def test_partitions_and_numa_policy_are_written_on_the_pods() -> None:
    of = job(task(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2}, topologyPolicy="restricted"))
    found = [made(of, index=index)["metadata"]["labels"]["volcano.sh/partition-id"] for index in range(4)]
    assert found == ["0", "0", "1", "1"]
    assert made(of)["metadata"]["annotations"]["volcano.sh/numa-topology-policy"] == "restricted"


def test_every_container_mounts_every_volume() -> None:
    full = task()
    full["template"]["spec"]["initContainers"] = [{"name": "init"}]
    claim = {"resources": {"requests": {"storage": "1Gi"}}}
    of = job(full, volumes=[{"mountPath": "/a", "volumeClaimName": "a"}, {"mountPath": "/b", "volumeClaim": claim}])
    spec = made(of)["spec"]
    names = [volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"]]
    assert names == ["a", claim_name(of, 1)]
    for container in (*spec["containers"], *spec["initContainers"]):
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/a", "/b"]
    body = claim_of(of, 1, of.spec.volumes[1])
    assert (body["metadata"]["name"], body["spec"]) == (claim_name(of, 1), claim)
    assert body["metadata"]["ownerReferences"][0]["uid"] == "job-uid"


def test_plugins_see_the_finished_pod_in_their_order() -> None:
    seen = []

    class Noting(JobPlugin):
        def on_pod_create(self, pod: dict[str, Any], job: VolcanoJob, task: Any, index: int) -> None:
            seen.append((self.arguments, pod["metadata"]["name"], task.name, index))

    made(job(), plugins=[Noting(["one"]), Noting(["two"])])
    assert seen == [(("one",), "train-worker-0", "worker", 0), (("two",), "train-worker-0", "worker", 0)]


def test_only_names_that_the_job_gives_are_its_pods() -> None:
    """Two tasks of which one's name begins like the other's; a number that is none."""
    of = job(task("a", 2), task("a-1", 2))
    found = pods(of, {"a-0": "Running", "a-1-0": "Running", "a-1": "Running"})
    strays = [
        msgspec.structs.replace(found[0], metadata=msgspec.structs.replace(found[0].metadata, name=name))
        for name in ("train-a-00", "train-a-x", "train-b-0", "other-a-0", "train-a-")
    ]
    members = Members.of(of, [*found, *strays])
    assert {name: sorted(each) for name, each in members.current.items()} == {"a": [0, 1], "a-1": [0]}
    assert members.names == {"train-a-0", "train-a-1", "train-a-1-0"}


# -- the group -------------------------------------------------------------------------------------------------------


def test_the_group_of_a_job() -> None:
    of = job(
        task("master", 1),
        task("worker", 4, minAvailable=2),
        queue="q",
        priorityClassName="high",
        networkTopology={"mode": "soft"},
        status={"version": 3},
    )
    body = group_of(of, {})
    assert body["metadata"]["name"] == "train-job-uid"
    assert body["metadata"]["annotations"] == {"volcano.sh/job-version": "3"}
    spec = {key: value for key, value in body["spec"].items() if key != "minResources"}
    assert spec == {
        "minMember": 3,
        "minTaskMember": {"master": 1, "worker": 2},
        "queue": "q",
        "priorityClassName": "high",
        "networkTopology": {"mode": "soft"},
    }


def test_partitions_become_sub_groups() -> None:
    policy = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1, "networkTopology": {"mode": "hard"}}
    body = group_of(job(task(replicas=4, partitionPolicy=policy)), {})
    assert body["spec"]["minMember"] == 2
    assert body["spec"]["subGroupPolicy"] == [
        {
            "name": "worker",
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "subGroupSize": 2,
            "minSubGroups": 1,
            "networkTopology": {"mode": "hard"},
        }
    ]


def high(name: str, replicas: int, cpu: str, minimum: int, priority: str) -> dict[str, Any]:
    full = task(name, replicas, cpu=cpu, minAvailable=minimum)
    full["template"]["spec"]["priorityClassName"] = priority
    return full


@pytest.mark.parametrize(
    ("minimum", "cpu", "count"),
    [
        # below the tasks' minimums: the first pods of the more important task
        (1, "4", "1"),
        (2, "8", "2"),
        # all minimums, 2 × 1 and 2 × 4 CPUs …
        (4, "10", "4"),
        # … and further replicas, the important ones first
        (5, "14", "5"),
        (7, "16", "7"),
    ],
)
def test_what_the_minimum_takes(minimum: int, cpu: str, count: str) -> None:
    of = job(high("low", 4, "1", 2, "low"), high("high", 3, "4", 2, "high"), minAvailable=minimum)
    found = min_resources(of, {"low": 1, "high": 10})
    assert found is not None
    assert (found["cpu"], found["requests.cpu"], found["pods"], found["count/pods"]) == (cpu, cpu, count, count)


@pytest.mark.parametrize("cpu", ["many", "-1", "1e30"])
def test_amounts_that_cannot_be_are_left_to_the_scheduler(cpu: str) -> None:
    of = job(task(cpu=cpu))
    assert min_resources(of, {}) is None
    assert "minResources" not in group_of(of, {})["spec"]


@pytest.mark.parametrize(
    ("job_class", "task_classes", "group_class"),
    [
        ("high", ["", ""], "high"),
        ("high", ["high", "low"], "low"),
        ("low", ["high", "high"], "low"),
        ("", ["high", "high"], None),
        ("high", ["low"], "low"),
    ],
)
def test_the_group_has_the_lowest_class_of_the_job_and_its_templates(
    job_class: str, task_classes: list[str], group_class: str | None
) -> None:
    """As the scheduler counts it once there are pods."""
    tasks = [high(f"t{place}", 1, "1", 1, name) for place, name in enumerate(task_classes)]
    named: dict[str, Any] = {"priorityClassName": job_class} if job_class else {}
    spec = group_of(job(*tasks, **named), {"low": 1, "high": 10})["spec"]
    assert spec.get("priorityClassName") == group_class


def test_a_task_without_replicas_does_not_lower_the_group() -> None:
    of = job(task("a", 1), high("idle", 0, "1", 0, "low"), priorityClassName="high")
    assert group_of(of, {"low": 1, "high": 10})["spec"]["priorityClassName"] == "high"


def test_a_group_follows_an_edited_job() -> None:
    before = job(task("a", 2), task("b", 2), priorityClassName="low")
    assert group_changes(group(before), group_of(before, {})) == {}
    after = job(task("a", 3))
    changes = group_changes(group(before), group_of(after, {}))["spec"]
    assert changes["minMember"] == 3
    assert changes["minTaskMember"] == {"a": 3, "b": None}
    assert changes["priorityClassName"] is None
    assert changes["minResources"]["cpu"] == "3"


def test_sub_groups_are_written_again_when_they_differ() -> None:
    policy = {"totalPartitions": 2, "partitionSize": 2, "networkTopology": {"highestTierAllowed": 1}}
    of = job(task(replicas=4, partitionPolicy=policy))
    wanted = group_of(of, {})
    stored = group(of)
    (sub_group,) = stored.spec.sub_group_policy
    filled = {**sub_group, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    for found, changes in (
        ([filled], {}),  # as the API server fills it in
        ([{**filled, "subGroupSize": 3}], {"spec": {"subGroupPolicy": wanted["spec"]["subGroupPolicy"]}}),
        ([], {"spec": {"subGroupPolicy": wanted["spec"]["subGroupPolicy"]}}),
    ):
        spec = msgspec.structs.replace(stored.spec, sub_group_policy=found)
        assert group_changes(msgspec.structs.replace(stored, spec=spec), wanted) == changes


def test_topology_is_written_when_the_group_is_created_and_never_again() -> None:
    of = job(task(), networkTopology={"mode": "hard", "highestTierAllowed": 1})
    edited = group_of(job(task(), networkTopology={"mode": "hard", "highestTierAllowed": 2}), {})
    assert group_of(of, {})["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    assert group_changes(group(of), edited) == {}


@pytest.mark.parametrize(("text", "outdated"), [("0", True), ("1", False), ("2", False), ("", False), ("x", False)])
def test_a_group_of_an_earlier_version(text: str, outdated: bool) -> None:
    of = job(status={"version": 1})
    assert is_outdated(of, group(of, annotations={"volcano.sh/job-version": text})) is outdated


# -- defaults --------------------------------------------------------------------------------------------------------


def test_what_admission_would_have_filled_in() -> None:
    body = {
        "metadata": {"name": "train"},
        "spec": {
            "maxRetry": 0,
            "tasks": [
                {"replicas": 3},
                {
                    "name": "b",
                    "replicas": 6,
                    "partitionPolicy": {"partitionSize": 2, "minPartitions": 2},
                    "maxRetry": 0,
                },
                {"name": "c", "replicas": 2, "minAvailable": 0, "maxRetry": -1},
            ],
        },
    }
    found = with_defaults(msgspec.convert(body, VolcanoJob), JobRules("volcano", "common")).spec
    assert [(each.name, each.min_available, each.max_retry) for each in found.tasks] == [
        ("default0", 3, 3),
        ("b", 4, 3),
        ("c", 0, -1),
    ]
    assert (found.min_available, found.max_retry, found.queue, found.scheduler_name) == (7, 3, "common", "volcano")


def test_the_group_has_the_running_estimate_of_the_job() -> None:
    annotations = group_of(job(task(), runningEstimate="45m"), {})["metadata"]["annotations"]
    assert annotations["volcano.sh/running-estimate"] == "45m"
    assert "volcano.sh/running-estimate" not in group_of(job(task()), {})["metadata"]["annotations"]
