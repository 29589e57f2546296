"""Divides the connections and the memory of the webhook port between its peers.

When something runs out, the peer that has the most of it gives some back. So a peer that takes all it can get harms
itself first, and one that takes little is served as long as it stays below the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable


class NoRoomError(RuntimeError):
    """Nothing is left for this connection; the message says of what, and what would help."""


class Share:
    """What one connection has.

    Attributes:
        peer: the address at the other end.
        held: bytes of the request that is being read or checked.
        is_busy: a request is under way.
    """

    def __init__(self, peer: str, cut: Callable[[], object]) -> None:
        """`cut` ends the connection."""
        self.peer, self.cut = peer, cut
        self.held = 0
        self.is_busy = False


class Shares:
    """All connections, at most `connections` in all and `per_peer` of one peer, which hold `memory` bytes at most."""

    def __init__(self, *, connections: int, per_peer: int, memory: int) -> None:
        self._most, self._most_per_peer, self._memory = connections, per_peer, memory
        self._shares: dict[Share, None] = {}  # a set; the one that was used last is the last
        self._per_peer: Counter[str] = Counter()
        self.held = 0
        """Bytes held by all connections together."""

    def __len__(self) -> int:
        return len(self._shares)

    def join(self, share: Share) -> None:
        """Add a connection. Where there are too many, the peer that has the most loses one for it, idle ones first.

        Raises:
            NoRoomError: that peer is this one, and all its connections are busy.
        """
        peer = share.peer
        if self._per_peer[peer] >= self._most_per_peer:
            self._make_room(peer, share)
        elif len(self) >= self._most:
            self._make_room(max(self._per_peer, key=self._per_peer.__getitem__), share)
        self._shares[share] = None
        self._per_peer[peer] += 1

    def begin(self, share: Share) -> None:
        """A request begins."""
        share.is_busy = True

    def end(self, share: Share) -> None:
        """The request is answered: its bytes are free again."""
        share.is_busy = False
        self._release(share)
        if share in self._shares:
            del self._shares[share]
            self._shares[share] = None

    def leave(self, share: Share) -> None:
        """Remove a connection; harmless when it has left or was cut."""
        if share not in self._shares:
            return
        self._release(share)
        del self._shares[share]
        self._per_peer[share.peer] -= 1
        if not self._per_peer[share.peer]:
            del self._per_peer[share.peer]

    def hold(self, share: Share, size: int) -> None:
        """Count `size` more bytes; others are cut where this exceeds the memory.

        Raises:
            NoRoomError: this peer has the most, and this connection the most of it.
        """
        if share not in self._shares:
            raise NoRoomError("the connection has been cut; try again")
        share.held += size
        self.held += size
        while self.held > self._memory:
            most = self._largest()
            if most is share:
                self._release(share)
                raise NoRoomError(f"reviews that are being read exceed {self._memory} bytes; try again")
            self._cut(most)

    def _release(self, share: Share) -> None:
        self.held -= share.held
        share.held = 0

    def _largest(self) -> Share:
        """The connection that holds the most, of the peer that holds the most."""
        held: Counter[str] = Counter()
        for each in self._shares:
            held[each.peer] += each.held
        peer = max(held, key=held.__getitem__)
        return max(self._of(peer), key=lambda each: each.held)

    def _make_room(self, peer: str, newcomer: Share) -> None:
        oldest = min(self._of(peer), key=lambda each: each.is_busy)
        if oldest.is_busy and peer == newcomer.peer:
            raise NoRoomError(f"all {self._per_peer[peer]} connections of {peer} are busy; try again")
        self._cut(oldest)

    def _of(self, peer: str) -> Iterable[Share]:
        return (each for each in self._shares if each.peer == peer)

    def _cut(self, share: Share) -> None:
        self.leave(share)
        share.cut()
