"""`--anonymize`: no name is left, and decisions are the same but for names."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.unit.capture.clusters import LISTS
from volcano_py.api.devices.claims import DeviceClass
from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.objects import Pod, metadata_of
from volcano_py.capture.anonymous import anonymized
from volcano_py.capture.file import of_bytes, written
from volcano_py.capture.manifests import of_manifests
from volcano_py.capture.model import Capture, Unread
from volcano_py.capture.start import configuration_of, simulation_of
from volcano_py.cli.main import main
from volcano_py.cluster.manifests import Document, read_paths, read_text
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import SimulationResult

PROJECT = Path(__file__).parents[3]

CLUSTER = """
kind: Node
metadata:
  name: acme-gpu-1
  labels: {acme.com/pool: tesla, topology.kubernetes.io/zone: eu-west, kubernetes.io/hostname: acme-gpu-1}
spec: {taints: [{key: acme.com/team, value: rocket, effect: NoSchedule}]}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110", acme.com/gpu: "2"}}
---
kind: Node
metadata:
  name: acme-cpu-10
  labels: {acme.com/pool: plain, topology.kubernetes.io/zone: eu-east, kubernetes.io/hostname: acme-cpu-10}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
kind: Queue
metadata: {name: rocket.science}
spec: {weight: 3, capability: {cpu: "6"}}
---
kind: PriorityClass
metadata: {name: launch-day}
value: 500
---
kind: Namespace
metadata: {name: rocket}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: engine-test, namespace: rocket}
spec:
  schedulerName: volcano
  minAvailable: 2
  queue: rocket.science
  priorityClassName: launch-day
  tasks:
  - name: burner
    replicas: 2
    template:
      metadata: {labels: {acme.com/part: nozzle}}
      spec:
        tolerations: [{key: acme.com/team, operator: Equal, value: rocket}]
        affinity:
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {acme.com/part: nozzle}}}
        containers: [{name: secret-sauce, image: "registry.acme.com/sauce:1.2", resources: {requests: {cpu: "2"}}}]
---
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: payload, namespace: rocket}
spec: {minMember: 1, queue: rocket.science}
status: {phase: Inqueue}
---
kind: Pod
metadata: {name: payload-0, namespace: rocket, annotations: {scheduling.k8s.io/group-name: payload}}
spec:
  schedulerName: volcano
  nodeSelector: {acme.com/pool: plain}
  containers: [{name: main, resources: {requests: {cpu: "2"}}}]
---
kind: Pod
metadata: {name: too-large-7, namespace: rocket, annotations: {scheduling.volcano.sh/queue-name: rocket.science}}
spec:
  schedulerName: volcano
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [acme-gpu-1]}]}]
  containers: [{name: main, resources: {requests: {cpu: "1"}}}]
