"""The rights of the daemon's accounts: those that the manifests grant, and those that requests have used."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import SERVICE_ACCOUNT
from volcano_py.local.workdir.layout import Settings

CONTROLLERS_ACCOUNT: Final = "volcano-controllers"
"""Of a daemon that runs controllers only, in the overlay `split-accounts`."""

ADMISSION_ACCOUNT: Final = "volcano-admission"
"""Of a process that answers webhooks only, in the same overlay."""

UI_ACCOUNT: Final = "volcano-py-ui"
"""Of the page for all users, in the overlay `ui`."""

_ACCOUNTS: Final = (SERVICE_ACCOUNT, CONTROLLERS_ACCOUNT, ADMISSION_ACCOUNT, UI_ACCOUNT)


def user_of(account: str) -> str:
    """The user that a ServiceAccount of ours is, as the API server calls it."""
    return f"system:serviceaccount:{SYSTEM_NAMESPACE}:{account}"


DAEMON_USERS: Final = tuple(map(user_of, _ACCOUNTS))
"""The users that our daemons run as, as the API server calls them."""


class Right(NamedTuple):
    """To do something with objects of a resource; `resource` includes the subresource, as in `pods/status`."""

    user: str
    verb: str
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.user.rpartition(':')[2]}: {self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


def granted_rights(manifests: Iterable[Mapping[str, Any]]) -> set[Right]:
    """What roles that are bound to the daemon's accounts allow, in whatever namespace and for whatever names."""
    objects = list(manifests)
    roles = {(each["kind"], each["metadata"]["name"]): each for each in objects if each["kind"].endswith("Role")}
    return {
        Right(user, verb, group, resource)
        for binding in objects
        if binding["kind"].endswith("RoleBinding")
        for user in _users(binding)
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used_rights(audit_log: Path) -> set[Right]:
    """What the daemon's accounts have asked for and were allowed, according to the API server's audit log."""
    return {_right(event) for event in _events(audit_log) if _decision(event) == "allow"}


def refused_requests(audit_log: Path) -> set[Right]:
    """What the daemon's accounts have asked for and were not allowed."""
    return {_right(event) for event in _events(audit_log) if _decision(event) == "forbid"}


def _decision(event: Mapping[str, Any]) -> str:
    return str((event.get("annotations") or {}).get("authorization.k8s.io/decision", ""))


def _events(audit_log: Path) -> Iterator[dict[str, Any]]:
    """Requests of the daemon's accounts for objects; a line that is still being written is left out."""
    with audit_log.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                return
            event = json.loads(line)
            if event["user"]["username"] in DAEMON_USERS and "objectRef" in event:
                yield event


def _right(event: Mapping[str, Any]) -> Right:
    about = event["objectRef"]
    resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
    return Right(event["user"]["username"], event["verb"], about.get("apiGroup", ""), resource)


def _users(binding: Mapping[str, Any]) -> Iterator[str]:
    for subject in binding["subjects"]:
        user = f"system:serviceaccount:{subject.get('namespace')}:{subject['name']}"
        if user in DAEMON_USERS:
            yield user


@asynccontextmanager
async def audited_control_plane(used_elsewhere: set[Right]) -> AsyncIterator[ControlPlane]:
    """A control plane whose audit log has every answer, whenever the server is killed. In the end, the rights that were
    used there are added to those that were `used_elsewhere`."""
    settings = Settings(audit_log=True, audited_users=DAEMON_USERS, apiserver_flags=("--audit-log-mode=blocking",))
    async with ControlPlane(settings=settings) as control_plane:
        yield control_plane
        used_elsewhere.update(used_rights(control_plane.audit_log))
