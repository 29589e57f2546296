"""Which version of an object is newer: on servers with etcd, resource versions are comparable integers."""

from __future__ import annotations

from collections.abc import ItemsView

from volcano_py.api.objects import ObjectMeta

# Deleted objects whose version is remembered, so that a late event does not bring them back. An event that is late by
# more than as many deletions meets the version of the list at least.
_TOMBSTONES = 4096


def version_of(text: str) -> int:
    """The number, or -1 for a version that is none: then nothing can be said about its age."""
    return int(text) if text.isascii() and text.isdigit() else -1


def is_older(one: ObjectMeta, known: ObjectMeta) -> bool:
    """Whether this is an earlier version of the object that is known; never true of another object of its name."""
    return one.uid == known.uid and 0 <= version_of(one.resource_version) < version_of(known.resource_version)


class Versions:
    """UID and version of every object that was handed on, by key (namespace/name)."""

    def __init__(self) -> None:
        self.stale = 0
        """How many events were dropped because they were not new."""
        self._uids: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._list_version = -1

    def __len__(self) -> int:
        return len(self._uids)

    def uid_of(self, key: str) -> str | None:
        """UID of the object that has this key, None when there is none."""
        return self._uids.get(key)

    def items(self) -> ItemsView[str, str]:
        """Key and UID of every object."""
        return self._uids.items()

    def has(self, key: str, metadata: ObjectMeta) -> bool:
        """Whether just this version of the object was handed on. A server that was restored may be back at an older
        one, which is another."""
        if self._uids.get(key) != metadata.uid:
            return False
        return self._versions[key] == version_of(metadata.resource_version) >= 0

    def listed(self, version: str) -> None:
        """All objects of a list of this version have been noted, and what is not in it has been dropped."""
        self._list_version, self._deleted = version_of(version), {}

    def drop(self, key: str) -> None:
        """A list does not have the object any more."""
        del self._uids[key], self._versions[key]

    def is_new(self, key: str, version: str) -> bool:
        """Whether what has this key in this version is newer than what is known; counted as stale if not."""
        known = self._versions.get(key)
        if known is None:
            # Either new, or deleted before the list or since.
            known = self._deleted.get(key, self._list_version)
        number = version_of(version)
        if number < 0 or number > known:
            return True
        self.stale += 1
        return False

    def note(self, key: str, uid: str, version: str) -> None:
        """The object has been handed on in this version."""
        self._uids[key] = uid
        self._versions[key] = version_of(version)
        self._deleted.pop(key, None)

    def forget(self, key: str, uid: str, version: str) -> str | None:
        """An object was deleted: the UID that is to go; None when nothing has the key now, or something later."""
        number, known = version_of(version), self._versions.get(key)
        if known is not None and self._uids[key] != uid and number <= known:
            self.stale += 1
            return None
        # Even for an unknown object: its addition may still come, late.
        self._deleted[key] = max(self._deleted.get(key, self._list_version), number, -1 if known is None else known)
        if len(self._deleted) > _TOMBSTONES:
            del self._deleted[next(iter(self._deleted))]
        if known is None:
            self.stale += 1
            return None
        del self._versions[key]
        return self._uids.pop(key)
