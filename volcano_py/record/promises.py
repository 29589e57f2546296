"""Which pods are promised a node, and since when snapshots know it, as the state has it."""

from __future__ import annotations


class Promises:
    """By the UIDs of pods. A promise that the scheduler has made counts until the pod shows something newer."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._made: dict[str, tuple[str, str]] = {}
        """The node, and the one that the pod showed then."""
        self._counts: dict[str, str] = {}
        """The node that counts; pods without one are left out."""
        self._since: dict[str, float] = {}
        self._undated: dict[str, None] = {}

    @property
    def are_none(self) -> bool:
        """Whether no pod shows or has been made one."""
        return not (self._shown or self._made or self._counts)

    def shows(self, uid: str, node: str, *, waits: bool) -> bool:
        """The pod shows that node, or ("") none; `waits`: it has no place. Whether what was promised counts still."""
        if not node and uid not in self._made and uid not in self._counts:  # most pods, always
            self._shown.pop(uid, None)
            return False
        self._shown[uid] = node
        made, then = self._made.get(uid, ("", ""))
        counts = bool(made) and waits and node == then != made
        if not counts:
            self._made.pop(uid, None)
        self._put(uid, made if counts else node)
        return counts

    def makes(self, uid: str, node: str) -> None:
        """The scheduler promises the node; that has a new date."""
        then = self._made[uid][1] if uid in self._made else self._shown.get(uid, "")
        self._made[uid] = node, then
        self._counts.pop(uid, None)
        self._put(uid, node)

    def _put(self, uid: str, node: str) -> None:
        if node and self._counts.get(uid) == node:
            return
        self._since.pop(uid, None)
        self._undated.pop(uid, None)
        self._counts.pop(uid, None)
        if node:
            self._counts[uid] = node
            self._undated[uid] = None

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._put(uid, "")
        self._shown.pop(uid, None)
        self._made.pop(uid, None)

    def looked(self, now: float) -> None:
        """A snapshot is taken: promises that are new get their date (seconds since the epoch)."""
        self._since.update(dict.fromkeys(self._undated, now))
        self._undated.clear()

    @property
    def since(self) -> dict[str, float]:
        """UID → seconds since the epoch."""
        return dict(self._since)
