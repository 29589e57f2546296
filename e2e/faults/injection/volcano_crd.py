"""The HyperNode CRD as Volcano installs it, in short: the same names, fields and status, and fewer checks than ours.

What differs from ours on purpose: `tier` is required and has no default, `members` and the selector of a member are not
required, what is in a member is checked by Volcano's webhook alone, and Tier is printed as text.
"""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = {"type": "string"}
_EXPRESSION: Final = {
    "type": "object",
    "required": ["key", "operator"],
    "properties": {"key": _TEXT, "operator": _TEXT, "values": {"type": "array", "items": _TEXT}},
}
_LABEL_MATCH: Final = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {"type": "array", "items": _EXPRESSION},
    },
}
_SELECTOR: Final = {
    "type": "object",
    "properties": {
        "exactMatch": {"type": "object", "required": ["name"], "properties": {"name": _TEXT}},
        "regexMatch": {"type": "object", "required": ["pattern"], "properties": {"pattern": _TEXT}},
        "labelMatch": _LABEL_MATCH,
    },
}
_MEMBER: Final = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string", "enum": ["Node", "HyperNode"]}, "selector": _SELECTOR},
}
_CONDITION: Final = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "type": _TEXT,
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string", "minLength": 1},
        "message": _TEXT,
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_SPEC: Final = {
    "type": "object",
    "required": ["tier"],
    "properties": {
        "tier": {"type": "integer", "minimum": 0},
        "tierName": {"type": "string", "maxLength": 253},
        "members": {"type": "array", "minItems": 1, "items": _MEMBER},
    },
}
_STATUS: Final = {
    "type": "object",
    "properties": {
        "nodeCount": {"type": "integer", "format": "int64", "minimum": 0},
        "conditions": {"type": "array", "items": _CONDITION},
    },
}


def volcano_crd() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    schema = {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Tier", "type": "string", "jsonPath": ".spec.tier"}],
        "schema": {"openAPIV3Schema": schema},
    }
    kinds = {"kind": "HyperNode", "listKind": "HyperNodeList", "plural": "hypernodes", "singular": "hypernode"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "hypernodes.topology.volcano.sh"},
        "spec": {
            "group": "topology.volcano.sh",
            "scope": "Cluster",
            "names": {**kinds, "shortNames": ["hn"]},
            "versions": [version],
        },
    }
