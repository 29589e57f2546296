"""The CRDs on a real API server: what it fills in, what it accepts, what it refuses and in which words, what it shows.

Objects are created with dryRun=All wherever that shows it: the server defaults, validates and forgets them.
"""

from __future__ import annotations

import copy
import secrets
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.install import REPOSITORY
from e2e.harness.namespace import Namespace
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.workdir.layout import Settings

API = "scheduling.volcano.sh/v1beta1"
QUEUES = f"/apis/{API}/queues"
PODGROUPS = f"/apis/{API}/namespaces/default/podgroups"
MANIFESTS = REPOSITORY / "manifests"

Object = dict[str, Any]


def queue(spec: Object | None, name: str = "team-a", **rest: Any) -> Object:
    found = {} if spec is None else {"spec": spec}
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}} | found | rest


def podgroup(spec: Object | None, name: str = "gang", **rest: Any) -> Object:
    found = {} if spec is None else {"spec": spec}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": name}} | found | rest


async def stored(cluster: Cluster, body: Object) -> Object:
    """The object as the server would store it."""
    path = QUEUES if body["kind"] == "Queue" else PODGROUPS
    try:
        answer: Object = await cluster.client.create(f"{path}?dryRun=All", body)
    except APIError as error:
        if error.status != 409:
            raise
        # Validation comes before the look whether the name is taken: by the root queue of an earlier daemon, say.
        return body
    return answer


async def refusal(cluster: Cluster, body: Object) -> str:
    """The words the server refuses the object with."""
    with pytest.raises(APIError) as caught:
        await stored(cluster, body)
    assert caught.value.status == 422
    return str(caught.value)


# Installing


async def test_a_fresh_cluster_takes_the_installation_in_one_go_and_without_a_warning(
    control_plane: ControlPlane,  # only to leave this out on an external cluster, which may not be fresh
) -> None:
    async with ControlPlane(settings=Settings(controllers=(), simulate_nodes=False)) as fresh:
        first = await fresh.kubectl("apply", "--warnings-as-errors", "--kustomize", str(MANIFESTS))
        assert "deployment.apps/volcano-py created" in first
        assert all(line.endswith(" created") for line in first.splitlines())
        again = await fresh.kubectl("apply", "--warnings-as-errors", "--kustomize", str(MANIFESTS))
        # kubectl calls a PodDisruptionBudget configured each time: its selector is always sent as a whole.
        unchanged = [line for line in again.splitlines() if not line.startswith("poddisruptionbudget.policy/")]
        assert all(line.endswith(" unchanged") for line in unchanged)


@pytest.mark.parametrize("overlay", sorted(path.name for path in (MANIFESTS / "overlays").iterdir()))
async def test_every_overlay_is_accepted_without_a_warning(installed: Cluster, overlay: str) -> None:
    path = str(MANIFESTS / "overlays" / overlay)
    output = await installed.kubectl("apply", "--dry-run=server", "--warnings-as-errors", "--kustomize", path)
    alone = {"queue-gates": "mutatingadmissionpolicy.admissionregistration.k8s.io/volcano-py-queue-gates"}
    assert alone.get(overlay, "deployment.apps/volcano-py") in output
    assert all(line.endswith("(server dry run)") for line in output.splitlines())


async def test_the_definitions_are_structural_and_served(installed: Cluster) -> None:
    for name in ("queues", "podgroups"):
        crd = await installed.kubectl.json("get", "crd", f"{name}.scheduling.volcano.sh")
        conditions = {each["type"]: each["status"] for each in crd["status"]["conditions"]}
        assert conditions["Established"] == conditions["NamesAccepted"] == "True"
        assert conditions.get("NonStructuralSchema", "False") == "False"


async def test_the_daemons_pod_is_admitted_where_the_restricted_profile_is_enforced(namespace: Namespace) -> None:
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await namespace.cluster.client.merge_patch(f"/api/v1/namespaces/{namespace.name}", labels)
    deployment = yaml.safe_load((MANIFESTS / "base" / "deployment.yaml").read_text())
    spec = deployment["spec"]["template"]["spec"] | {"serviceAccountName": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "daemon"}, "spec": spec}
    pods = f"/api/v1/namespaces/{namespace.name}/pods?dryRun=All"
    lax = {**pod, "spec": {**spec, "securityContext": {}}}

    async def enforced() -> None:
        """The API server goes by what its own watch has shown of the namespace's labels."""
        try:
            await namespace.cluster.client.create(pods, lax)
        except APIError as error:
            refused = str(error)
        else:
            refused = ""
        assert 'violates PodSecurity "restricted:latest"' in refused, refused

    await namespace.cluster.eventually("the profile is enforced", enforced)
    await namespace.cluster.client.create(pods, pod)


