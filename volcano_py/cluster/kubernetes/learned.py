"""What the server has shown of single objects in answer to a request, ahead of what lists and watches have brought."""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.versions import is_older


class Learned:
    """Objects of one kind, each until list or watch has come as far."""

    def __init__(self) -> None:
        self._objects: dict[str, ApiObject] = {}

    def note(self, obj: ApiObject) -> None:
        """The object was read, and is newer than what is known."""
        self._objects[metadata_of(obj).key] = obj

    def passed(self, key: str, metadata: ObjectMeta) -> None:
        """The watch has brought this version of the object with this key, or its end."""
        known = self._objects.get(key)
        if known is not None and not is_older(metadata, metadata_of(known)):
            del self._objects[key]

    def with_newest(self, objects: list[ApiObject]) -> list[ApiObject]:
        """A list, which may have been begun before something was read, with the newer version of each object. What it
        does not have is gone."""
        if not self._objects:
            return objects
        learned, self._objects = self._objects, {}
        newest = []
        for obj in objects:
            metadata = metadata_of(obj)
            known = learned.get(metadata.key)
            if known is not None and is_older(metadata, metadata_of(known)):
                self._objects[metadata.key] = obj = known  # noqa: PLW2901 - this one is in the list's place
            newest.append(obj)
        return newest
