"""`volcano-py explain` over a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.unit.capture.clusters import CONFIG_MAP, config_map
from tests.unit.cli.cluster import UserOfCluster
from tests.unit.cluster.fakes import page, refusal
from volcano_py.capture import file
from volcano_py.capture.kinds import CONSEQUENCES, KINDS, of_namespace
from volcano_py.capture.manifests import of_manifests
from volcano_py.capture.model import Unread
from volcano_py.cli.main import main
from volcano_py.cluster.manifests import read_text
from volcano_py.config import default_configuration_text
from volcano_py.explain.target import EXPLAINABLE

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team-a}
spec: {capability: {cpu: "4"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {queue: team-a, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "6"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: foreign}
spec: {containers: [{name: main, image: pause}]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


def explained(source: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--from", str(source)])


def test_the_reason_comes_first_then_what_would_help(manifests: Path) -> None:
    lines = explained(manifests, "podgroup", "train").output.splitlines()
    assert lines[0].startswith("default/train: Waiting")
    assert lines[1].startswith("  OverCapability: queue team-a: 0 cpu allocated + 6 asked > 4 capability")
    helps = lines[lines.index("What would help") :]
    assert "  raise capability of queue team-a to 6 cpu" in helps


def test_what_runs_is_said_to_run_and_where(manifests: Path) -> None:
    assert explained(manifests, "pod", "web").output == ("default/web: Starting, 1 of 1 pod placed\n  On n1 (1 pod)\n")


def test_jobs_that_may_be_evicted_in_vain_are_said_to_make_too_little_room(tmp_path: Path) -> None:
    work = [
        {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in {"low": 1, "high": 9}.items()
    ]
    for name, cpu, priority, node in (
        ("small", "2", "low", "n1"),
        ("large", "6", "high", "n1"),
        ("due", "8", "high", ""),
    ):
        spec = {"queue": "default", "minMember": 1, "priorityClassName": priority}
        container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
        pod: dict[str, Any] = {"schedulerName": "volcano", "priorityClassName": priority, "containers": [container]}
        annotations = {"scheduling.k8s.io/group-name": name}
        work += [
            {"kind": "PodGroup", "metadata": {"name": name}, "spec": spec},
            {
                "kind": "Pod",
                "metadata": {"name": f"{name}-0", "annotations": annotations},
                "spec": pod | ({"nodeName": node} if node else {}),
                "status": {"phase": "Running" if node else "Pending"},
            },
        ]
    cluster, conf = tmp_path / "cluster.yaml", tmp_path / "scheduler.conf"
    cluster.write_text(CLUSTER.partition("---")[0] + "---\n" + yaml.safe_dump_all(work), encoding="utf-8")
    tiers = [{"plugins": [{"name": "priority"}, {"name": "gang"}]}, {"plugins": [{"name": "predicates"}]}]
    conf.write_text(yaml.safe_dump({"actions": "enqueue, allocate, preempt", "tiers": tiers}), encoding="utf-8")
    result = explained(cluster, "podgroup", "due", "--scheduler-conf", str(conf))
    assert "default/small: may be evicted, but that would not make enough room" in " ".join(result.output.split())


def test_tables_fit_a_terminal_whatever_the_names_are(tmp_path: Path) -> None:
    research = "research-of-language-models"
    queue = {"capability": {"cpu": "8", "memory": "32Gi"}, "deserved": {"cpu": "4", "memory": "16Gi", "pods": "9"}}
    work: list[dict[str, Any]] = [{"kind": "Queue", "metadata": {"name": research}, "spec": queue}]
    for name, node in (("fine-tuning-of-the-large-model", "n1"), ("x" * 120, "n1"), ("due", "")):
        metadata = {"name": name, "namespace": research}
        container = {"name": "main", "resources": {"requests": {"cpu": "4", "memory": "11Gi"}}}
        work += [
            {"kind": "PodGroup", "metadata": metadata, "spec": {"queue": research, "minMember": 1}},
            {
                "kind": "Pod",
                "metadata": metadata | {"annotations": {"scheduling.k8s.io/group-name": name}},
                "spec": {"schedulerName": "volcano", "containers": [container]} | ({"nodeName": node} if node else {}),
                "status": {"phase": "Running" if node else "Pending"},
            },
        ]
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER.partition("---")[0] + "---\n" + yaml.safe_dump_all(work), encoding="utf-8")
    result = explained(cluster, "podgroup", "due", "-n", research)
    lines = result.output.splitlines()
    assert {"Limits", "Who runs instead"} <= {*lines}, result.output
    assert [line for line in lines if len(line) > 100] == []
    table = lines[lines.index("Who runs instead") + 2 :]
    names = "".join(line.split()[0] for line in table[: table.index("")])
    assert f"{research}/{'x' * 120}" in names, "nothing is cut"


def test_beside_a_long_name_other_columns_keep_a_width_to_read(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    group = {"kind": "PodGroup", "metadata": {"name": "y" * 63}, "spec": {"minMember": 4}}
    cluster.write_text(CLUSTER.partition("---")[0] + "---\n" + yaml.safe_dump(group), encoding="utf-8")
    result = explained(cluster, "podgroup", "y" * 63)
    assert "0 of the 4 pods that" in result.output, result.output


def test_json_has_the_same(manifests: Path) -> None:
    found = json.loads(explained(manifests, "podgroup", "train", "-o", "json").output)
    assert found["now"]["reason"] == "OverCapability"
    assert [limit["name"] for limit in found["limits"] if limit.get("binding")] == ["team-a"]


@pytest.mark.parametrize("kind", EXPLAINABLE)
def test_what_does_not_exist_is_an_error(kind: str, manifests: Path) -> None:
    result = explained(manifests, kind, "nothing")
    assert result.exit_code == 1
    assert "nothing does not exist" in result.output


OWNED = """
---
kind: Pod
metadata:
  name: web-5d9-a
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, uid: 0d3a, controller: true}]
spec:
  schedulerName: volcano
  nodeName: n1
  activeDeadlineSeconds: 3600
  containers: [{name: main, resources: {requests: {cpu: "6"}}}]
