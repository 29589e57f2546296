"""Objects seen in answers to requests, ahead of what lists and watches have brought."""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.watching.versions import version_of


class WriteEchoes:
    """Objects of one kind, each kept until a list or the watch has reached its version."""

    def __init__(self) -> None:
        self._objects: dict[str, ApiObject] = {}

    def note(self, obj: ApiObject) -> None:
        """The object was read, and is newer than what is known."""
        self._objects[metadata_of(obj).key] = obj

    def has(self, key: str) -> bool:
        """Whether what is known of this object is ahead of list and watch."""
        return key in self._objects

    def passed(self, key: str, metadata: ObjectMeta) -> None:
        """The watch has brought this version of the object with this key, or its deletion. An older version, also one
        of an earlier object of that name, changes nothing."""
        known = self._objects.get(key)
        if known is None:
            return
        if not 0 <= version_of(metadata.resource_version) < version_of(metadata_of(known).resource_version):
            del self._objects[key]

    def with_newest(self, objects: list[ApiObject], version: str) -> list[ApiObject]:
        """`objects`, a list of this version, with each object that is known in a newer version. The list may have been
        started before that object was read or created. What was known before the list, and is not in it, is gone."""
        listed = version_of(version)
        self._objects = {
            key: obj
            for key, obj in self._objects.items()
            if 0 <= listed < version_of(metadata_of(obj).resource_version)
        }
        if not self._objects:
            return objects
        return list({**{metadata_of(obj).key: obj for obj in objects}, **self._objects}.values())
