"""Tasks, nodes, queues and jobs as Volcano's types are encoded by Go."""

from __future__ import annotations

from typing import Any

from tests.support.extender import Scripted, configuration, simulation
from tests.support.sessions import gang, node, queue
from volcano_py.api.objects import Node, ObjectMeta, Pod, Taint

GPU = "nvidia.com/gpu"
TAINT = Taint(key="k", value="v", effect="PreferNoSchedule")
TASK_FIELDS = [
    "UID",
    "Job",
    "Name",
    "Namespace",
    "TaskRole",
    "Resreq",
    "InitResreq",
    "DRAResreq",
    "ResourceClaimKeys",
    "ResourceClaimDRAResreq",
    "NodeName",
    "EvictionOccurred",
    "JobAllocatedHyperNode",
    "Status",
    "LastTransaction",
    "Priority",
    "VolumeReady",
    "Preemptable",
    "BestEffort",
    "HasRestartableInitContainer",
    "SchGated",
    "RevocableZone",
    "NumaInfo",
    "Pod",
    "PodAnnotations",
    "CustomBindErrHandlerSucceeded",
]
NODE_FIELDS = [
    "Name",
    "Node",
    "State",
    "Releasing",
    "Pipelined",
    "Idle",
    "Used",
    "Allocatable",
    "Capacity",
    "ResourceUsage",
    "Tasks",
    "NumaInfo",
    "UnassignedNumaPods",
    "NumaSchedulerInfo",
    "RevocableZone",
    "Others",
    "OversubscriptionNode",
    "OfflineJobEvicting",
    "OversubscriptionResource",
    "ImageStates",
    "Generation",
    "BindGeneration",
]
JOB_FIELDS = [
    "UID",
    "PgUID",
    "Name",
    "Namespace",
    "Queue",
    "Priority",
    "MinAvailable",
    "WaitingTime",
    "JobFitErrors",
    "NodesFitErrors",
    "AllocatedHyperNode",
    "NetworkTopology",
    "SubJobs",
    "TaskToSubJob",
    "MinSubJobs",
    "TaskStatusIndex",
    "Tasks",
    "TaskMinAvailable",
    "TaskMinAvailableTotal",
    "Allocated",
    "TotalRequest",
    "CreationTimestamp",
    "PodGroup",
    "ScheduleStartTimestamp",
    "Preemptable",
    "RevocableZone",
    "Budget",
]


def opened(client: Scripted | None = None) -> dict[str, Any]:
    """What is sent at the begin of a session with two running pods and one that waits."""
    client = client or Scripted({})
    client.script = {"open": {}}
    objects = [
        queue("team-a", weight=3, capability={"cpu": "12"}),
        node(
            "a",
            devices={GPU: "4"},
            labels={"zone": "z1"},
            taints=[Taint(key="k", value="v", effect="PreferNoSchedule")],
        ),
        *gang(
            "train",
            pods=3,
            min_member=2,
            running_on=["a", "a"],
            queue="team-a",
            cpu="1500m",
            memory="1Gi",
            role="worker",
            min_resources={"cpu": "3"},
            devices={GPU: "1"},
        ),
    ]
    simulation(objects, configuration(["open"]), client).run(1)
    return client.bodies("open")[0]


def test_a_task_has_all_fields_and_amounts_in_volcanos_units() -> None:
    tasks = opened()["Jobs"]["team/train"]["Tasks"]
    task = tasks["pod-team-train-2"]
    assert sorted(task) == sorted(TASK_FIELDS)
    assert (task["Job"], task["TaskRole"], task["Status"], task["NodeName"]) == ("team/train", "worker", 1, "")
    request = {"MilliCPU": 1500, "Memory": 2**30, "ScalarResources": {GPU: 1000, "pods": 1}, "MaxTaskNum": 0}
    assert task["Resreq"] == task["InitResreq"] == request
    running = tasks["pod-team-train-0"]
    assert (running["Status"], running["NodeName"]) == (32, "a")


def test_without_the_object_the_pod_has_what_is_known() -> None:
    task = opened()["Jobs"]["team/train"]["Tasks"]["pod-team-train-0"]
    assert task["Pod"]["metadata"]["uid"] == "pod-team-train-0"
    assert task["Pod"]["spec"]["nodeName"] == "a"
    assert task["PodAnnotations"] == {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": "worker"}


def test_a_node_has_all_fields_with_its_tasks() -> None:
    found = opened()["Nodes"]["a"]
    assert sorted(found) == sorted(NODE_FIELDS)
    assert found["State"] == {"Phase": 1, "Reason": ""}
    assert found["Allocatable"]["ScalarResources"] == {GPU: 4000, "pods": 110}
    assert found["Allocatable"]["MaxTaskNum"] == found["Idle"]["MaxTaskNum"] == 110
    assert (found["Used"]["MilliCPU"], found["Idle"]["MilliCPU"], found["Used"]["MaxTaskNum"]) == (3000, 5000, 0)
    assert sorted(found["Tasks"]) == ["team/train-0", "team/train-1"]
    assert found["Node"]["metadata"] == {"name": "a", "labels": {"zone": "z1"}}
    assert found["Node"]["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]


def test_a_queue_and_a_job_have_their_fields() -> None:
    body = opened()
    found = body["Queues"]["team-a"]
    assert (found["UID"], found["Name"], found["Weight"]) == ("team-a", "team-a", 3)
    assert found["Queue"]["spec"]["capability"] == {"cpu": "12"}
    job = body["Jobs"]["team/train"]
    assert sorted(job) == sorted(JOB_FIELDS)
    assert {status: len(tasks) for status, tasks in job["TaskStatusIndex"].items()} == {"1": 1, "32": 2}
    assert (job["Allocated"]["MilliCPU"], job["TotalRequest"]["MilliCPU"]) == (3000, 4500)
    assert (job["PodGroup"]["Version"], job["PodGroup"]["spec"]["minMember"]) == ("v1beta1", 2)
    assert job["PodGroup"]["spec"]["minResources"] == {"cpu": "3"}


def test_objects_that_are_kept_are_sent_as_they_are_unless_they_are_others_of_the_name() -> None:
    client = Scripted({})
    meta = ObjectMeta(name="train-0", namespace="team", uid="pod-team-train-0", annotations={"mine": "yes"})
    client.objects["Pod", "team/train-0"] = Pod(metadata=meta)
    client.objects["Pod", "team/train-1"] = Pod(metadata=ObjectMeta(name="train-1", namespace="team", uid="another"))
    client.objects["Node", "a"] = Node(metadata=ObjectMeta(name="a", annotations={"rack": "7"}))
    body = opened(client)
    tasks = body["Jobs"]["team/train"]["Tasks"]
    assert tasks["pod-team-train-0"]["Pod"]["metadata"]["annotations"] == {"mine": "yes"}
    assert tasks["pod-team-train-0"]["PodAnnotations"] == {"mine": "yes"}
    assert tasks["pod-team-train-1"]["Pod"]["metadata"]["uid"] == "pod-team-train-1"
    assert body["Nodes"]["a"]["Node"]["metadata"]["annotations"] == {"rack": "7"}
