"""The actions of a plan. It is safe to repeat an action, or to do it only in part."""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import JobStatus
from volcano_py.jobs.plugins.plugin import PluginObject


class WriteStatus(msgspec.Struct, frozen=True):
    """`decides`: the phase changes, on the strength of what was seen; otherwise only counts follow the pods."""

    status: JobStatus
    decides: bool


class Prepare(msgspec.Struct, frozen=True):
    """What has to exist before the first pod: objects of plugins, claims to create, and claims that must exist."""

    objects: tuple[PluginObject, ...]
    claims: tuple[JsonObject, ...] = ()
    awaited_claims: tuple[str, ...] = ()


class CreateGroup(msgspec.Struct, frozen=True):
    body: JsonObject


class UpdateGroup(msgspec.Struct, frozen=True):
    name: str
    uid: str
    changes: JsonObject


class DeleteGroup(msgspec.Struct, frozen=True):
    name: str
    uid: str


class CreatePods(msgspec.Struct, frozen=True):
    bodies: tuple[JsonObject, ...]


class DeletePods(msgspec.Struct, frozen=True):
    """(name, UID) of each, and why."""

    pods: tuple[tuple[str, str], ...]
    why: str


class DeleteJob(msgspec.Struct, frozen=True):
    """Its time to live after its end is over."""


Action = WriteStatus | Prepare | CreateGroup | UpdateGroup | DeleteGroup | CreatePods | DeletePods | DeleteJob

CREATING: Final = (Prepare, CreateGroup, CreatePods)
"""Actions that create objects, which the API server may refuse."""
