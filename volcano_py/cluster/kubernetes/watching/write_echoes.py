"""Objects as the server showed them in answer to a request, ahead of what lists and watches have brought."""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.watching.versions import version_of


class WriteEchoes:
    """Objects of one kind, each until list or watch has come as far."""

    def __init__(self) -> None:
        self._objects: dict[str, ApiObject] = {}

    def note(self, obj: ApiObject) -> None:
        """The object was read, and is newer than what is known."""
        self._objects[metadata_of(obj).key] = obj

    def passed(self, key: str, metadata: ObjectMeta) -> None:
        """The watch has brought this version of what has this key, or its end; an earlier one, of an earlier object of
        that name, too, says nothing of what is known."""
        known = self._objects.get(key)
        if known is None:
            return
        if not 0 <= version_of(metadata.resource_version) < version_of(metadata_of(known).resource_version):
            del self._objects[key]

    def with_newest(self, objects: list[ApiObject], version: str) -> list[ApiObject]:
        """A list of this version, which may have been begun before something was read or made, with the newer version
        of each object. What was known before the list, and is not in it, is gone."""
        listed = version_of(version)
        self._objects = {
            key: obj
            for key, obj in self._objects.items()
            if 0 <= listed < version_of(metadata_of(obj).resource_version)
        }
        if not self._objects:
            return objects
        return list({**{metadata_of(obj).key: obj for obj in objects}, **self._objects}.values())
