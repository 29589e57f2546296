"""Small integers for names, so that columns can hold them."""

from __future__ import annotations


class Interner:
    """Name ↔ slot; a slot is never given to another name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._slots: dict[str, int] = {}

    def slot(self, name: str) -> int:
        found = self._slots.get(name)
        if found is None:
            found = self._slots[name] = len(self.names)
            self.names.append(name)
        return found
