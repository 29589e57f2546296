"""What pods can ask for, one feature a function: each adds one to a pod's manifest.

A feature that this scheduler does not evaluate yet is found out by showing it pods that use it (`Feature.examples`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from e2e.differential.nodes import EFFECTS, IMAGES, TAINT_KEYS, TAINT_VALUES
from e2e.differential.pods.selecting import add_owner
from e2e.differential.pods.storage import BOUND_CLAIMS, OPEN_CLAIMS, claim_name
from e2e.differential.words import APPS, CLUSTER_LABEL, DISKS, GPU, HUGE_PAGES, NAMESPACES, NUMBERS, Manifest, Words

RUNTIME_CLASS: Final = "sandboxed"
OVERHEAD: Final = {"cpu": "250m", "memory": "120Mi"}
"""What every pod of that runtime class costs next to its containers."""


_EXAMPLES: Final = 20


@dataclass(frozen=True, slots=True)
class Feature:
    """Probabilities: `often`, with which a pod that is asked about uses it, `running`, with which one that runs does,
    and `scored`, with which one does whose nodes are scored, and which therefore should fit several."""

    name: str
    add: Callable[[Words, Manifest], None]
    often: float
    running: float = 0.0
    scored: float = 0.0

    def examples(self, seed: int) -> list[Manifest]:
        """Pods that use the feature and nothing else, in several of its forms."""
        words = Words(seed, 0)
        pods = [plain_pod(words, f"example-{index}") for index in range(_EXAMPLES)]
        for pod in pods:
            self.add(words, pod)
        return pods


def plain_pod(words: Words, name: str) -> Manifest:
    """A pod that asks for nothing."""
    return {
        "metadata": {"name": name, "namespace": words.namespace(), "labels": words.pod_labels()},
        "spec": {
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": words.one_of(IMAGES)[0]}],
        },
    }


# -- nodes ------------------------------------------------------------------------------------------------------------


def add_node_selector(words: Words, pod: Manifest) -> None:
    label, values = words.one_of((("disk", DISKS), ("cores", NUMBERS), (words.zone, ("a", "b", "c", "d"))))
    pod["spec"].setdefault("nodeSelector", {})[label] = words.one_of(values)


def add_node_affinity(words: Words, pod: Manifest) -> None:
    terms = [_node_term(words) for _ in range(words.between(1, 3))]
    _affinity(pod)["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if words.chance(0.3):
        _prefer_nodes(words, pod)


def add_preferred_node_affinity(words: Words, pod: Manifest) -> None:
    _affinity(pod).setdefault("nodeAffinity", {})
    _prefer_nodes(words, pod)


def _prefer_nodes(words: Words, pod: Manifest) -> None:
    _affinity(pod)["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {"weight": words.between(1, 100), "preference": _node_term(words)} for _ in range(words.between(1, 3))
    ]


def _node_term(words: Words) -> dict[str, Any]:
    term: dict[str, Any] = {}
    if words.chance(0.85):
        term["matchExpressions"] = [_node_requirement(words) for _ in range(words.between(1, 2))]
    if words.chance(0.25):
        operator = words.one_of(("In", "NotIn"))
        name = words.one_of((*words.nodes, "unknown"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return term


def _node_requirement(words: Words) -> dict[str, Any]:
    match words.between(0, 4):
        case 0:
            return {"key": words.one_of(("disk", "cores", words.rack)), "operator": words.one_of(_PRESENCE)}
        case 1:
            bound = words.one_of(("0", "7", "8", "15", "9223372036854775806"))
            return {"key": "cores", "operator": words.one_of(("Gt", "Lt")), "values": [bound]}
        case 2:
            return _among(words, "disk", DISKS)
        case 3:
            return _among(words, words.zone, ("a", "b", "c"))
        case _:
            return _among(words, "cores", NUMBERS)


_PRESENCE: Final = ("Exists", "DoesNotExist")


def _among(words: Words, key: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": words.one_of(("In", "NotIn")), "values": words.some_of(values, 1, 2)}


def add_tolerations(words: Words, pod: Manifest) -> None:
    pod["spec"]["tolerations"] = [_toleration(words) for _ in range(words.between(1, 4))]


def _toleration(words: Words) -> dict[str, Any]:
    toleration: dict[str, Any] = {"key": words.one_of((*TAINT_KEYS, "node.kubernetes.io/unschedulable"))}
    if words.chance(0.7):
        toleration["effect"] = words.one_of(EFFECTS)
    match words.between(0, 5):
        case 0:
            toleration["operator"] = "Exists"
            if words.chance(0.4):
                del toleration["key"]
        case 1 | 2:
            toleration["operator"] = "Exists"
        case 3:
            toleration |= {"operator": words.one_of(("Gt", "Lt")), "value": words.one_of(("5", "7", "10"))}
        case _:
            toleration["value"] = words.one_of(TAINT_VALUES)
            if words.chance(0.5):
                toleration["operator"] = "Equal"
    if toleration.get("effect") == "NoExecute" and words.chance(0.3):
        toleration["tolerationSeconds"] = 60
    return toleration


# -- what a pod takes -------------------------------------------------------------------------------------------------


def add_requests(words: Words, pod: Manifest) -> None:
    pod["spec"]["containers"][0]["resources"] = _resources(words)


def add_more_containers(words: Words, pod: Manifest) -> None:
    pod["spec"]["containers"] += [
        {"name": f"more-{index}", "image": words.one_of(IMAGES)[0], "resources": _resources(words)}
        for index in range(words.between(1, 2))
    ]


def add_init_containers(words: Words, pod: Manifest) -> None:
    containers = []
    for index in range(words.between(1, 3)):
        container: Manifest = {
            "name": f"init-{index}",
            "image": "registry.example/init",
            "resources": _resources(words),
        }
        if words.chance(0.5):
            container["restartPolicy"] = "Always"
        if words.chance(0.2):
            container["ports"] = [_port(words)]
        containers.append(container)
    pod["spec"]["initContainers"] = containers


def add_overhead(words: Words, pod: Manifest) -> None:
    pod["spec"]["runtimeClassName"] = RUNTIME_CLASS


def add_pod_level_resources(words: Words, pod: Manifest) -> None:
    """They must cover what the containers ask for together, so those ask for little."""
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        container["resources"] = {"requests": {"cpu": "50m"}} if words.chance(0.5) else {}
    requests = {"cpu": words.one_of(("300m", "1", "2")), "memory": words.one_of(("100Mi", "1Gi"))}
    if words.chance(0.3):
        # Not cpu, of which the containers ask for some.
        del requests["memory"]
    pod["spec"]["resources"] = {"requests": requests} if words.chance(0.6) else {"limits": requests}


def _resources(words: Words) -> dict[str, Any]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if words.chance(0.7):
        requests["cpu"] = words.one_of(("0", "1m", "100m", "250m", "750m", "1", "1500m", "2"))
    if words.chance(0.7):
        requests["memory"] = words.one_of(("0", "64Mi", "100M", "512Mi", "1Gi", "1500Mi"))
    if words.chance(0.1):
        requests["ephemeral-storage"] = words.one_of(("1Gi", "3Gi"))
    if words.chance(0.1):
        limits[GPU] = str(words.between(0, 2))
    if words.chance(0.05):
        limits[HUGE_PAGES] = "32Mi"
        requests.setdefault("cpu", "100m")
    if words.chance(0.2):
        # A limit alone is a request, too.
        limits["cpu"] = words.one_of(("2", "4"))
    return {"requests": requests, "limits": limits}


def add_host_ports(words: Words, pod: Manifest) -> None:
    ports = [_port(words) for _ in range(words.between(1, 2))]
    # The API server refuses doubles.
    different = {(port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP")): port for port in ports}
    pod["spec"]["containers"][0]["ports"] = list(different.values())


def _port(words: Words) -> dict[str, Any]:
    port: dict[str, Any] = {"containerPort": 80, "hostPort": words.one_of((80, 8080))}
    if words.chance(0.5):
        port["protocol"] = words.one_of(("TCP", "UDP", "SCTP"))
    if words.chance(0.5):
        port["hostIP"] = words.one_of(("0.0.0.0", "127.0.0.1", "10.0.0.1", "::"))
    return port


def add_host_network(words: Words, pod: Manifest) -> None:
    """Every port of such a pod is one of the host."""
    pod["spec"]["hostNetwork"] = True
    container = pod["spec"]["containers"][0]
    container["ports"] = [{"containerPort": words.one_of((80, 8080))}]
    for other in pod["spec"].get("initContainers", ()):
        other.pop("ports", None)


# -- pods among each other --------------------------------------------------------------------------------------------


def add_pod_affinity(words: Words, pod: Manifest) -> None:
    _affinity(pod)["podAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(words) for _ in range(_one_or_two(words))]
    }


def add_pod_anti_affinity(words: Words, pod: Manifest) -> None:
    _affinity(pod)["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(words) for _ in range(_one_or_two(words))]
    }


def add_preferred_pod_affinity(words: Words, pod: Manifest) -> None:
    for kind in words.some_of(("podAffinity", "podAntiAffinity")):
        _affinity(pod).setdefault(kind, {})["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": words.between(1, 100), "podAffinityTerm": _pod_term(words)} for _ in range(_one_or_two(words))
        ]


def add_spread(words: Words, pod: Manifest) -> None:
    constraints: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(_one_or_two(words)):
        constraint = _constraint(words)
        constraints[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint
    pod["spec"]["topologySpreadConstraints"] = list(constraints.values())


def add_preferred_spread(words: Words, pod: Manifest) -> None:
    constraints = {each["topologyKey"]: each for each in (_constraint(words) for _ in range(_one_or_two(words)))}
    required = [
        each
        for each in pod["spec"].get("topologySpreadConstraints", ())
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    for constraint in constraints.values():
        constraint["whenUnsatisfiable"] = "ScheduleAnyway"
        constraint.pop("minDomains", None)
    pod["spec"]["topologySpreadConstraints"] = [*required, *constraints.values()]


def _constraint(words: Words) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "topologyKey": words.topology_key(),
        "maxSkew": words.one_of((1, 1, 1, 2, 3)),
        "whenUnsatisfiable": "DoNotSchedule" if words.chance(0.85) else "ScheduleAnyway",
    }
    match words.random.choices(("missing", "empty", "any", "app"), weights=(2, 2, 4, 12))[0]:
        case "empty":  # matches the pod itself, and counts no pod
            constraint["labelSelector"] = {}
        case "any":
            constraint["labelSelector"] = _label_selector(words)
        case "app":  # all pods of the namespace, or there would hardly be any skew
            constraint["labelSelector"] = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    selector = constraint.get("labelSelector")
    if selector is not None and "matchExpressions" not in selector and words.chance(0.15):
        constraint["matchLabelKeys"] = ["revision"]
    if words.chance(0.3) and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = words.between(1, 4)
    if words.chance(0.4):
        constraint["nodeAffinityPolicy"] = words.one_of(("Honor", "Ignore"))
    if words.chance(0.4):
        constraint["nodeTaintsPolicy"] = words.one_of(("Honor", "Ignore"))
    return constraint


def _pod_term(words: Words) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": words.topology_key()}
    match words.random.choices(("missing", "empty", "any"), weights=(1, 1, 10))[0]:
        case "empty":  # every pod of the namespaces
            term["labelSelector"] = {}
        case "any":
            term["labelSelector"] = _label_selector(words)
    if "labelSelector" in term and words.chance(0.2) and "revision" not in str(term["labelSelector"]):
        term[words.one_of(("matchLabelKeys", "mismatchLabelKeys"))] = ["revision"]
    if words.chance(0.2):
        term["namespaces"] = words.some_of(tuple(NAMESPACES), 1, 2)
    if words.chance(0.2):
        selectors: tuple[dict[str, Any], ...] = (
            {},
            {"matchLabels": {"team": "a"}},
            {"matchExpressions": [{"key": "stage", "operator": "DoesNotExist"}]},
        )
        term["namespaceSelector"] = words.one_of(selectors)
    return term


def _label_selector(words: Words) -> dict[str, Any]:
    """With one condition or more."""
    selector: dict[str, Any] = {}
    if words.chance(0.85):
        selector["matchLabels"] = {"app": words.one_of(APPS)}
        if words.chance(0.6):
            selector["matchLabels"][CLUSTER_LABEL] = words.cluster
    if not selector or words.chance(0.25):
        selector["matchExpressions"] = [
            words.one_of(
                (
                    {"key": "tier", "operator": words.one_of(_PRESENCE)},
                    _among(words, "app", APPS),
                    _among(words, "tier", ("front", "back")),
                )
            )
        ]
    return selector


# -- volumes ----------------------------------------------------------------------------------------------------------


def add_bound_volumes(words: Words, pod: Manifest) -> None:
    _mention_claims(words, pod, words.some_of(BOUND_CLAIMS, 1, 2))


def add_open_volumes(words: Words, pod: Manifest) -> None:
    kind = words.random.choices(OPEN_CLAIMS, weights=(4, 4, 1, 1))[0]
    _mention_claims(words, pod, [kind])


def _mention_claims(words: Words, pod: Manifest, kinds: list[str]) -> None:
    namespace = pod["metadata"]["namespace"]
    words.claims.update((namespace, kind) for kind in kinds)
    volumes = [{"name": kind, "persistentVolumeClaim": {"claimName": claim_name(words, kind)}} for kind in kinds]
    pod["spec"].setdefault("volumes", []).extend(volumes)


def add_disks(words: Words, pod: Manifest) -> None:
    disks = [{"name": f"disk-{index}", **_disk(words)} for index in range(_one_or_two(words))]
    pod["spec"].setdefault("volumes", []).extend(disks)


def _disk(words: Words) -> dict[str, Any]:
    name, reading = words.one_of(("one", "two")), {"readOnly": words.chance(0.4)}
    match words.between(0, 3):
        case 0:
            return {"gcePersistentDisk": {"pdName": name, **reading}}
        case 1:
            return {"awsElasticBlockStore": {"volumeID": name, **reading}}
        case 2:
            portal = words.one_of(("10.0.0.1:3260", "10.0.0.2:3260"))
            return {"iscsi": {"targetPortal": portal, "iqn": f"iqn.2001-04.com.example:{name}", "lun": 0, **reading}}
        case _:
            pool = {"pool": words.one_of(("rbd", "fast"))} if words.chance(0.5) else {}
            return {"rbd": {"monitors": words.some_of(("m1", "m2", "m3"), 1, 2), "image": name, **pool, **reading}}


def _one_or_two(words: Words) -> int:
    return 2 if words.chance(0.25) else 1


def _affinity(pod: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"].setdefault("affinity", {})
    return found


# In the order in which they are added: what comes later looks at what is there.
FEATURES: Final = (
    Feature("requests", add_requests, 0.7, 0.9, 0.7),
    Feature("more containers", add_more_containers, 0.2, 0.15, 0.3),
    Feature("init containers and sidecars", add_init_containers, 0.2, 0.15, 0.2),
    Feature("overhead", add_overhead, 0.15, 0.1, 0.15),
    Feature("pod-level resources", add_pod_level_resources, 0.1, 0.1, 0.1),
    Feature("node selector", add_node_selector, 0.15, 0.0, 0.0),
    Feature("node affinity", add_node_affinity, 0.3, 0.0, 0.0),
    Feature("preferred node affinity", add_preferred_node_affinity, 0.1, 0.0, 0.6),
    Feature("tolerations", add_tolerations, 0.5, 0.0, 0.6),
    Feature("host ports", add_host_ports, 0.25, 0.2, 0.0),
    Feature("host network", add_host_network, 0.05, 0.05, 0.0),
    Feature("pod affinity", add_pod_affinity, 0.25, 0.1, 0.0),
    Feature("pod anti-affinity", add_pod_anti_affinity, 0.25, 0.25, 0.0),
    Feature("preferred pod affinity", add_preferred_pod_affinity, 0.1, 0.3, 0.5),
    Feature("topology spread", add_spread, 0.35, 0.1, 0.0),
    Feature("preferred topology spread", add_preferred_spread, 0.05, 0.1, 0.5),
    Feature("owners", add_owner, 0.1, 0.1, 0.5),
    Feature("bound volumes", add_bound_volumes, 0.15, 0.2),
    Feature("disks", add_disks, 0.15, 0.3),
    # Not where nodes are scored: there kube-scheduler would set about binding them.
    Feature("volumes to be bound", add_open_volumes, 0.1),
)