"""

NAMES = (
    "acme",
    "gpu-1",
    "tesla",
    "rocket",
    "science",
    "launch",
    "engine",
    "burner",
    "nozzle",
    "sauce",
    "payload",
    "plain",
)


def decided(capture: Capture) -> SimulationResult:
    registry = builtin_registry()
    return simulation_of(capture, configuration_of(capture, registry), registry).run()


def in_other_names(capture: Capture, other: Capture) -> dict[str, str]:
    """Name → other name, of all objects; the items of both are in one order."""
    pairs = list(zip(capture.items, other.items, strict=True))
    return {metadata_of(old).key: metadata_of(new).key for (_, old), (_, new) in pairs}


def test_no_name_is_left_but_amounts_and_well_known_words_are() -> None:
    text = gzip.decompress(written(anonymized(of_manifests(read_text(CLUSTER))))).decode()
    objects = text.partition('"objects":')[2]

    assert [name for name in NAMES if name in objects and name != "acme"] == []
    for kept in (
        "topology.kubernetes.io/zone",
        '"16Gi"',
        "NoSchedule",
        "In",
    ):
        assert kept in objects


@pytest.mark.parametrize("source", ["cluster", "examples/sample", "examples/jobs"])
def test_decisions_are_the_same_but_for_names(source: str) -> None:
    documents = read_text(CLUSTER) if source == "cluster" else read_paths([PROJECT / source])
    capture = of_manifests(documents)
    other = anonymized(capture)
    names = in_other_names(capture, other)

    before, after = decided(capture), decided(other)

    assert before.binds, "something is placed"
    assert len(after.binds) == len(before.binds)
    assert len(after.unschedulable) == len(before.unschedulable)
    known = {pod: node for pod, node in before.binds.items() if pod in names}
    assert {names[pod]: names[node] for pod, node in known.items()} == {
        pod: node for pod, node in after.binds.items() if pod in names.values()
    }
    assert sorted(names[node] for node in before.binds.values()) == sorted(after.binds.values())
    assert [each.partition(":")[0] for _, each in sorted(before.unschedulable.items())] == [
        each.partition(":")[0] for _, each in sorted(after.unschedulable.items())
    ]
    assert sorted(group["phase"] for group in before.pod_groups.values()) == sorted(
        group["phase"] for group in after.pod_groups.values()
    )


CONTEST = """
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 1Gi, pods: "110"}}
---
kind: PodGroup
metadata: {name: early, namespace: team, creationTimestamp: "2026-11-21T08:00:00Z"}
spec: {minMember: 1}
---
kind: Pod
metadata: {name: early-0, namespace: team, annotations: {scheduling.k8s.io/group-name: early}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
---
kind: PodGroup
metadata:
  name: due
  namespace: team
  creationTimestamp: "2026-11-21T09:00:00Z"
  annotations: {volcano.sh/sla-waiting-time: WAITING, volcano.sh/running-estimate: 2h0m0.5s}
spec: {minMember: 1}
---
kind: Pod
metadata:
  name: due-0
  namespace: team
  annotations: {scheduling.k8s.io/group-name: due}
  labels: {volcano.sh/cooldown-time: 1m30s}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
"""
SLA = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: sla}, {name: gang}, {name: predicates}]
"""


@pytest.mark.parametrize("waiting", ["5m", "1h30m", "1h30m0s", "1.5h"])
def test_durations_stay_and_decide_the_same(waiting: str) -> None:
    capture = msgspec.structs.replace(of_manifests(read_text(CONTEST.replace("WAITING", waiting))), configuration=SLA)
    other = anonymized(capture)

    assert decided(capture).binds == {"team/due-0": "n1"}, "the time that it may wait puts it first"
    names = in_other_names(capture, other)
    assert decided(other).binds == {names["team/due-0"]: names["n1"]}
    marks = [{**metadata_of(obj).annotations, **metadata_of(obj).labels} for _, obj in other.items]
    kept = {key: value for each in marks for key, value in each.items() if key.startswith("volcano.sh/")}
    assert sorted(kept.values()) == sorted([waiting, "2h0m0.5s", "1m30s"])


def test_the_same_word_is_the_same_other_word_everywhere() -> None:
    other = anonymized(of_manifests(read_text(CLUSTER)))
    pods = {pod.metadata.name: pod for _, pod in other.items if isinstance(pod, Pod)}
    queue, job = (
        next(metadata_of(obj).name for kind, obj in other.items if kind == of) for of in ("Queue", "VolcanoJob")
    )
    team = next(metadata_of(obj).namespace for kind, obj in other.items if kind == "VolcanoJob")

    assert {pod.metadata.namespace for pod in pods.values()} == {team}
    assert queue.partition(".")[0] == team
    assert {name.rpartition("-")[2] for name in pods} == {"0", "7"}
    assert job.count("-") == 1


def test_what_the_configuration_names_stays() -> None:
    capture = Capture(
        taken=1.0,
        items=of_manifests(read_text(CLUSTER)).items,
        configuration="actions: allocate\n# tesla\n",
        default_queue="rocket.science",
        leader="acme-host_1",
        unread=(Unread("Pod rocket/payload-0", "rocket is wrong", "it counts as absent"),),
    )
    other = anonymized(capture)

    assert "tesla" in repr(other.items)
    assert other.configuration == capture.configuration
    assert other.default_queue in {metadata_of(obj).name for kind, obj in other.items if kind == "Queue"}
    assert "acme" not in other.leader
    assert other.unread == (Unread("Pod", "", "it counts as absent"),)


def test_anonymizing_twice_gives_the_same_file() -> None:
    capture = of_manifests([Document("f", 1, {"kind": "Pod", **each}) for each in LISTS["Pod"]])

    assert written(anonymized(capture)) == written(anonymized(capture))


DEVICES = """
kind: DeviceClass
metadata: {name: acme-tesla}
spec: {selectors: [{cel: {expression: 'device.attributes["gpu.acme.com"].model.startsWith("tesla")'}}]}
---
kind: ResourceSlice
metadata: {name: acme-gpu-1}
spec:
  driver: gpu.acme.com
  nodeName: acme-gpu-1
  pool: {name: acme-gpu-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: rocket-0, attributes: {model: {string: tesla-v2}}, capacity: {memory: {value: 40Gi}}}
---
kind: ResourceSlice
metadata: {name: fabric}
spec:
  driver: gpu.acme.com
  pool: {name: fabric, generation: 1, resourceSliceCount: 1}
  nodeSelector:
    nodeSelectorTerms: [{matchExpressions: [{key: acme.com/pool, operator: In, values: [tesla]}]}]
  devices: [{name: engine-0}]
---
kind: ResourceClaimTemplate
metadata: {name: burner, namespace: rocket}
spec: {spec: {devices: {requests: [{name: engine, exactly: {deviceClassName: acme-tesla, allocationMode: All}}]}}}
---
kind: ResourceClaim
metadata: {name: burner, namespace: rocket}
spec:
  devices:
    requests: [{name: engine, exactly: {deviceClassName: acme-tesla, allocationMode: All}}]
    constraints: [{requests: [engine], matchAttribute: gpu.acme.com/model}]
status:
  allocation: {devices: {results: [{request: engine, driver: gpu.acme.com, pool: acme-gpu-1, device: rocket-0}]}}
  reservedFor: [{resource: pods, name: payload-0, uid: pod-rocket-payload-0}]
"""


def test_claims_to_devices_still_belong_to_them() -> None:
    capture = of_manifests(read_text(DEVICES))
    other = anonymized(capture)
    names = in_other_names(capture, other)
    found: dict[str, Any] = {kind: obj for kind, obj in other.items if kind != "ResourceSlice"}
    card, fabric = [obj.spec for kind, obj in other.items if isinstance(obj, ResourceSlice)]
    claim, selectors = found["ResourceClaim"], found["DeviceClass"].spec.selectors
    (asked,), (constraint,) = claim.spec.devices.requests, claim.spec.devices.constraints
    (result,) = claim.status.allocation.devices.results

    assert selectors[0].cel.expression == 'device.attributes["gpu.acme.com"].model.startsWith("tesla")'
    assert (card.driver, result.driver) == ("gpu.acme.com", "gpu.acme.com")
    assert card.devices[0].attributes["model"].string == "tesla-v2"
    assert asked.exactly.device_class_name == names["acme-tesla"] != "acme-tesla"
    assert (asked.exactly.allocation_mode, constraint.match_attribute) == ("All", "gpu.acme.com/model")
    assert constraint.requests == [asked.name] == [result.request] != ["engine"]
    assert (result.pool, result.device) == (card.pool.name, card.devices[0].name)
    assert card.node_name == card.pool.name
    assert fabric.node_selector is not None
    assert fabric.node_selector.node_selector_terms[0].match_expressions[0].values != ["tesla"]
    assert found["ResourceClaimTemplate"].spec.spec.devices.requests == [asked]
    assert of_bytes(written(other), "file").items == other.items


NUMA = """
kind: Numatopology
metadata: {name: acme-node-1}
spec:
  policies: {CPUManagerPolicy: static, TopologyManagerPolicy: single-numa-node}
  resReserved: {cpu: "1"}
  numares: {cpu: {allocatable: "0-2", capacity: 4}}
  cpuDetail: {"0": {}, "1": {numa: 1}, "2": {numa: 1}, "3": {numa: 1}}
  podAllocations: [{namespace: rocket, name: payload-0, containerAllocations: [{name: main, allocations: {cpu: "3"}}]}]
---
kind: Node
metadata: {name: acme-node-1}
---
kind: Pod
metadata: {name: payload-0, namespace: rocket}
spec: {nodeName: acme-node-1, containers: [{name: main}]}
"""


def test_cpus_still_belong_to_their_node_and_pods() -> None:
    other = anonymized(of_manifests(read_text(NUMA)))
    found: dict[str, Any] = dict(other.items)
    numa, pod, spec = found["Numatopology"], found["Pod"], found["Numatopology"].spec
    assert numa.metadata.name == found["Node"].metadata.name != "acme-node-1"
    assert spec.policies == {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"}
    assert (spec.res_reserved, spec.numares["cpu"].allocatable) == ({"cpu": "1"}, "0-2")
    (shown,) = spec.pod_allocations
    assert (shown.namespace, shown.name) == (pod.metadata.namespace, pod.metadata.name) != ("rocket", "payload-0")
    assert shown.container_allocations[0].allocations == {"cpu": "3"}


OFFERS = """
kind: DeviceClass
metadata: {name: acme-tesla}
spec: {extendedResourceName: acme.com/rocket}
---
kind: DeviceClass
metadata: {name: acme-engine}
---
kind: Pod
metadata: {name: payload-0, namespace: rocket, uid: "1"}
spec:
  containers:
  - name: engine
    resources: {requests: {acme.com/rocket: "1", deviceclass.resource.kubernetes.io/acme-engine: "1"}}
status:
  extendedResourceClaimStatus:
    resourceClaimName: payload-0-extended-resources-x7k2p
    requestMappings: [{containerName: engine, resourceName: acme.com/rocket, requestName: container-0-request-0}]
---
kind: ResourceClaim
metadata:
  name: payload-0-extended-resources-x7k2p
  namespace: rocket
  annotations: {resource.kubernetes.io/extended-resource-claim: "true"}
"""


def test_device_classes_still_offer_the_resources_that_pods_ask_for() -> None:
    other = anonymized(of_manifests(read_text(OFFERS)))
    pod = next(obj for obj in (obj for _, obj in other.items) if isinstance(obj, Pod))
    classes = {obj.metadata.name: obj for _, obj in other.items if isinstance(obj, DeviceClass)}
    (claim,) = [obj for kind, obj in other.items if kind == "ResourceClaim"]

    assert set(pod.spec.containers[0].resources.requests) == {
        "acme.com/rocket",
        "deviceclass.resource.kubernetes.io/acme-engine",
    }
    assert "acme-engine" in classes
    assert [each.spec.extended_resource_name for each in classes.values()].count("acme.com/rocket") == 1
    status = pod.status.extended_resource_claim_status
    assert status is not None
    assert status.resource_claim_name == metadata_of(claim).name != "payload-0-extended-resources-x7k2p"
    assert status.request_mappings[0].resource_name == "acme.com/rocket"
    assert metadata_of(claim).annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}


def test_the_command_line_writes_it(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    path = tmp_path / "other.capture"

    result = CliRunner().invoke(main, ["capture", "--anonymize", "--from", str(tmp_path / "cluster.yaml"), str(path)])

    assert result.exit_code == 0, result.output
    assert path.read_bytes() == written(anonymized(of_manifests(read_text(CLUSTER))))
