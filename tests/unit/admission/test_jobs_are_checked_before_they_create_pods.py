"""Volcano Jobs: what is refused, in which words; what is filled in; what can change."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.support.queues.queue_worlds import queue, world
from volcano_py.admission.jobs import JobContext, defaults, plugin_warnings, validate_create, validate_update
from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.admission.templates import judge
from volcano_py.api.names import QUEUE_NAME
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import JobPlugin, JobPlugins
from volcano_py.jobs.plugins.mpi import MpiPlugin
from volcano_py.jobs.plugins.pytorch import PytorchPlugin
from volcano_py.jobs.plugins.ray import RayPlugin
from volcano_py.jobs.plugins.ssh import SshPlugin
from volcano_py.jobs.plugins.svc import SvcPlugin

WORLD = world(queue("dept"), queue("team", "dept"), queue("shut", state="Closed"))


class _Svc(JobPlugin):
    name = "svc"


class _Ssh(JobPlugin):
    name = "ssh"


CUSTOMS = JobContext(JobRules(), JobPlugins.of((_Svc, _Ssh, MpiPlugin)))


def task(name: str = "worker", replicas: int = 2, **fields: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    return {"name": name, "replicas": replicas, "template": template, **fields}


def spec(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"queue": "team", "tasks": list(tasks or (task(),)), **fields}


def job(content: dict[str, Any], name: str = "train") -> VolcanoJob:
    return msgspec.convert({"metadata": {"name": name}, "spec": content}, VolcanoJob)


def created(content: dict[str, Any], name: str = "train") -> list[str]:
    return [str(each) for each in validate_create(job(content, name), WORLD, CUSTOMS)]


def numa(cpu: str | None) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "busybox"} | (
        {"resources": {"limits": {"cpu": cpu}}} if cpu else {}
    )
    return task(topologyPolicy="restricted", template={"spec": {"containers": [container]}})


def asking(resources: dict[str, Any], where: str = "containers") -> dict[str, Any]:
    """A task whose pods ask for so much in a container of that list."""
    main = {"name": "main", "image": "busybox"}
    return task(template={"spec": {"containers": [main], where: [{**main, "name": "asking", "resources": resources}]}})


def labelled(**labels: Any) -> dict[str, Any]:
    return task(template={"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "a"}]}})


def containing(*containers: dict[str, Any], **lists: list[dict[str, Any]]) -> dict[str, Any]:
    """A task whose pods have these containers; `lists` by the name of the list."""
    return task(template={"spec": {"containers": list(containers), **lists}})


EVENTS = "*, PodFailed, PodEvicted, PodPending, Unknown, TaskCompleted, TaskFailed, JobUpdated"
ACTIONS = "AbortJob, RestartJob, RestartTask, RestartPod, RestartPartition, TerminateJob, CompleteJob, ResumeJob"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            {"queue": "team", "tasks": []},
            "spec.tasks: at least one task is required; add one with a pod template",
            id="no tasks",
        ),
        pytest.param(
            spec(task("a"), task("a")),
            "spec.tasks[1].name: a is already the name of spec.tasks[0]; give each task its own name",
            id="a name twice",
        ),
        pytest.param(
            spec(task(minAvailable=3), minAvailable=1),
            "spec.tasks[0].minAvailable: 3 is more than its replicas, 2; lower it, or raise replicas",
            id="minimum of a task",
        ),
        pytest.param(
            spec(minAvailable=3),
            "spec.minAvailable: 3 is more than the replicas of all tasks, 2; lower it, or raise replicas",
            id="minimum of the job",
        ),
        pytest.param(
            spec(task("a", 999_999), task("b", 2), minAvailable=1),
            "spec.tasks: 1000001 replicas in total exceed the limit of 1000000; lower replicas",
            id="more pods than there can be",
        ),
        pytest.param(
            spec(task(template={})),
            "spec.tasks[0].template.spec.containers: at least one container is required; add one",
            id="no containers",
        ),
        pytest.param(
            spec(containing({"name": "main"})),
            "spec.tasks[0].template.spec.containers[0].image: an image is required; name one",
            id="no image",
        ),
        pytest.param(
            spec(containing({"image": "busybox"})),
            "spec.tasks[0].template.spec.containers[0].name: (not set) is not a name of a container; write up to 63 "
            "lower-case letters, digits and -",
            id="no name of a container",
        ),
        pytest.param(
            spec(containing({"name": "Main_1", "image": "busybox"})),
            "spec.tasks[0].template.spec.containers[0].name: Main_1 is not a name of a container; write up to 63 "
            "lower-case letters, digits and -",
            id="a name that no container can have",
        ),
        pytest.param(
            spec(
                containing({"name": "main", "image": "a"}, initContainers=[{"name": "main", "image": "b"}]),
            ),
            "spec.tasks[0].template.spec.containers[0].name: main is already the name of "
            "spec.tasks[0].template.spec.initContainers[0]; give each container its own name",
            id="a container's name twice",
        ),
        pytest.param(
            spec(labelled(**{"my app": "train"})),
            "spec.tasks[0].template.metadata.labels: my app is not the key of a label; write a key such as app or "
            "example.com/app",
            id="a key that no label can have",
        ),
        pytest.param(
            spec(labelled(team="R&D")),
            "spec.tasks[0].template.metadata.labels[team]: R&D is not the value of a label; write up to 63 letters, "
            "digits, -, _ and . in quotes",
            id="a value that no label can have",
        ),
        pytest.param(
            spec(labelled(number=7)),
            "spec.tasks[0].template.metadata.labels[number]: 7 is not the value of a label; write up to 63 letters, "
            "digits, -, _ and . in quotes",
            id="a value that is no text",
        ),
        pytest.param(
            spec(task("w" * 55, 101)),
            f"spec.tasks[0].name: {'w' * 55} makes pod names of 65 characters (train-{'w' * 55}-100), the limit "
            "is 63; shorten it, or the job's name",
            id="name of pods too long",
        ),
        pytest.param(
            spec(task(partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
            "spec.tasks[0].partitionPolicy: 2 partitions of 2 do not add up to the task's 2 replicas; "
            "choose totalPartitions and partitionSize above 0 whose product is replicas",
            id="partitions",
        ),
        pytest.param(
            spec(
                task(
                    replicas=4,
                    minAvailable=3,
                    partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
                )
            ),
            "spec.tasks[0].minAvailable: 3 is not 1 partitions of 2; write 2, or leave it out",
            id="minimum of partitions",
        ),
        pytest.param(
            spec(numa("1500m")),
            "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: 1500m is not a whole number of CPUs, "
            "which topologyPolicy restricted requires; request whole CPUs, or remove topologyPolicy",
            id="fraction of a cpu",
        ),
        pytest.param(
            spec(numa(None)),
            "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: (not set) is not a whole number of "
            "CPUs, which topologyPolicy restricted requires; request whole CPUs, or remove topologyPolicy",
            id="no cpu",
        ),
        pytest.param(
            spec(asking({"requests": {"cpu": "-1"}})),
            "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: -1 is negative; "
            "write an amount such as 2, 500m or 1.5Gi",
            id="a negative request",
        ),
        pytest.param(
            spec(asking({"limits": {"memory": "much"}})),
            "spec.tasks[0].template.spec.containers[0].resources.limits[memory]: much is not a quantity; "
            "write an amount such as 2, 500m or 1.5Gi",
            id="a limit that is no quantity",
        ),
        pytest.param(
            spec(asking({"requests": {"nvidia.com/gpu": "1.5"}}, "initContainers")),
            "spec.tasks[0].template.spec.initContainers[0].resources.requests[nvidia.com/gpu]: 1.5 is not a whole "
            "number, and devices cannot be divided; write a whole number such as 2",
            id="a part of a device",
        ),
        pytest.param(
            spec(asking({"requests": {"cpu": ["1"]}, "limits": "none"})),
            "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: ['1'] is not a quantity; "
            "write an amount such as 2, 500m or 1.5Gi",
            id="a list as an amount",
        ),
        pytest.param(
            spec(asking({"requests": {"cpu": "2"}, "limits": {"cpu": 1}})),
            "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: 2 is more than the limit, 1; "
            "lower it, or raise the limit",
            id="more than the limit",
        ),
        pytest.param(
            spec(asking({"requests": {"nvidia.com/gpu": "2"}})),
            "spec.tasks[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]: (not set) is not the request, "
            "2: nvidia.com/gpu cannot be overcommitted; write the same amount as limit",
            id="a device without a limit",
        ),
        pytest.param(
            spec(asking({"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "4Mi"}})),
            "spec.tasks[0].template.spec.containers[0].resources.limits[hugepages-2Mi]: 4Mi is not the request, "
            "2Mi: hugepages-2Mi cannot be overcommitted; write the same amount as limit",
            id="another limit of huge pages",
        ),
        pytest.param(
            spec(task("a", dependsOn={"name": ["b"]})),
            "spec.tasks[0].dependsOn.name: b is not a task of this object; name one of the tasks (no other)",
            id="depends on nothing",
        ),
        pytest.param(
            spec(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["c", "a"]}), task("c")),
            "spec.tasks[0].dependsOn.name: b forms a cycle (a → b → a); remove one of these dependencies",
            id="circle",
        ),
        pytest.param(
            spec(task("a", dependsOn={"name": ["a"]})),
            "spec.tasks[0].dependsOn.name: a forms a cycle (a → a); remove one of these dependencies",
            id="itself",
        ),
        pytest.param(
            spec(policies=[{"event": "PodFailed", "exitCode": 3, "action": "AbortJob"}]),
            "spec.policies[0].event: PodFailed is set together with exitCode 3; split it into two policies",
            id="event and exit code",
        ),
        pytest.param(
            spec(policies=[{"action": "AbortJob"}]),
            f"spec.policies[0].event: an event or an exitCode is required; set an event ({EVENTS}) or an exitCode",
            id="neither",
        ),
        pytest.param(
            spec(policies=[{"event": "OutOfSync", "action": "AbortJob"}]),
            f"spec.policies[0].event: OutOfSync is not a policy event; choose one of {EVENTS}",
            id="internal event",
        ),
        pytest.param(
            spec(policies=[{"event": "PodFailed", "action": "SyncJob"}]),
            f"spec.policies[0].action: SyncJob is not a policy action; choose one of {ACTIONS}",
            id="internal action",
        ),
        pytest.param(
            spec(policies=[{"exitCode": 0, "action": "AbortJob"}]),
            "spec.policies[0].exitCode: 0 means success, not a failure; use the event TaskCompleted",
            id="success",
        ),
        pytest.param(
            spec(
                policies=[
                    {"event": "PodFailed", "action": "AbortJob"},
                    {"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"},
                ]
            ),
            "spec.policies[1].event: PodFailed already has a policy, spec.policies[0]; keep one of them",
            id="an event twice",
        ),
        pytest.param(
            spec(task(policies=[{"exitCode": 3, "action": "AbortJob"}, {"exitCode": 3, "action": "RestartJob"}])),
            "spec.tasks[0].policies[1].exitCode: 3 already has a policy, spec.tasks[0].policies[0]; keep one of them",
            id="an exit code twice",
        ),
        pytest.param(
            spec(policies=[{"event": "*", "action": "AbortJob"}, {"event": "PodFailed", "action": "AbortJob"}]),
            "spec.policies[0].event: * means every event, but there are also policies for PodFailed; "
            "keep either * or those",
            id="any and one",
        ),
        pytest.param(
            spec(policies=[{"event": "PodPending", "action": "AbortJob"}]),
            "spec.policies[0].event: PodPending has no timeout, but every pod is pending at first; "
            "set a timeout such as 10m",
            id="pending at once",
        ),
        pytest.param(
            spec(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "0s"}]),
            "spec.policies[0].event: PodPending has the timeout 0s, but every pod is pending at first; "
            "set a timeout such as 10m",
            id="pending for no time",
        ),
        pytest.param(
            spec(policies=[{"event": "PodEvicted", "action": "RestartJob", "timeout": "10"}]),
            "spec.policies[0].timeout: 10 is not a duration; write numbers with their units, such as 90s, 10m or 1h30m",
            id="timeout without a unit",
        ),
        pytest.param(
            spec(task(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "soon"}])),
            "spec.tasks[0].policies[0].timeout: soon is not a duration; "
            "write numbers with their units, such as 90s, 10m or 1h30m",
            id="timeout in words",
        ),
        pytest.param(
            spec(plugins={"gpu": ["--fast"]}),
            "spec.plugins[gpu]: gpu is not an installed job plugin (installed: mpi, ssh, svc); "
            "name one of these, or remove it",
            id="unknown plugin",
        ),
        pytest.param(
            spec(plugins={"mpi": ["--port=x"]}, tasks=[task("master")]),
            "spec.plugins[mpi]: mpi cannot be used: --port is 'x'; give a whole number from 1 to 65535",
            id="bad argument",
        ),
        pytest.param(
            spec(plugins={"mpi": []}),
            "spec.plugins[mpi]: mpi needs a task 'master', which does not exist; "
            "add it, or name another one with --master",
            id="no master",
        ),
        pytest.param(
            spec(volumes=[{"volumeClaimName": "data"}]),
            "spec.volumes[0].mountPath: a path is required; set mountPath",
            id="no path",
        ),
        pytest.param(
            spec(volumes=[{"mountPath": "/d", "volumeClaimName": "a"}, {"mountPath": "/d", "volumeClaimName": "b"}]),
            "spec.volumes[1].mountPath: /d is already the mount path of spec.volumes[0]; choose another path",
            id="a path twice",
        ),
        pytest.param(
            spec(volumes=[{"mountPath": "/d", "volumeClaimName": "a", "volumeClaim": {}}]),
            "spec.volumes[0].volumeClaimName: a is set together with volumeClaim; keep one of them",
            id="two claims",
        ),
        pytest.param(
            spec(volumes=[{"mountPath": "/d"}]),
            "spec.volumes[0].volumeClaimName: a claim is required; set volumeClaimName or volumeClaim",
            id="no claim",
        ),
        pytest.param(
            spec(volumes=[{"mountPath": "/d", "volumeClaimName": "../x"}]),
            "spec.volumes[0].volumeClaimName: ../x cannot name a PersistentVolumeClaim; name an existing claim",
            id="no name of a claim",
        ),
        pytest.param(
            {**spec(), "queue": "shut"},
            "spec.queue: shut is Closed and takes no new work; open it, or name another queue",
            id="closed queue",
        ),
        pytest.param(
            {**spec(), "queue": "dept"},
            "spec.queue: dept has queues below it (team), and only leaf queues run work; name one of those",
            id="inner queue",
        ),
        pytest.param(
            spec(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
            "spec.networkTopology.highestTierName: rack is set together with highestTierAllowed, 1; keep one of them",
            id="topology",
        ),
    ],
)
def test_a_job_that_cannot_work_is_refused(content: dict[str, Any], expected: str) -> None:
    assert created(content) == [expected]


def test_a_plugin_that_cannot_serve_the_job_is_refused() -> None:
    context = JobContext(JobRules(), JobPlugins.of((_Svc, RayPlugin)))
    content = spec(task("a"), plugins={"ray": []})
    (only,) = validate_create(job(content), WORLD, context)
    assert str(only) == (
        "spec.plugins[ray]: ray cannot be used: task 'head' does not exist (tasks: a); name the head's task with --head"
    )
    assert validate_create(job(spec(task("head"), plugins={"ray": []})), WORLD, context) == ()


def test_an_answer_shows_no_keys() -> None:
    context = JobContext(JobRules(), JobPlugins.of((SshPlugin,)))
    (only,) = validate_create(job(spec(plugins={"ssh": ["--ssh-private-key=hush", "--ssh-port=0"]})), WORLD, context)
    assert str(only) == (
        "spec.plugins[ssh]: ssh cannot be used: --ssh-port is '0'; give a whole number from 1 to 65535"
    )


def test_an_unknown_argument_of_a_plugin_is_a_warning() -> None:
    context = JobContext(JobRules(), JobPlugins.of((SshPlugin,)))
    odd = job(spec(plugins={"ssh": ["--no-root"], "gone": []}))
    known = "--ssh-key-file-path, --ssh-private-key, --ssh-public-key, --ssh-port, --ssh-key-type"
    assert list(plugin_warnings(odd, context.plugins)) == [
        f"spec.plugins.ssh: '--no-root' is not one of its arguments, and is ignored (known: {known})"
    ]
    assert validate_create(job(spec(plugins={"ssh": ["--no-root"]})), WORLD, context) == ()


def test_a_task_that_a_plugin_does_without_is_a_warning() -> None:
    lone = job(spec(plugins={"pytorch": ["--master=boss"]}))
    (warning,) = plugin_warnings(lone, JobPlugins.of((PytorchPlugin, SvcPlugin)))
    assert warning.startswith("spec.plugins.pytorch: task 'boss' does not exist (tasks: ")


def test_a_name_that_is_no_label_is_refused() -> None:
    name = "j" * 64
    assert created(spec(), name) == [
        f"metadata.name: {name} has 64 characters, the limit is 63; shorten it",
        (
            f"spec.tasks[0].name: worker makes pod names of 73 characters ({name}-worker-1), the limit is 63; "
            "shorten it, or the job's name"
        ),
    ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"tasks": [task("")]}, id="nothing named"),
        pytest.param(spec(task("a", 0), minAvailable=0), id="no replicas yet"),
        pytest.param(
            spec(task("a", dependsOn={"name": ["b", "c"]}), task("b", dependsOn={"name": ["c"]}), task("c")), id="dag"
        ),
        pytest.param(spec(numa("2")), id="whole cpus"),
        pytest.param(
            spec(
                policies=[
                    {"event": "PodPending", "action": "AbortJob", "timeout": "1m"},
                    {"exitCode": 3, "action": "RestartJob"},
                    {"event": "PodEvicted", "action": "RestartJob", "timeout": "-5m"},
                ]
            ),
            id="policies",
        ),
        pytest.param(spec(task("m"), plugins={"mpi": ["--master=m"], "svc": None}), id="plugins"),
    ],
)
def test_a_job_that_can_work_is_admitted(content: dict[str, Any]) -> None:
    assert created(content) == []


def test_a_chain_of_a_thousand_dependencies_is_followed() -> None:
    chain = [task(f"t{n}", 1, dependsOn={"name": [f"t{n + 1}"]}) for n in range(999)]
    assert created(spec(*chain, task("t999"))) == []
    (only,) = created(spec(*chain, task("t999", dependsOn={"name": ["t0"]})))
    assert "forms a cycle (t0 → t1 → t2 → … → t0)" in only


# What is filled in.


def test_what_is_left_out_is_filled_in() -> None:
    content = {
        "tasks": [
            {"replicas": 2, "template": {"spec": {"hostNetwork": True, "containers": []}}},
            {
                "name": "ps",
                "replicas": 6,
                "maxRetry": -1,
                "partitionPolicy": {"totalPartitions": 3, "partitionSize": 2, "minPartitions": 2},
            },
        ],
        "plugins": {"mpi": [], "ssh": ["--x"]},
    }
    before = copy.deepcopy(content)
    patch = defaults(job(content), content, CUSTOMS)["spec"]
    assert content == before
    first, second = patch.pop("tasks")
    assert patch == {
        "queue": "default", "schedulerName": "volcano", "maxRetry": 3, "minAvailable": 6, "plugins": {"svc": []},
    }  # fmt: skip
    assert (first["name"], first["minAvailable"], first["maxRetry"]) == ("default0", 2, 3)
    assert first["template"]["spec"] == {
        "hostNetwork": True, "containers": [], "dnsPolicy": "ClusterFirstWithHostNet",
    }  # fmt: skip
    assert (second["name"], second["minAvailable"], second["maxRetry"]) == ("ps", 4, -1)


def test_what_is_complete_is_left_alone() -> None:
    full = task(minAvailable=2, maxRetry=3)
    content = spec(full, schedulerName="volcano", maxRetry=3, minAvailable=2)
    assert defaults(job(content), content, CUSTOMS) == {}


# Updates.


def updated(before: dict[str, Any], after: dict[str, Any]) -> Sequence[str]:
    return [str(each) for each in validate_update(job(before), job(after), before, after, CUSTOMS)]


ONLY = "only a job's minAvailable and priorityClassName, and its tasks' replicas and minAvailable, can change"


def test_a_job_can_grow_and_shrink() -> None:
    after = spec(task(replicas=5, minAvailable=3), minAvailable=4, priorityClassName="high")
    assert updated(spec(minAvailable=2), after) == []
    assert updated(after, spec(task(replicas=3, minAvailable=3), minAvailable=4)) == [
        ("spec.minAvailable: 4 is more than the replicas of all tasks, 3; lower it, or raise replicas")
    ]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (
            {**spec(), "queue": "other"},
            f"spec.queue: other differs from team, and cannot change; delete the job and create it again; {ONLY}",
        ),
        (
            spec(task(), task("more")),
            f"spec.tasks: 2 tasks differs from 1 tasks, and cannot change; delete the job and create it again; {ONLY}",
        ),
        (
            spec(task("other")),
            (
                "spec.tasks[0].name: other differs from worker, and cannot change; "
                f"delete the job and create it again; {ONLY}"
            ),
        ),
        (
            spec(maxRetry=7),
            f"spec.maxRetry: 7 differs from 3, and cannot change; delete the job and create it again; {ONLY}",
        ),
    ],
)
def test_nothing_else_of_a_job_can_change(after: dict[str, Any], expected: str) -> None:
    assert updated(spec(), after) == [expected]


def test_a_long_value_is_cut_in_the_answer() -> None:
    (only,) = updated(spec(), spec(task(template={"spec": {"containers": [{"image": "x" * 1000}]}})))
    assert only.startswith("spec.tasks[0].template.spec.containers[0].image: xxx")
    assert len(only) < 400


def test_a_change_is_reported_by_the_field_that_differs() -> None:
    """What a template is full of does not hide it; objects are written as in a manifest."""

    def pod(**fields: Any) -> dict[str, Any]:
        return spec(task(template={"spec": {"containers": [{"name": "main", "image": "a", **fields}], "volumes": []}}))

    (image,) = updated(pod(), pod(image="b"))
    assert image.startswith("spec.tasks[0].template.spec.containers[0].image: b differs from a, and cannot change; ")
    (added,) = updated(pod(), pod(env=[{"name": "X", "value": "1"}]))
    assert added.startswith(
        'spec.tasks[0].template.spec.containers[0].env: [{"name":"X","value":"1"}] differs from (not set), and cannot'
    )


def test_what_was_wrong_with_a_job_before_does_not_lock_it() -> None:
    assert updated(spec(minAvailable=9), spec(minAvailable=9, priorityClassName="high")) == []
    assert updated(spec(minAvailable=9), spec(minAvailable=8)) == []
    assert len(updated(spec(minAvailable=9), spec(minAvailable=10))) == 1


def test_left_out_and_empty_are_the_same() -> None:
    assert updated(spec(), spec(policies=[], schedulerName="")) == []


def test_a_client_that_spells_the_same_otherwise_can_change_what_can_be_changed() -> None:
    """As those written in Go do: they read the job into their own types, change it, and write all of it."""

    def whole(cpu: Any, timeout: str, replicas: int, **more: Any) -> dict[str, Any]:
        container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
        pod = {"containers": [container, {"name": "log", **more}]}
        policies = [{"event": "PodFailed", "action": "RestartJob", "timeout": timeout}]
        metadata = {"metadata": {"creationTimestamp": None}} if more else {}
        return spec(task(replicas=replicas, template={"spec": pod, **metadata}), policies=policies)

    before = whole("1000m", "10m", 3)
    assert updated(before, whole("1", "10m0s", 4, resources={})) == []
    (cpu,) = updated(before, whole("1001m", "10m", 4, resources={}))
    assert cpu.startswith("spec.tasks[0].template.spec.containers[0].resources.requests.cpu: 1001m differs from 1000m,")
    (timeout,) = updated(before, whole("1", "11m0s", 4))
    assert timeout.startswith("spec.policies[0].timeout: 11m0s differs from 10m,")
    (empty,) = updated(before, whole("1", "10m", 4, resources={"requests": {"cpu": "0"}}))
    assert empty.startswith('spec.tasks[0].template.spec.containers[1].resources: {"requests":{"cpu":"0"}} differs')


def test_a_client_that_writes_0_for_what_is_no_quantity_can_change_what_can_be_changed() -> None:
    def measured(cpu: Any, replicas: int, **divisor: str) -> dict[str, Any]:
        source = {"resourceFieldRef": {"resource": "limits.cpu", **divisor}}
        container = {
            "name": "main",
            "env": [{"name": "CPUS", "valueFrom": source}],
            "resources": {"requests": {"cpu": cpu}},
        }
        return spec(task(replicas=replicas, template={"spec": {"containers": [container]}}))

    assert updated(measured(None, 3), measured("0", 4, divisor="0")) == []
    assert updated(measured("0", 3, divisor="0"), measured(None, 4)) == []
    (cpu,) = updated(measured(None, 3), measured("1", 4))
    assert cpu.startswith("spec.tasks[0].template.spec.containers[0].resources.requests.cpu: 1 differs from (not set),")
    (divisor,) = updated(measured("1", 3), measured("1", 4, divisor="1m"))
    assert ".env[0].valueFrom.resourceFieldRef.divisor: 1m differs from (not set), and cannot change;" in divisor


def test_volcanos_controller_may_write_which_claim_it_has_made() -> None:
    def volumes(**fields: str) -> dict[str, Any]:
        return spec(volumes=[{"mountPath": "/data", **fields}])

    claim: dict[str, Any] = {"volumeClaim": {"accessModes": ["ReadWriteOnce"]}}
    assert updated(volumes(**claim), volumes(**claim, volumeClaimName="train-pvc-x")) == []
    (name,) = updated(volumes(volumeClaimName="a"), volumes(volumeClaimName="b"))
    assert name.startswith("spec.volumes[0].volumeClaimName: b differs from a, and cannot change;")


# Jobs that name no queue.


BATCH = msgspec.structs.replace(CUSTOMS, rules=JobRules(default_queue="batch"))
OF_TEAM = msgspec.structs.replace(CUSTOMS, namespace={QUEUE_NAME: "team"})


@pytest.mark.parametrize("written", ["", "default"])
@pytest.mark.parametrize(
    ("context", "there"),
    [
        pytest.param(BATCH, QueueWorld.of([QueueFacts("root"), QueueFacts("batch")]), id="another default queue"),
        pytest.param(OF_TEAM, world(queue("default", state="Closed"), queue("team")), id="queue of the namespace"),
    ],
)
def test_a_job_that_names_no_queue_is_judged_by_the_one_it_will_be_in(
    written: str, context: JobContext, there: QueueWorld
) -> None:
    """The CRD fills in `default`, so that to name it is to name none."""
    content = {**spec(), "queue": written}
    assert validate_create(job(content), there, context) == ()
    assert judge("jobtemplate", "step", content, None, there, context) == ()
    assert judge("cronjob", "tick", cron(jobTemplate={"spec": content}), None, there, context) == ()


def test_a_queue_that_was_not_named_is_reported_with_what_was() -> None:
    (missing,) = validate_create(job({**spec(), "queue": "default"}), WORLD, BATCH)
    assert str(missing) == (
        "spec.queue: default (queue batch here) does not exist; create it first, or name another queue"
    )


def test_the_queue_that_default_means_is_not_written_into_the_job() -> None:
    """Applied again after the namespace has got another one, the manifest would be refused as a change of queue."""
    content = {**spec(), "queue": "default"}
    for context in (BATCH, OF_TEAM):
        assert defaults(job({"tasks": []}), {"tasks": []}, context)["spec"]["queue"] == "default"
        assert "queue" not in defaults(job(content), content, context)["spec"]


# What makes jobs.


def cron(schedule: str = "*/5 * * * *", **fields: Any) -> dict[str, Any]:
    return {"schedule": schedule, "jobTemplate": {"spec": spec()}, **fields}


def test_the_job_in_a_cron_job_is_judged_as_any_job() -> None:
    assert judge("cronjob", "tick", cron(), None, WORLD, CUSTOMS) == ()
    (only,) = judge("cronjob", "tick", cron(jobTemplate={"spec": spec(minAvailable=3)}), None, WORLD, CUSTOMS)
    assert only.field == "spec.jobTemplate.spec.minAvailable"


def test_the_job_in_a_template_is_judged_as_any_job() -> None:
    assert judge("jobtemplate", "step", spec(), None, WORLD, CUSTOMS) == ()
    (only,) = judge("jobtemplate", "step", spec(minAvailable=3), None, WORLD, CUSTOMS)
    assert only.field == "spec.minAvailable"
    assert judge("jobtemplate", "step", spec(minAvailable=3, maxRetry=1), spec(minAvailable=3), WORLD, CUSTOMS) == ()


def test_a_schedule_must_be_understood() -> None:
    (only,) = judge("cronjob", "tick", cron("now and then"), None, WORLD, CUSTOMS)
    assert str(only) == (
        "spec.schedule: now and then has 3 fields; give five fields (minute, hour, day of month, month, day of week)"
        " such as '*/10 * * * *', or @daily"
    )


def test_a_time_zone_is_distinguished_from_the_schedule() -> None:
    zone = "spec.timeZone: Moon/Base is not a known time zone; use a name of the IANA database such as Europe/Berlin"
    (only,) = judge("cronjob", "tick", cron(timeZone="Moon/Base"), None, WORLD, CUSTOMS)
    assert str(only) == f"{zone} or Etc/UTC"
    first, second = judge("cronjob", "tick", cron("61 * * * *", timeZone="Moon/Base"), None, WORLD, CUSTOMS)
    assert (first.field, second.field) == ("spec.timeZone", "spec.schedule")
    assert second.rule == "cannot be read: bad minute"


def test_a_cron_job_that_was_wrong_before_can_be_suspended() -> None:
    broken = cron("now and then")
    assert judge("cronjob", "tick", {**broken, "suspend": True}, broken, WORLD, CUSTOMS) == ()


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("cronjob", cron(jobTemplate={"spec": spec(minAvailable="two")}), cron()),
        ("jobtemplate", spec(minAvailable="two"), spec()),
        ("jobflow", {"flows": [{"name": 5}]}, {"flows": [{"name": "a"}]}),
    ],
)
def test_what_could_not_be_read_before_can_be_corrected(
    kind: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """It was stored under a CRD that is looser than ours."""
    assert judge(kind, "made", after, before, WORLD, CUSTOMS) == ()
    with pytest.raises(msgspec.ValidationError):
        judge(kind, "made", before, before, WORLD, CUSTOMS)


def test_a_flow_waits_for_jobs_that_it_has_and_never_for_itself() -> None:
    def flow(**needs: list[str]) -> dict[str, Any]:
        return {"flows": [{"name": name, "dependsOn": {"targets": targets}} for name, targets in needs.items()]}

    assert judge("jobflow", "flow", flow(a=[], b=["a"], c=["a", "b"]), None, WORLD, CUSTOMS) == ()
    assert [str(each) for each in judge("jobflow", "flow", flow(a=["b"], b=["a", "x"]), None, WORLD, CUSTOMS)] == [
        "spec.flows[1].dependsOn.targets: x is not a job of this object; name one of the jobs (a)",
        ("spec.flows[0].dependsOn.targets: b forms a cycle (a → b → a); remove one of these dependencies"),
    ]
    twice = {"flows": [{"name": "a"}, {"name": "b"}, {"name": "a", "dependsOn": {"targets": ["a", "lost"]}}]}
    assert judge("jobflow", "flow", twice, None, WORLD, CUSTOMS) == (), "of several with one name the first counts"
