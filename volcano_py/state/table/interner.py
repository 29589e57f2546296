"""Small integers for names, so that columns can hold them."""

from __future__ import annotations

from typing import Final

FREE: Final = "\0"
"""Stands for the name of a slot that is free; no API object can have this name."""


class Interner:
    """Name ↔ slot for as long as something holds it. Free slots go to the next new names, so that namespaces, queues
    and roles that come and go leave nothing behind.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._slots: dict[str, int] = {}
        self._holders: list[int] = []
        self._free: list[int] = []

    def take(self, name: str) -> int:
        """The slot of the name, with one holder more."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._new_slot(name)
        self._holders[slot] += 1
        return slot

    def give_back(self, slot: int) -> None:
        """One holder less."""
        self._holders[slot] -= 1
        if self._holders[slot] == 0:
            del self._slots[self.names[slot]]
            self.names[slot] = FREE
            self._free.append(slot)

    def _new_slot(self, name: str) -> int:
        if self._free:
            slot = self._free.pop()
            self.names[slot] = name
        else:
            slot = len(self.names)
            self.names.append(name)
            self._holders.append(0)
        self._slots[name] = slot
        return slot
