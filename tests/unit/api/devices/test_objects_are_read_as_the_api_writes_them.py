"""Objects of `resource.k8s.io/v1` as an API server sends them."""

from __future__ import annotations

import msgspec

from volcano_py.api.devices.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.objects import Pod

CLAIM = b"""{"metadata": {"name": "c", "namespace": "team", "uid": "u1", "resourceVersion": "7", "finalizers":
["resource.kubernetes.io/delete-protection"]}, "spec": {"devices": {"requests": [{"name": "gpu", "exactly":
{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2, "adminAccess": true, "selectors": [{"cel":
{"expression": "true"}}], "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}]}}, {"name": "any",
"firstAvailable": [{"name": "big", "deviceClassName": "gpu", "allocationMode": "All"}]}], "constraints": [{"requests":
["gpu"], "matchAttribute": "d/model"}], "config": [{"requests": ["gpu"], "opaque": {"driver": "d", "parameters": {"a":
{"b": [1]}}}}]}}, "status": {"allocation": {"devices": {"results": [{"request": "gpu", "driver": "d", "pool": "n1",
"device": "d0", "adminAccess": null}], "config": [{"source": "FromClass", "requests": ["gpu"], "opaque": {"driver": "d",
"parameters": {}}}]}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
"values": ["n1"]}]}]}, "allocationTimestamp": "2026-11-02T10:00:00Z"}, "reservedFor": [{"resource": "pods", "name": "p",
"uid": "u2"}], "devices": [{"driver": "d", "pool": "n1", "device": "d0", "data": {}}]}}"""

SLICE = b"""{"metadata": {"name": "s"}, "spec": {"driver": "d", "nodeName": "n1", "pool": {"name": "n1", "generation":
3, "resourceSliceCount": 2}, "devices": [{"name": "d0", "attributes": {"model": {"string": "A"}, "n": {"int": 4}, "b":
{"bool": false}, "v": {"version": "1.2.3"}}, "capacity": {"memory": {"value": "40Gi"}}, "taints": [{"key": "k",
"effect": "NoSchedule", "timeAdded": "2026-11-02T10:00:00Z"}]}]}}"""


def test_a_claim() -> None:
    claim = msgspec.json.decode(CLAIM, type=ResourceClaim)
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert (exactly.count, exactly.admin_access, exactly.tolerations[0].effect) == (2, True, "NoExecute")
    (alternative,) = claim.spec.devices.requests[1].first_available
    assert (alternative.name, alternative.allocation_mode, alternative.count) == ("big", "All", 1)
    allocation = claim.status.allocation
    assert allocation is not None
    assert allocation.devices.results[0].admin_access is None
    assert allocation.devices.config[0].opaque == {"driver": "d", "parameters": {}}
    assert claim.status.reserved_for[0].uid == "u2"
    opaque = claim.spec.devices.config[0].opaque
    assert opaque is not None
    assert opaque.parameters == {"a": {"b": [1]}}


def test_a_slice() -> None:
    (found,) = msgspec.json.decode(SLICE, type=ResourceSlice).spec.devices
    attributes = found.attributes
    assert (attributes["model"].string, attributes["n"].int_, attributes["b"].bool_) == ("A", 4, False)
    assert (attributes["v"].version, found.capacity["memory"].value, found.taints[0].key) == ("1.2.3", "40Gi", "k")


def test_a_class_and_a_template() -> None:
    device_class = msgspec.json.decode(
        b"""{"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "x"}}], "config": [{"opaque":
        {"driver": "d", "parameters": {"a": 1}}}], "extendedResourceName": "example.com/gpu"}}""",
        type=DeviceClass,
    )
    assert device_class.spec.selectors[0].cel is not None
    assert device_class.spec.config == [{"opaque": {"driver": "d", "parameters": {"a": 1}}}]
    template = msgspec.json.decode(
        b"""{"metadata": {"name": "t"}, "spec": {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests":
        [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}}""",
        type=ResourceClaimTemplate,
    )
    assert template.spec.spec.devices.requests[0].name == "gpu"


def test_a_pod_knows_its_generated_claims() -> None:
    pod = msgspec.json.decode(
        b"""{"metadata": {"name": "p"}, "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]},
        "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-1"}, {"name": "none"}]}}""",
        type=Pod,
    )
    assert [each.resource_claim_name for each in pod.status.resource_claim_statuses] == ["p-gpu-1", None]