status: {phase: Running, startTime: "2026-01-01T00:00:00Z"}
---
kind: Pod
metadata: {name: first}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
---
kind: Pod
metadata: {name: second}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "8"}}}]}
"""


def test_generated_pod_groups_are_named_after_their_owners(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.partition("---")[0] + OWNED, encoding="utf-8")
    printed = explained(path, "pod", "second").output
    assert "  default/web-5d9 (ReplicaSet)  default" in printed, "who runs instead"
    assert "ahead: default/first (Pod) (priority 0, 1 pod)" in printed
    assert "gang default/second (Pod)" in printed
    assert "podgroup-" not in printed
    forecast = " ".join(explained(path, "pod", "first").output.split())
    assert "when default/web-5d9 (ReplicaSet) ends" in forecast
    on_node = explained(path, "node", "n1")
    assert "\n  default/web-5d9 (ReplicaSet): 1 pod\n" in on_node.output
    assert json.loads(explained(path, "node", "n1", "-o", "json").output)["pods"] == {"default/podgroup-0d3a": 1}


REFUSED = """
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: claims, uid: 0d3a}
spec:
  minAvailable: 1
  volumes: [{mountPath: /data, volumeClaimName: absent}]
  tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: main, image: pause}]}}}]
"""


def test_the_pod_group_that_a_job_does_not_get_is_named_after_the_job(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.partition("---")[0] + REFUSED, encoding="utf-8")
    printed = explained(path, "job", "claims").output
    assert "gang default/claims (Job)" in printed
    assert "object default/claims (Job)" in printed
    assert "0d3a" not in printed


def test_a_pod_of_another_scheduler_is_not_explained(manifests: Path) -> None:
    result = explained(manifests, "pod", "foreign")
    assert result.exit_code == 1
    assert "has schedulerName default-scheduler" in result.output


FOREIGN = """
kind: PodGroup
metadata: {name: theirs, namespace: default}
spec: {minMember: 1}
---
kind: Pod
metadata: {name: theirs-0, namespace: default, annotations: {scheduling.k8s.io/group-name: theirs}}
spec: {schedulerName: default-scheduler, containers: [{name: main}]}
"""


def test_a_podgroup_of_another_scheduler_is_not_explained(tmp_path: Path) -> None:
    path = tmp_path / "theirs.yaml"
    path.write_text(FOREIGN)
    result = explained(path, "podgroup", "theirs")
    assert result.exit_code == 1
    assert "PodGroup default/theirs belongs to another scheduler" in result.output


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    whole = of_manifests(read_text(CLUSTER, "cluster"))
    unread = (Unread("Namespace", "forbidden", CONSEQUENCES["Namespace"]),)
    path = tmp_path / "cluster.capture"
    path.write_bytes(file.written(msgspec.structs.replace(whole, unread=unread)))
    result = explained(path, "podgroup", "train")
    assert "Not read\n  Namespace not read: forbidden;" in result.stdout
    assert result.stdout.index("What would help") < result.stdout.index("Not read")
    assert not result.stderr
    assert explained(path, "podgroup", "other").stderr.startswith("Namespace not read: forbidden;")


def served(user: UserOfCluster) -> None:
    """The cluster above, from an API server, as far as the verb reads it."""
    objects: dict[str, list[dict[str, Any]]] = {kind.name: [] for kind in KINDS}
    for document in yaml.safe_load_all(CLUSTER):
        document["metadata"].setdefault("uid", document["metadata"]["name"])
        if document["kind"] in ("Pod", "PodGroup"):
            document["metadata"]["namespace"] = "default"
        objects[document["kind"]].append(document)
    for kind in KINDS:
        user.api.on("GET", kind.path, page(7, *objects[kind.name]))
    user.api.on("GET", "/api/v1/namespaces/default/events", page(8))


def served_to_a_team(user: UserOfCluster, **status: Any) -> None:
    """The same for a user with rights in the namespace `default` alone; `status` is that of the PodGroup."""
    served(user)
    for kind in KINDS:
        refused = refusal(403, "Forbidden", f'{kind.path.plural} is forbidden: User "dev" cannot list them')
        if (own := of_namespace(kind, "default")) is not None:
            of_kind = [each for each in yaml.safe_load_all(CLUSTER) if each["kind"] == kind.name]
            for each in of_kind:
                each["metadata"] |= {"uid": each["metadata"]["name"], "namespace": "default"}
                if kind.name == "PodGroup":
                    each["status"] = status
            user.api.on("GET", own.path, page(7, *of_kind))
        user.api.on("GET", kind.path, refused)
    user.api.on("GET", CONFIG_MAP, refusal(403, "Forbidden", "not yours"))


WHY = "OverCapability: 1/1 tasks in gang unschedulable: queue team-a: 0 cpu allocated + 6 asked > 4 capability"
UNSCHEDULABLE = {
    "type": "Unschedulable",
    "status": "True",
    "reason": "NotEnoughResources",
    "message": WHY,
    "lastTransitionTime": "2026-11-24T10:00:00Z",
}
NOT_READ = (
    'Node, Queue and 26 more kinds not read: nodes is forbidden: User "dev" cannot list them; the answer has only what'
    " the scheduler has written: the ClusterRole view has the right to list them in all namespaces, except for nodes"
)


@pytest.mark.real_time
async def test_where_nodes_and_queues_cannot_be_read_the_reason_is_the_one_that_the_scheduler_has_written(
    user: UserOfCluster,
) -> None:
    served_to_a_team(user, phase="Pending", conditions=[UNSCHEDULABLE])

    printed = await user.prints("explain", "podgroup", "train")
    lines = printed.splitlines()
    assert lines[0] == "default/train: Waiting since 2026-11-24T10:00:00Z, 0 of 1 pod placed"
    assert " ".join(printed.partition("\n\n")[0].split()).endswith(f"placed {WHY}")
    assert [line for line in lines if line[:1].strip()][1:] == ["History", "Not read"]
    assert " ".join(printed.partition("Not read\n")[2].split()) == NOT_READ

    found = json.loads(await user.prints("explain", "podgroup", "train", "-o", "json"))
    assert (found["now"]["reason"], found["now"]["reported"]) == ("OverCapability", True)
    assert sorted(found) == ["history", "name", "now", "unread"]


@pytest.mark.real_time
async def test_where_the_scheduler_has_written_nothing_yet_no_reason_is_invented(user: UserOfCluster) -> None:
    served_to_a_team(user)
    lines = (await user.prints("explain", "podgroup", "train")).splitlines()
    assert lines[1] == "  NotYetEvaluated: the scheduler has written no reason yet"


@pytest.mark.real_time
async def test_without_rights_a_mistyped_name_is_one_error_and_not_a_list_of_kinds(user: UserOfCluster) -> None:
    served_to_a_team(user)
    refused = (await user.is_refused("explain", "podgroup", "trian")).splitlines()
    assert refused[0].startswith("Node, Queue and 26 more kinds not read: nodes is forbidden")
    assert len(refused) == 2
    assert refused[1].startswith("Error: podgroup default/trian does not exist, or you may not read it")
    assert await user.is_refused("explain", "queue", "team-a") == (
        'queue team-a cannot be explained: queues is forbidden: User "dev" cannot list them; the ClusterRole view has'
        " the right to list them in all namespaces, except for nodes"
    )


def event(about: str, name: str, at: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}.{message}", "namespace": "default"},
        "involvedObject": {"kind": about, "namespace": "default", "name": name},
        "reason": "FailedScheduling",
        "message": message,
        "lastTimestamp": at,
        **more,
    }


@pytest.mark.real_time
async def test_events_of_the_workload_are_part_of_its_history(user: UserOfCluster) -> None:
    served(user)
    events = [
        event("Pod", "train-0", "2026-11-24T10:00:00Z", "no room", count=3),
        event("PodGroup", "train", "2026-11-24T09:00:00Z", "waits"),
        event("Pod", "web", "2026-11-24T09:30:00Z", "of another"),
    ]
    user.api.on("GET", "/api/v1/namespaces/default/events", page(8, *events))

    lines = (await user.prints("explain", "podgroup", "train")).splitlines()

    assert lines[lines.index("History") + 1 :] == [
        "  2026-11-24T09:00:00Z PodGroup default/train: event FailedScheduling: waits",
        "  2026-11-24T10:00:00Z Pod default/train-0: event FailedScheduling (3 times): no room",
    ]


@pytest.mark.real_time
async def test_a_capture_has_the_same_history(user: UserOfCluster, tmp_path: Path) -> None:
    served(user)
    events = [
        event("Pod", "train-0", "2026-11-24T10:00:00Z", "no room", count=3, reportingComponent="volcano"),
        event("Pod", "web", "2026-11-24T09:30:00Z", "of another", reportingComponent="volcano"),
    ]
    user.api.on("GET", "/api/v1/events", page(8, *events))
    user.api.on("GET", "/api/v1/namespaces/default/events", page(8, *events))
    path = tmp_path / "cluster.capture"
    await user.prints("capture", str(path))

    of_file = explained(path, "podgroup", "train").output.splitlines()
    of_cluster = (await user.prints("explain", "podgroup", "train")).splitlines()

    assert of_file[of_file.index("History") :] == of_cluster[of_cluster.index("History") :]
    assert of_file[-1] == "  2026-11-24T10:00:00Z Pod default/train-0: event FailedScheduling (3 times): no room"


@pytest.mark.real_time
async def test_events_that_may_not_be_read_are_said_to_be_missing(user: UserOfCluster) -> None:
    served(user)
    user.api.on("GET", "/api/v1/namespaces/default/events", refusal(403, "Forbidden", "not yours"))

    found = json.loads(await user.prints("explain", "podgroup", "train", "-o", "json"))

    assert "Event not read: not yours; the history has conditions only" in found["unread"]


BROKEN = "actions: allocate\ntiers: 7\n"


@pytest.mark.real_time
async def test_where_the_clusters_configuration_is_invalid_the_built_in_one_explains(user: UserOfCluster) -> None:
    served(user)
    by_the_built_in_one = await user.run("explain", "podgroup", "train")
    user.api.on("GET", CONFIG_MAP, config_map(BROKEN))

    result = await user.run("explain", "podgroup", "train")

    assert (result.exit_code, result.stdout) == (0, by_the_built_in_one.stdout)
    assert result.stderr == (
        "The configuration in ConfigMap volcano-system/volcano-scheduler-configmap is invalid; the built-in one is used"
        " instead:\n"
        "ConfigMap volcano-system/volcano-scheduler-configmap:2:1: error: tiers: must be a list of tiers, each with"
        " `plugins:`, found 7\n"
        "    2 | tiers: 7\n"
        "      | ^\n"
        "1 error\n"
        "The scheduler may decide otherwise: it keeps the last valid configuration that it had, or decides nothing.\n"
        "--scheduler-conf FILE uses another configuration here.\n"
    )


@pytest.mark.real_time
async def test_a_configuration_file_replaces_the_clusters_and_must_be_valid(
    user: UserOfCluster, tmp_path: Path
) -> None:
    served(user)
    user.api.on("GET", CONFIG_MAP, config_map(BROKEN))
    conf = tmp_path / "own.conf"
    explain = ("explain", "podgroup", "train", "--scheduler-conf", str(conf))

    conf.write_text(default_configuration_text(), encoding="utf-8")
    assert (await user.run(*explain)).stderr == ""

    conf.write_text(BROKEN, encoding="utf-8")
    assert (await user.is_refused(*explain)).startswith(
        f"the scheduler configuration is invalid:\n{conf}:2:1: error: tiers"
    )


def test_a_plugin_that_only_the_scheduler_may_have_is_pointed_out(tmp_path: Path) -> None:
    conf = "actions: allocate\ntiers: [{plugins: [{name: ours}]}]\n"
    path = tmp_path / "cluster.capture"
    path.write_bytes(
        file.written(msgspec.structs.replace(of_manifests(read_text(CLUSTER, "cluster")), configuration=conf))
    )

    result = explained(path, "podgroup", "train")

    assert result.exit_code == 0
    assert 'unknown plugin "ours"' in result.stderr
    assert "If it has that plugin or action, this configuration is valid there: install it here, too." in result.stderr


@pytest.mark.parametrize("asked", [("podgroup", "train"), ("queue", "team-a"), ("node", "n1")])
def test_values_of_other_objects_are_not_mentioned(asked: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    others = """
---
{kind: Node, metadata: {name: n2, labels: {volcano.sh/oversubscription: odd}}, status: {allocatable: {cpu: odd}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: other}, spec: {weight: 0}}
---
{kind: ResourceQuota, metadata: {name: odd, namespace: other}, spec: {hard: {volcano.sh/namespace.weight: odd}}}
"""
    path.write_text(CLUSTER + others, encoding="utf-8")

    result = explained(path, *asked)

    assert result.exit_code == 0
    assert result.stderr == ""
    assert "Ignored" not in result.stdout
    assert "odd" not in result.stdout


def test_a_queue_and_a_node_are_explained(manifests: Path) -> None:
    assert "Queue team-a: Open, 1 job waiting" in explained(manifests, "queue", "team-a").output
    assert "Node n1 still takes 7 cpu" in explained(manifests, "node", "n1").output


@pytest.mark.parametrize(
    "spellings",
    [
        ("podgroup/train", "podgroups/train", "pg/train", "podgroup.scheduling.volcano.sh/train"),
        ("pod/train-0", "pods/train-0", "po/train-0"),
        ("queue/team-a", "Queue/team-a"),
        ("node/n1", "nodes/n1", "no/n1"),
    ],
    ids=["podgroup", "pod", "queue", "node"],
)
def test_kind_and_name_may_be_one_word(spellings: tuple[str, ...], manifests: Path) -> None:
    two_words = explained(manifests, *spellings[0].split("/"))
    assert two_words.exit_code == 0, two_words.output
    for one_word in spellings:
        assert explained(manifests, one_word).output == two_words.output


@pytest.mark.parametrize("word", ["job/big", "jobs/big", "vcjob/big", "job.batch.volcano.sh/big"])
def test_a_job_is_volcanos(word: str, manifests: Path) -> None:
    assert "job default/big does not exist" in explained(manifests, word).output


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("job.batch", "jobs.batch"), "job.batch"),
        (("deployment", "deployments", "deploy", "deployment.apps", "deploy.apps", "Deployment"), "deployment"),
        (("statefulset", "sts", "statefulsets.apps"), "statefulset"),
        (("replicaset", "rs"), "replicaset"),
        (("daemonset", "ds"), "daemonset"),
    ],
    ids=["job", "deployment", "statefulset", "replicaset", "daemonset"],
)
def test_workloads_of_kubernetes_are_named_as_kubectl_has_them(
    words: tuple[str, ...], kind: str, manifests: Path
) -> None:
    for word in words:
        assert f"{kind} default/big does not exist" in explained(manifests, f"{word}/big").output


def test_a_deployment_is_explained_by_its_pods(tmp_path: Path) -> None:
    path, owner = tmp_path / "cluster.yaml", "apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, controller: true"
    labels = "labels: {pod-template-hash: 5d9}"
    path.write_text(CLUSTER.replace("{name: web}", f"{{name: web-5d9-a, {labels}, ownerReferences: [{{{owner}}}]}}"))
    result = explained(path, "deploy/web")
    assert result.output == "default/web: Starting, 1 of 1 pod placed\n  On n1 (1 pod)\n"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["job"], "name the job: main explain job/NAME"),
        (["job/"], "name the job: main explain job/NAME"),
        (["pg/big", "small"], "podgroup/big has a name already: leave out small"),
        (["pg/Big"], "'Big' is not a valid name"),
        (["service/big"], f"'service' is not one of {', '.join(map(repr, EXPLAINABLE))}"),
    ],
    ids=str,
)
def test_what_names_no_object_is_a_usage_error(given: list[str], error: str, manifests: Path) -> None:
    result = explained(manifests, *given)
    assert result.exit_code == 2
    assert error in result.stderr
