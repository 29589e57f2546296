"""One list as it is read, compared with what is known already: what is new in it, and what is not in it any more."""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.cluster.kubernetes.watching.versions import Versions, version_of
from volcano_py.cluster.kubernetes.watching.write_echoes import WriteEchoes


class Listing:
    """A list of one kind; all of it shows the moment of its `version`.

    Answers may show objects while it is read, or have shown them shortly before: what is newer than the list is not
    taken back, and an object that was written and deleted before the list is gone.
    """

    def __init__(self, version: str, versions: Versions, echoes: WriteEchoes, unreadable: dict[str, str]) -> None:
        """`unreadable`: key → UID of what the sink could not be given; it is tried again."""
        self.version = version
        self._versions, self._echoes = versions, echoes
        self._to_try_again = unreadable.copy()
        echoes.forget_until(version)
        self._missing = dict(versions.items())
        for key, uid in echoes.items():
            self._found(key, uid)

    def new(self, obj: ApiObject) -> ApiObject | None:
        """What the sink is to be given of an object of the list: it, or a newer version of it, or nothing."""
        meta = metadata_of(obj)
        key = meta.key
        self._echoes.passed(key, meta)
        newest = self._echoes.get(key) or obj
        meta = metadata_of(newest)
        self._found(key, meta.uid)
        if self._to_try_again.pop(key, None) is None and self._versions.has(key, meta):
            return None
        return newest

    def unreadable(self, key: str, uid: str) -> None:
        """The list has an object that cannot be read."""
        self._found(key, uid)
        self._to_try_again.pop(key, None)

    def answered(self, key: str, uid: str, version: str) -> None:
        """An answer has shown an object that was not known. If that was before the list, it is in it, or gone."""
        if 0 <= version_of(version) <= version_of(self.version):
            self._missing[key] = uid

    def gone(self) -> list[tuple[str, str]]:
        """Key and UID of each object that the sink has and the list has not, once all of it has been read."""
        return [(key, uid) for key, uid in self._missing.items() if self._versions.uid_of(key) == uid]

    def no_longer_unreadable(self) -> list[str]:
        """Keys of what could not be read before and is not in the list, once all of it has been read."""
        return list(self._to_try_again)

    def _found(self, key: str, uid: str) -> None:
        if self._missing.get(key) == uid:
            del self._missing[key]
