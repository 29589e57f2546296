"""How the API server is protected from one tenant's requests, as docs/guide/operate.md has administrators do it.

Without it, a tenant with some dozens of requests under way delays all that the API server sends: watches show a pod
seconds after it was created, whichever client created it, and whatever schedules it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from volcano_py.api.names import SYSTEM_NAMESPACE

_API: Final = "flowcontrol.apiserver.k8s.io/v1"
_LEVEL: Final = "tenants"
_SHARES: Final = 1
"""Of 246 in all, for 600 requests that the API server handles at once by default: 3 of them, for two cores."""


def _flow(name: str, precedence: int, level: str, group: str) -> dict[str, Any]:
    every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    return {
        "apiVersion": _API,
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": level},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [{"subjects": [{"kind": "Group", "group": {"name": group}}], "resourceRules": [every]}],
        },
    }


PRIORITY: Final[Sequence[dict[str, Any]]] = (
    # As Kubernetes has it for its own scheduler.
    _flow("volcano-py", 800, "workload-high", f"system:serviceaccounts:{SYSTEM_NAMESPACE}"),
    _flow(_LEVEL, 8500, _LEVEL, "system:serviceaccounts"),
    {
        "apiVersion": _API,
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": _LEVEL},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": _SHARES,
                "borrowingLimitPercent": 0,
                "limitResponse": {
                    "type": "Queue",
                    "queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 200},
                },
            },
        },
    },
)
"""To be applied by an administrator."""
