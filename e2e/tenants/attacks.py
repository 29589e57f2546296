"""What a tenant can try with objects of its own namespace, one attack after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.harness.objects import Object, gang, pod, pod_group, pod_spec, volcano_job
from e2e.harness.tenant import Tenant
from volcano_py.api.bounds import FLOW_TARGETS, NODE_TERMS, RESOURCES_ASKED, SPREADS

NEWLINES: Final = (
    "x HTTP/1.1\r\nHost: h\r\n\r\nDELETE /api/v1/namespaces/{victim}/pods/bystander-0?gracePeriodSeconds=0"
)
"""A name that ends the request it is put into and begins another one, if nothing quotes it."""

_NOWHERE: Final = {"no-node-has": "this"}
"""A node selector."""

# Patterns of what is reported.
_NO_OWNER: Final = "PodGroupError: the pod's controller has no valid name"
_NO_NODE_MATCHES: Final = "NodesRefuse: .*didn't match Pod's node affinity/selector"


@dataclass(frozen=True)
class Stage:
    """Where the attack takes place: the namespace of the victim, and the selector of the nodes that both share."""

    victim: str
    selector: Mapping[str, str]

    def pod(self, name: str, **fields: Any) -> Object:
        """A pod that may go to those nodes."""
        return pod(name, node_selector=self.selector, cpu=fields.pop("cpu", "100m"), **fields)

    def template(self, **fields: Any) -> Object:
        """A pod template for those nodes."""
        return {"spec": pod_spec(node_selector=self.selector, cpu="100m", scheduler_name="", **fields)}


@dataclass(frozen=True)
class Attack:
    """One attempt. `reported` is a pattern that a refusal, a condition or an event in the attacker's namespace matches.

    An attack without `reported` is work like any other: the API server refuses nothing of it, and nothing is limited.
    """

    name: str
    objects: Callable[[Stage], Iterable[Object]]
    reported: str = ""
    then: Callable[[Tenant], Awaitable[None]] | None = field(default=None, repr=False)


def _job(name: str, stage: Stage, **spec: Any) -> Object:
    tasks = [{"name": "worker", "replicas": 1, "template": stage.template(restartPolicy="Never")}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "tasks": tasks, **spec},
    }


def _flow(kind: str, name: str, **spec: Any) -> Object:
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _cron_job(name: str, stage: Stage, **spec: Any) -> Object:
    template = {"spec": _job(name, stage)["spec"]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec},
    }


def _claim(name: str, **spec: Any) -> Object:
    resources = {"requests": {"storage": "1Gi"}}
    fields = {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": fields}


def _budget(name: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"maxUnavailable": 0, "selector": {}},
    }


def _service(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80}]},
    }


def _owned(pod: Object, kind: str, api_version: str, name: str) -> Object:
    """The API version must not exist: the garbage collector cannot look the owner up then, and lets the pod live."""
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": "0", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def _with_volume(pod: Object, claim: str) -> Object:
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return pod


def _asking(pod: Object, **resources: str) -> Object:
    requests = {name.replace("__", "/").replace("_", "."): amount for name, amount in resources.items()}
    pod["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": requests}
    return pod


def _phase(group: Object, phase: str) -> Object:
    group["status"] = {"phase": phase}
    return group


def _terms(count: int) -> Object:
    expressions = [
        {"matchExpressions": [{"key": f"label-{number}", "operator": "NotIn", "values": [f"v{n}" for n in range(20)]}]}
        for number in range(count)
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": expressions}}}


def _spreads(count: int) -> Sequence[Object]:
    return [
        {
            "maxSkew": number + 1,
            "topologyKey": f"key-{number}",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {},
        }
        for number in range(count)
    ]


async def _hop_between_groups(tenant: Tenant) -> None:
    path = f"/api/v1/namespaces/{tenant.name}/pods/hopper"
    for turn in range(40):
        annotations = {"scheduling.k8s.io/group-name": f"group-{turn % 2}"}
        await tenant.client.merge_patch(path, {"metadata": {"annotations": annotations}})


async def _relabel(tenant: Tenant) -> None:
    path = f"/api/v1/namespaces/{tenant.name}/pods/restless"
    for turn in range(100):
        await tenant.client.merge_patch(path, {"metadata": {"labels": {"turn": str(turn)}}})


async def _make_and_remove_a_group(tenant: Tenant) -> None:
    groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{tenant.name}/podgroups"
    for _ in range(30):
        await tenant.client.create(groups, pod_group("flicker", 1))
        await tenant.client.delete(f"{groups}/flicker")


async def _claim_to_be_admitted(tenant: Tenant) -> None:
    groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{tenant.name}/podgroups"
    for phase in ("Inqueue", "Running", "Inqueue"):
        await tenant.client.merge_patch(f"{groups}/liar", {"status": {"phase": phase, "running": 1000}})


ATTACKS: Final = (
    # Names that end in requests.
    Attack(
        "a group name with another request in it",
        lambda stage: [stage.pod("p", group=NEWLINES.format(victim=stage.victim))],
        reported="PodGroupNotFound",
    ),
    Attack(
        "a group name that leads to another namespace",
        lambda stage: [stage.pod("p", group=f"../../{stage.victim}/podgroups/bystander")],
        reported="PodGroupNotFound",
    ),
    Attack(
        "the group of another namespace",
        lambda stage: [stage.pod("p", group=f"{stage.victim}/bystander")],
        reported="PodGroupNotFound",
    ),
    Attack(
        "an owner with another request in its name",
        lambda stage: [_owned(stage.pod("p"), "ReplicaSet", "apps/v0", NEWLINES.format(victim=stage.victim))],
        reported=_NO_OWNER,
    ),
    Attack(
        "an owner whose name leads elsewhere",
        lambda stage: [_owned(stage.pod("p"), "StatefulSet", "apps/v0", f"../../{stage.victim}/pods/bystander-0")],
        reported=_NO_OWNER,
    ),
    Attack(
        "an owner of an API that leads elsewhere",
        lambda stage: [_owned(stage.pod("p"), "ReplicaSet", "apps/..", "x?watch=1#")],
        reported=_NO_OWNER,
    ),
    Attack(
        "a Job's claim with another request in its name",
        lambda stage: [
            _job("j", stage, volumes=[{"mountPath": "/d", "volumeClaimName": NEWLINES.format(victim=stage.victim)}])
        ],
        reported=r"spec\.volumes\[0\]\.volumeClaimName",
    ),
    Attack(
        "a Job's queue that leads elsewhere",
        lambda stage: [_job("j", stage, queue="../queues/default")],
        reported=r"spec\.queue",
    ),
    Attack(
        "a group's queue that leads elsewhere",
        lambda _: [pod_group("g", 1, queue="a/../default")],
        reported=r"spec\.queue",
    ),
    Attack(
        "a claim on a volume whose name leads elsewhere",
        lambda stage: [_claim("c", volumeName="../nodes/x", storageClassName=""), _with_volume(stage.pod("p"), "c")],
        reported=r"VolumeNotReady: .* names volume ../nodes/x",
    ),
    Attack(
        "a flow of templates whose names lead elsewhere",
        lambda _: [_flow("JobFlow", "f", flows=[{"name": "../../pods/x"}], jobRetainPolicy="delete")],
        reported=r"spec\.flows\[0\]\.name",
    ),
    Attack(
        "a time zone that is a file of the machine",
        lambda stage: [_cron_job("c", stage, timeZone="../../../../../etc/passwd")],
        reported=r"spec\.timeZone",
    ),
    # Absurd amounts and sizes.
    Attack(
        "a minimum of two thousand million",
        lambda _: [pod_group("g", 2**31 - 1)],
        reported="NotEnoughTasks: .* minMember is 2147483647",
    ),
    Attack(
        "a minimum of resources that no number holds",
        lambda _: [pod_group("g", 1, minResources={"cpu": "1e400000"})],
        reported="ClusterOvercommitted: .* asked >",
    ),
    Attack(
        "a priority that no number holds",
        lambda stage: [stage.pod("p", annotations={"volcano.sh/task-priority": "1e999"})],
    ),
    Attack(
        "two hundred invented resources",
        lambda stage: [
            _asking(stage.pod(f"p-{number}"), **{f"example_com__r-{number}-{kind}": "1" for kind in range(20)})
            for number in range(10)
        ],
        reported=f"InvalidPod: .* at most {RESOURCES_ASKED.most} are counted",
    ),
    Attack(
        "a name of a group as long as annotations get",
        lambda stage: [stage.pod("p", group="g" * 200_000)],
        reported="PodGroupNotFound",
    ),
    Attack(
        "a thousand tolerations", lambda stage: [stage.pod("p", tolerations=[{"key": f"k{n}"} for n in range(1000)])]
    ),
    Attack(
        "a thousand terms of node affinity",
        lambda stage: [stage.pod("p", affinity=_terms(1000))],
        reported=f"InvalidPod: .* 1000 terms: at most {NODE_TERMS.most}",
    ),
    Attack(
        "fifty constraints on spreading in each of twenty pods",
        lambda stage: [
            stage.pod(f"p-{number}", topologySpreadConstraints=_spreads(50), labels={"n": str(number)})
            for number in range(20)
        ],
        reported=f"InvalidPod: .* at most {SPREADS.most}",
    ),
    Attack(
        "a flow of two hundred steps that depend on all before",
        lambda _: [
            _flow(
                "JobFlow",
                "f",
                jobRetainPolicy="delete",
                flows=[
                    {"name": f"t-{n}", **({"dependsOn": {"targets": [f"t-{m}" for m in range(n)]}} if n else {})}
                    for n in range(200)
                ],
            )
        ],
        reported=f"InvalidJobFlow: .* with {FLOW_TARGETS.most} are allowed",
    ),
    Attack(
        "a flow that waits for itself",
        lambda _: [
            _flow(
                "JobFlow",
                "f",
                jobRetainPolicy="delete",
                flows=[
                    {"name": "a", "dependsOn": {"targets": ["b"]}},
                    {"name": "b", "dependsOn": {"targets": ["a"]}},
                ],
            )
        ],
        reported="InvalidJobFlow: .* spec.flows has a cycle",
    ),
    # Crowds.
    Attack(
        "three hundred pods that fit nowhere",
        lambda _: [pod(f"p-{n}", node_selector=_NOWHERE) for n in range(300)],
        reported=_NO_NODE_MATCHES,
    ),
    Attack(
        "three hundred empty groups", lambda _: [pod_group(f"g-{n}", 1) for n in range(300)], reported="NotEnoughTasks"
    ),
    Attack("a hundred and fifty Jobs", lambda stage: [_job(f"j-{n}", stage) for n in range(150)]),
    Attack("fifty Jobs each minute", lambda stage: [_cron_job(f"c-{n}", stage) for n in range(50)]),
    Attack("three hundred Services", lambda _: [_service(f"s-{n}") for n in range(300)]),
    Attack("three hundred budgets over everything", lambda _: [_budget(f"b-{n}") for n in range(300)]),
    Attack(
        "two hundred pods with a port of the node each",
        lambda stage: [
            stage.pod(
                f"p-{number}",
                cpu="1m",
                containers=[
                    {
                        "name": "main",
                        "image": "none",
                        "ports": [{"containerPort": 1, "hostPort": 20_000 + number}],
                        "resources": {"requests": {"cpu": "1m"}},
                    }
                ],
            )
            for number in range(200)
        ],
    ),
    # Lies about itself.
    Attack(
        "a group that says of itself that it was admitted",
        lambda _: [_phase(pod_group("liar", 3, minResources={"cpu": "10000"}), "Inqueue")],
        # The second if the scheduler was the last to write the phase.
        reported="NotEnoughTasks: .* minMember is 3|ClusterOvercommitted: .* 10000 asked",
        then=_claim_to_be_admitted,
    ),
    Attack(
        "a deadline that has passed before the job came",
        lambda stage: [
            {
                **pod_group("g", 30),
                "metadata": {
                    "name": "g",
                    "annotations": {"sla-waiting-time": "0.001s", "volcano.sh/sla-waiting-time": "-1h"},
                },
            },
            *(stage.pod(f"g-{number}", group="g", cpu="3") for number in range(30)),
        ],
        reported="GangIncomplete: .* minMember is 30",
    ),
    Attack(
        "pods that can never be taken, for a hundred years",
        lambda stage: [
            stage.pod(
                f"p-{number}",
                annotations={"volcano.sh/preemptable": "false", "volcano.sh/cooldown-time": "876000h"},
                terminationGracePeriodSeconds=2**31,
            )
            for number in range(3)
        ],
    ),
    # Restlessness.
    Attack(
        "a pod that hops between groups",
        lambda stage: [
            pod_group("group-0", 2),
            pod_group("group-1", 2),
            stage.pod("hopper", group="group-0"),
        ],
        reported="NotEnoughTasks: PodGroup .*/group-1: 1 pod of this scheduler exists, minMember is 2",
        then=_hop_between_groups,
    ),
    Attack(
        "a waiting pod that is relabelled all the time",
        lambda _: [pod("restless", node_selector=_NOWHERE)],
        reported=_NO_NODE_MATCHES,
        then=_relabel,
    ),
    Attack("a group that comes and goes", lambda _: [], then=_make_and_remove_a_group),
    Attack(
        "a gang half of which fits nowhere",
        lambda stage: [
            *gang("g", 2, node_selector=stage.selector, cpu="100m", minimum=4),
            *(pod(f"g-{number}", group="g", node_selector=_NOWHERE) for number in (2, 3)),
        ],
        reported="GangIncomplete: 2 of 4 pods have a place",
    ),
    Attack(
        "a Job of which no pod can ever run",
        lambda _: [volcano_job("j", 5, cpu="100000")],
        reported="ClusterOvercommitted: .* 500000 asked",
    ),
)
