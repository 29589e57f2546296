"""Volcano Jobs grouped by what created them: CronJobs and JobFlows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from volcano_py.api.objects import ObjectMeta
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.jobs.model import VolcanoJob

KeyOf = Callable[[VolcanoJob], str]
"""What a Job belongs to (namespace/name), or "" if it belongs to nothing of that kind."""

_SOME_TIME: Final = datetime.fromtimestamp(0, UTC)


class JobsByOwner:
    """Jobs grouped by a key; `changed` is called with the key of a group in which something has changed."""

    def __init__(self, key_of: KeyOf, changed: Callable[[str], None]) -> None:
        self._key_of, self._changed = key_of, changed
        self._groups: dict[str, dict[str, VolcanoJob]] = {}  # key → its Jobs by namespace/name
        self._key: dict[str, str] = {}  # Job → key

    def of(self, key: str) -> list[VolcanoJob]:
        """The Jobs of a group."""
        return list(self._groups.get(key, {}).values())

    def replace(self, jobs: Iterable[VolcanoJob]) -> None:
        """These are all there are."""
        jobs = list(jobs)
        keep = {job.metadata.key for job in jobs}
        for name in [name for name in self._key if name not in keep]:
            self.forget(self._groups[self._key[name]][name].metadata)
        for job in jobs:
            self.note(job)

    def note(self, job: VolcanoJob) -> None:
        """The Job is as given, unless something newer is known."""
        metadata, key = job.metadata, self._key_of(job)
        name = metadata.key
        known = self._groups.get(self._key.get(name, ""), {}).get(name)
        if known is not None and is_older(metadata, known.metadata):
            return
        if known is not None and (self._key[name] != key or known.metadata.uid != metadata.uid):
            self._remove(name)
        if not key:
            return
        self._groups.setdefault(key, {})[name] = job
        self._key[name] = key
        if known != job:
            self._changed(key)

    def note_deleting(self, job: VolcanoJob) -> None:
        """The Job is deleted, by us or as an answer says; until an informer says so it counts as being deleted."""
        known = self._groups.get(self._key.get(job.metadata.key, ""), {}).get(job.metadata.key)
        if known is not None and known.metadata.uid == job.metadata.uid:
            when = known.metadata.deletion_timestamp or _SOME_TIME
            marked = msgspec.structs.replace(known.metadata, deletion_timestamp=when)
            group = self._groups[self._key[job.metadata.key]]
            group[job.metadata.key] = msgspec.structs.replace(known, metadata=marked)

    def forget(self, metadata: ObjectMeta) -> None:
        """The Job with this UID is gone."""
        name = metadata.key
        known = self._groups.get(self._key.get(name, ""), {}).get(name)
        if known is not None and known.metadata.uid == metadata.uid:
            self._remove(name)

    def _remove(self, name: str) -> None:
        key = self._key.pop(name)
        del self._groups[key][name]
        if not self._groups[key]:
            del self._groups[key]
        self._changed(key)


def controller_key(kind: str, group: str) -> KeyOf:
    """Groups Jobs by their controller, if it is of this kind and API group."""

    def key_of(job: VolcanoJob) -> str:
        owner = job.metadata.controller
        if owner is None or owner.kind != kind or owner.group != group:
            return ""
        return f"{job.metadata.namespace}/{owner.name}"

    return key_of
