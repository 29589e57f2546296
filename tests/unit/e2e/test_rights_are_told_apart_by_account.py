"""What the end-to-end tests read from manifests and from the audit log: who has, has used, and was refused what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.harness.install import SERVICE_ACCOUNT
from e2e.harness.rights import (
    CONTROLLERS_ACCOUNT,
    Right,
    granted_rights,
    refused_requests,
    used_rights,
    user_of,
)

SCHEDULER, CONTROLLERS = user_of(SERVICE_ACCOUNT), user_of(CONTROLLERS_ACCOUNT)


def role(name: str, *verbs: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": list(verbs)}]
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def binding(of: str, *accounts: str, namespace: str = "volcano-system") -> dict[str, Any]:
    subjects = [{"kind": "ServiceAccount", "name": each, "namespace": namespace} for each in accounts]
    about = {"kind": "ClusterRole", "name": of}
    return {"kind": "ClusterRoleBinding", "metadata": {"name": of}, "roleRef": about, "subjects": subjects}


def request(user: str, verb: str, resource: str, decision: str = "allow", subresource: str = "") -> str:
    about = {"resource": resource, "subresource": subresource}
    annotations = {"authorization.k8s.io/decision": decision}
    event = {"user": {"username": user}, "verb": verb, "objectRef": about, "annotations": annotations}
    return json.dumps(event) + "\n"


def test_a_role_is_granted_to_the_accounts_of_its_binding_and_no_others() -> None:
    manifests = [
        role("a", "get"),
        role("b", "list"),
        binding("a", SERVICE_ACCOUNT, "somebody"),
        binding("b", CONTROLLERS_ACCOUNT),
        {"kind": "Deployment", "metadata": {"name": "a"}},
    ]
    assert granted_rights(manifests) == {
        Right(SCHEDULER, "get", "", "pods"),
        Right(SCHEDULER, "get", "", "pods/status"),
        Right(CONTROLLERS, "list", "", "pods"),
        Right(CONTROLLERS, "list", "", "pods/status"),
    }
    assert granted_rights([role("a", "get"), binding("a", SERVICE_ACCOUNT, namespace="other")]) == set()


def test_what_one_account_has_used_another_has_not(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(
        request(SCHEDULER, "patch", "pods", subresource="status")
        + request(CONTROLLERS, "create", "pods")
        + request(SCHEDULER, "create", "pods", decision="forbid")
        + request("system:admin", "delete", "pods")
        + request(SCHEDULER, "delete", "pods").rstrip()  # is being written
    )
    assert used_rights(log) == {
        Right(SCHEDULER, "patch", "", "pods/status"),
        Right(CONTROLLERS, "create", "", "pods"),
    }
    assert list(map(str, refused_requests(log))) == ["volcano-scheduler: create pods"]
