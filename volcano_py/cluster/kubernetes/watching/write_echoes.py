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

    def get(self, key: str) -> ApiObject | None:
        """The object, if what is known of it is ahead of list and watch."""
        return self._objects.get(key)

    def items(self) -> list[tuple[str, str]]:
        """Key and UID of each of them."""
        return [(key, metadata_of(obj).uid) for key, obj in self._objects.items()]

    def passed(self, key: str, metadata: ObjectMeta) -> None:
        """A list or the watch has brought this version of the object with this key, or its deletion. An older version,
        also one of an earlier object of that name, changes nothing."""
        known = self._objects.get(key)
        if known is None:
            return
        if not 0 <= version_of(metadata.resource_version) < version_of(metadata_of(known).resource_version):
            del self._objects[key]

    def forget_until(self, version: str) -> None:
        """A list of this version is being read; it may have been started before some of the objects were created. What
        was read of them before it, and is not in it, is gone."""
        listed = version_of(version)
        self._objects = {
            key: obj
            for key, obj in self._objects.items()
            if 0 <= listed < version_of(metadata_of(obj).resource_version)
        }