# Filling in

NO_SPEC: tuple[Object | None, ...] = (None, {})


async def test_a_queue_gets_its_defaults_even_without_a_spec(installed: Cluster) -> None:
    for spec in NO_SPEC:
        assert (await stored(installed, queue(spec)))["spec"] == {"weight": 1, "dequeueStrategy": "traverse"}


async def test_a_podgroup_gets_its_defaults_even_without_a_spec(installed: Cluster) -> None:
    for spec in NO_SPEC:
        assert (await stored(installed, podgroup(spec)))["spec"] == {"queue": "default"}
    nested = podgroup({"networkTopology": {}, "subGroupPolicy": [{"name": "replica", "networkTopology": {}}]})
    assert (await stored(installed, nested))["spec"] == {
        "queue": "default",
        "networkTopology": {"mode": "hard"},
        "subGroupPolicy": [
            {"name": "replica", "networkTopology": {"mode": "hard"}, "subGroupSize": 1, "minSubGroups": 0}
        ],
    }


# Accepting

COMPLETE_QUEUE: Object = {
    "weight": 4,
    "capability": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": 8},
    "deserved": {"cpu": 32, "memory": "128Gi", "nvidia.com/gpu": "4"},
    "guarantee": {"resource": {"cpu": "4000m", "memory": "16Gi"}},
    "reclaimable": False,
    "parent": "research.team-a",
    "priority": 100,
    "type": "leaf",
    "affinity": {
        "nodeGroupAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": ["a100"],
            "preferredDuringSchedulingIgnoredDuringExecution": ["rack-1", "rack-2"],
        },
        "nodeGroupAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": ["t4"],
            "preferredDuringSchedulingIgnoredDuringExecution": ["rack-9"],
        },
    },
    "extendClusters": [{"name": "west", "weight": 1, "capacity": {"cpu": 1000, "memory": "1Ti"}}],
    "dequeueStrategy": "fifo",
}
COMPLETE_PODGROUP: Object = {
    "minMember": 3,
    "minTaskMember": {"ps": 1, "worker": 2},
    "queue": "research.team-a",
    "priorityClassName": "high",
    "minResources": {"cpu": 3, "memory": "6Gi", "requests.cpu": "3", "pods": "3"},
    "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
    "subGroupPolicy": [
        {
            "name": "worker",
            "subGroupSize": 2,
            "minSubGroups": 1,
            "labelSelector": {
                "matchLabels": {"role": "worker"},
                "matchExpressions": [{"key": "rank", "operator": "NotIn", "values": ["0"]}],
            },
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "networkTopology": {"mode": "hard", "highestTierName": "rack"},
        }
    ],
}


@pytest.mark.parametrize("body", [queue(COMPLETE_QUEUE), podgroup(COMPLETE_PODGROUP)], ids=["queue", "podgroup"])
async def test_every_field_is_stored_as_it_was_written(installed: Cluster, body: Object) -> None:
    assert (await stored(installed, body))["spec"] == body["spec"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(queue({"weight": 65535}), id="largest weight"),
        pytest.param(queue({"parent": ""}), id="empty parent"),
        pytest.param(queue({"parent": "root"}), id="below root"),
        pytest.param(queue({"reclaimable": False, "weight": 1}, name="root"), id="root as the scheduler makes it"),
        pytest.param(queue({"parent": "root"}, name="root"), id="root below root"),
        pytest.param(queue({"deserved": {"cpu": 10}, "capability": {"memory": "8Gi"}}), id="deserved without ceiling"),
        pytest.param(queue({"deserved": {"cpu": 10}}), id="deserved without capability"),
        pytest.param(queue({"capability": {"cpu": 0}}), id="nothing allowed"),
        pytest.param(queue({"guarantee": {}}), id="empty guarantee"),
        pytest.param(queue({"guarantee": {"resource": {"cpu": 0}}}), id="nothing guaranteed"),
        pytest.param(
            queue({"guarantee": {"resource": {"memory": "1Gi"}}, "deserved": {"memory": "1073741824"}}),
            id="equal amounts in different units",
        ),
        pytest.param(
            queue({"deserved": {"cpu": "9999m", "memory": "1e3"}, "capability": {"cpu": 10, "memory": 1000}}),
            id="strings and numbers",
        ),
        pytest.param(
            queue({"capability": {f"vendor.example/device-{n}": str(n) for n in range(200)}}), id="200 resources"
        ),
        pytest.param(podgroup({"minMember": 0}), id="no minimum"),
        pytest.param(podgroup({"networkTopology": {"highestTierAllowed": 0}}), id="tier 0"),
        pytest.param(
            podgroup({"networkTopology": {"highestTierAllowed": 2, "highestTierName": ""}}), id="empty tier name"
        ),
    ],
)
async def test_what_volcano_accepts_is_accepted(installed: Cluster, body: Object) -> None:
    await stored(installed, body)


