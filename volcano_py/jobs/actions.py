"""What a plan consists of. Each can be repeated, and done in part, without harm."""

from __future__ import annotations

from dataclasses import dataclass

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import JobStatus
from volcano_py.jobs.plugins.plugin import KeptObject


@dataclass(frozen=True, slots=True)
class Tell:
    """An event about the job; `type` is Normal or Warning."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """`decides`: the phase changes, on the strength of what was seen; otherwise only counts follow the pods."""

    status: JobStatus
    decides: bool


@dataclass(frozen=True, slots=True)
class Prepare:
    """What has to exist before the first pod: objects of plugins, claims that are made, claims that must be there."""

    objects: tuple[KeptObject, ...]
    claims: tuple[JsonObject, ...]
    awaited_claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateGroup:
    body: JsonObject


@dataclass(frozen=True, slots=True)
class UpdateGroup:
    name: str
    uid: str
    changes: JsonObject


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class CreatePods:
    bodies: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class DeletePods:
    """(name, UID) of each, and why."""

    pods: tuple[tuple[str, str], ...]
    why: str


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Its time to live after its end is over."""


Action = WriteStatus | Prepare | CreateGroup | UpdateGroup | DeleteGroup | CreatePods | DeletePods | DeleteJob