HIERARCHY = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: child-queue-a}
spec:
  reclaimable: true
  parent: root
  deserved: {cpu: 64, memory: 128Gi}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: subchild-queue-a1}
spec:
  reclaimable: true
  parent: child-queue-a
  deserved: {cpu: 32, memory: 64Gi}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: hdrf
  annotations:
    volcano.sh/hierarchy: root/science/development
    volcano.sh/hierarchy-weights: 1/2/8
spec:
  weight: 8
"""


async def test_hierarchies_as_users_write_them_are_accepted(installed: Cluster) -> None:
    output = await installed.kubectl(
        "apply", "--dry-run=server", "--warnings-as-errors", "--filename", "-", stdin=HIERARCHY
    )
    assert output.count("(server dry run)") == 3


# Refusing

NOT_A_QUANTITY = "must be a Kubernetes quantity and not negative, such as 500m, 4 or 16Gi"
GUARANTEE_TOO_LARGE = (
    "spec.guarantee: Invalid value: a resource in guarantee is larger than in deserved, or missing there; "
    "give every guaranteed resource a deserved amount at least as large"
)
DESERVED_TOO_LARGE = (
    "spec.deserved: Invalid value: a resource in deserved is larger than in capability; lower deserved, or raise "
    "capability, or leave the resource out of capability to have no ceiling for it"
)
OWN_PARENT = (
    "spec.parent: Invalid value: a queue cannot be below itself, and root cannot be below another queue; "
    "name another queue in spec.parent, or leave it out to place the queue directly below root"
)
TWO_TIERS = "Invalid value: highestTierAllowed and highestTierName say the same thing in two ways; keep one of them"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (queue({"weight": 0}), "spec.weight in body should be greater than or equal to 1"),
        (queue({"weight": 65536}), "spec.weight in body should be less than or equal to 65535"),
        (queue({"priority": -1}), "spec.priority in body should be greater than or equal to 0"),
        (queue({"parent": "Team_A"}), "spec.parent in body should match"),
        (queue({"parent": "team-a"}), OWN_PARENT),
        (queue({"parent": "team-a"}, name="root"), OWN_PARENT),
        (queue({"dequeueStrategy": "lifo"}), 'Unsupported value: "lifo": supported values: "fifo", "traverse"'),
        (queue({"capability": {"cpu": -1}}), f"spec.capability[cpu]: Invalid value: -1: {NOT_A_QUANTITY}"),
        (
            queue({"capability": {"memory": "-1Gi"}}),
            f'spec.capability[memory]: Invalid value: "-1Gi": {NOT_A_QUANTITY}',
        ),
        (queue({"deserved": {"cpu": "lots"}}), f'spec.deserved[cpu]: Invalid value: "lots": {NOT_A_QUANTITY}'),
        (
            queue({"guarantee": {"resource": {"cpu": "4 cores"}}, "deserved": {"cpu": 4}}),
            f'spec.guarantee.resource[cpu]: Invalid value: "4 cores": {NOT_A_QUANTITY}',
        ),
        (queue({"guarantee": {"resource": {"cpu": 4}}}), GUARANTEE_TOO_LARGE),
        (
            queue({"guarantee": {"resource": {"cpu": 4, "memory": 1}}, "deserved": {"cpu": 2, "memory": 1}}),
            GUARANTEE_TOO_LARGE,
        ),
        (
            queue({"guarantee": {"resource": {"memory": "2Gi"}}, "deserved": {"memory": "2000M"}}),
            GUARANTEE_TOO_LARGE,
        ),
        (queue({"deserved": {"cpu": 10}, "capability": {"cpu": "8"}}), DESERVED_TOO_LARGE),
        (
            queue({"deserved": {"nvidia.com/gpu": "8"}, "capability": {"nvidia.com/gpu": 4, "cpu": 1}}),
            DESERVED_TOO_LARGE,
        ),
        (podgroup({"minMember": -1}), "spec.minMember in body should be greater than or equal to 0"),
        (podgroup({"queue": "Team_A"}), "spec.queue in body should match"),
        (podgroup({"minResources": {"cpu": "lots"}}), "must be a Kubernetes quantity, such as 500m, 4 or 16Gi"),
        (podgroup({"networkTopology": {"mode": "hrad"}}), 'supported values: "hard", "soft"'),
        (
            podgroup({"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}}),
            f"spec.networkTopology: {TWO_TIERS}",
        ),
        (
            podgroup({"subGroupPolicy": [{"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}}]}),
            f"spec.subGroupPolicy[0].networkTopology: {TWO_TIERS}",
        ),
        (
            podgroup({"subGroupPolicy": [{"subGroupSize": 0}]}),
            "spec.subGroupPolicy[0].subGroupSize in body should be greater than or equal to 1",
        ),
    ],
)
async def test_what_cannot_be_meant_is_refused_in_words_that_help(installed: Cluster, body: Object, words: str) -> None:
    assert words in await refusal(installed, body)


async def test_a_value_that_is_no_quantity_is_reported_once_and_not_as_a_failing_rule(installed: Cluster) -> None:
    body = queue({"deserved": {"cpu": "lots", "memory": 1}, "capability": {"cpu": 1, "memory": 2}})
    words = await refusal(installed, body)
    assert words.endswith(f'is invalid: spec.deserved[cpu]: Invalid value: "lots": {NOT_A_QUANTITY}')


async def test_what_was_stored_before_a_rule_is_not_locked_by_it(installed: Cluster) -> None:
    """As after an upgrade from CRDs without `deserved`. The definition is one of its own, as its rules come later."""
    definition, kind = a_definition_of_its_own()
    path = f"/apis/{definition['spec']['group']}/v1beta1/{kind}"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    old: dict[str, Object] = {
        "guaranteed": {"guarantee": {"resource": {"cpu": "4"}}},
        "overfull": {"deserved": {"cpu": 4}, "capability": {"cpu": 2}},
        "itself": {"parent": "itself"},
    }

    async def create(name: str, spec: Object, query: str = "") -> None:
        body = queue(spec, name) | {"apiVersion": f"{definition['spec']['group']}/v1beta1"}
        await installed.client.create(f"{path}{query}", body)

    async def is_refused(spec: Object) -> bool:
        try:
            await create("new", spec, "?dryRun=All")
        except APIError as error:
            return "422" in str(error)
        return False

    async def refused(name: str, spec: Object) -> None:
        with pytest.raises(APIError, match="422"):
            await installed.client.merge_patch(f"{path}/{name}", {"spec": spec})

    try:
        await installed.client.create(definitions, without_rules(definition))
        for name, spec in old.items():
            await installed.eventually(f"queue {name} is stored", partial(create, name, spec))
        await installed.client.merge_patch(
            f"{definitions}/{definition['metadata']['name']}", {"spec": definition["spec"]}
        )

        async def rules_hold() -> None:
            for spec in (old["guaranteed"], old["overfull"], {"parent": "new"}):
                assert await is_refused(spec), f"{spec} is accepted"

        await installed.eventually("the rules hold", rules_hold)
        for name in old:
            await installed.client.merge_patch(f"{path}/{name}", {"spec": {"weight": 3}})
            await installed.client.merge_patch(f"{path}/{name}/status", {"status": {"state": "Open", "allocated": {}}})
        await installed.client.merge_patch(f"{path}/guaranteed", {"spec": {"parent": "root"}})
        await refused("guaranteed", {"guarantee": {"resource": {"cpu": "5"}}})
        await refused("overfull", {"capability": {"cpu": 3}})
        await refused("guaranteed", {"parent": "guaranteed"})
        for name, fixed in (
            ("guaranteed", {"deserved": {"cpu": 4}}),
            ("overfull", {"capability": None}),
            ("itself", {"parent": "root"}),
        ):
            await installed.client.merge_patch(f"{path}/{name}", {"spec": fixed})
    finally:
        await installed.delete(f"{definitions}/{definition['metadata']['name']}")


def a_definition_of_its_own() -> tuple[Object, str]:
    """The CRD of queues under a group that no one else uses, and its plural."""
    text = (REPOSITORY / "crds" / "scheduling.volcano.sh_queues.yaml").read_text(encoding="utf-8")
    definition: Object = yaml.safe_load(text)
    group, plural = f"e2e-{secrets.token_hex(3)}.example.com", definition["spec"]["names"]["plural"]
    definition["metadata"] = {"name": f"{plural}.{group}"}
    definition["spec"]["group"] = group
    definition["spec"]["names"].pop("shortNames", None)
    return definition, plural


def without_rules(definition: Object) -> Object:
    """The same without rules that look at several fields together."""
    bare: Object = copy.deepcopy(definition)
    for version in bare["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        del schema["x-kubernetes-validations"], schema["properties"]["spec"]["x-kubernetes-validations"]
    return bare


# Status, columns, explanations


async def test_a_queues_status_is_written_by_the_subresource_and_checked(installed: Cluster) -> None:
    name = f"e2e-{secrets.token_hex(3)}"
    try:
        created = await installed.client.create(QUEUES, queue({}, name=name, status={"state": "Closed"}))
        assert "status" not in created
        status = {"state": "Open", "running": 1, "allocated": {"cpu": "4000m", "memory": "8Gi", "pods": "4"}}
        patched = await installed.client.merge_patch(f"{QUEUES}/{name}/status", {"status": status})
        assert patched["status"] == status
        for wrong in ({"state": "Ajar"}, {"running": -1}):
            with pytest.raises(APIError, match="422"):
                await installed.client.merge_patch(f"{QUEUES}/{name}/status", {"status": wrong})
    finally:
        await installed.delete(f"{QUEUES}/{name}")


async def test_a_podgroups_status_is_written_with_the_object(namespace: Namespace) -> None:
    await namespace.apply(podgroup({"minMember": 2}))
    path = f"/apis/{API}/namespaces/{namespace.name}/podgroups/gang"
    condition = {
        "type": "Scheduled",
        "status": "True",
        "transitionID": "9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
        "lastTransitionTime": "2026-11-21T10:00:00Z",
        "reason": "tasks in gang are ready to be scheduled",
        "message": "",
    }
    status = {"phase": "Running", "running": 2, "succeeded": 0, "failed": 0, "conditions": [condition]}
    current = await namespace.cluster.client.get(path)
    assert (await namespace.cluster.client.merge_patch(path, {"status": status}))["status"] == status
    assert (await namespace.cluster.client.get(path))["spec"] == current["spec"]
    with pytest.raises(APIError, match="404"):
        await namespace.cluster.client.merge_patch(f"{path}/status", {"status": status})
    with pytest.raises(APIError, match='Unsupported value: "Done"'):
        await namespace.cluster.client.merge_patch(path, {"status": {"phase": "Done"}})


async def test_kubectl_get_shows_the_columns_people_know(namespace: Namespace) -> None:
    cluster = namespace.cluster
    await namespace.apply(podgroup({"minMember": 2}))
    shown = await cluster.kubectl("get", "pg", "--namespace", namespace.name)
    assert shown.splitlines()[0].split() == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"]
    wide = await cluster.kubectl("get", "podgroup-v1beta1", "--namespace", namespace.name, "--output", "wide")
    assert wide.splitlines()[0].split()[-1] == "QUEUE"
    assert wide.splitlines()[1].split()[-1] == "default"

    name = f"e2e-{secrets.token_hex(3)}"
    try:
        await cluster.client.create(QUEUES, queue({"parent": "root", "weight": 3}, name=name))
        await cluster.client.merge_patch(f"{QUEUES}/{name}/status", {"status": {"state": "Open", "pending": 5}})
        for kind in ("q", "queue-v1beta1"):
            header, row = (await cluster.kubectl("get", kind, name)).splitlines()
            assert header.split() == ["NAME", "PARENT", "STATE", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "AGE"]
            assert row.split()[:5] == [name, "root", "Open", "3", "5"]
    finally:
        await cluster.delete(f"{QUEUES}/{name}")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("queue", "A Queue is a share of the cluster"),
        ("queue.spec.guarantee.resource", "never lent to other queues"),
        ("queue.status.state", "Closing"),
        ("podgroup", "A PodGroup makes pods of one namespace a gang"),
        ("podgroup.spec.minMember", "must get a node at the same time"),
        ("podgroup.spec.subGroupPolicy.subGroupSize", "sub-group"),
    ],
)
async def test_kubectl_explain_teaches(installed: Cluster, tmp_path: Path, field: str, words: str) -> None:
    # A cache of its own: kubectl keeps what a server once reported about its API.
    reported = await installed.kubectl("explain", field, "--cache-dir", str(tmp_path))
    assert words in " ".join(reported.split())
