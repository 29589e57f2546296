"""How one annotation or label is read, and what is said of a value that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, Generic, TypeVar

import msgspec

from volcano_py.api.wording.explain import cut, invalid_field

T = TypeVar("T")

_LONGEST_VALUE: Final = 60  # characters of what a user wrote
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Place(Enum):
    """Where a key is written; the value is what messages call it."""

    ANNOTATION = "annotation"
    LABEL = "label"


class Unreadable(msgspec.Struct, frozen=True):
    """A value that cannot be read or used: `found` in `field`, such as `annotation volcano.sh/preemptable`, cut.

    `fix`: what to do. `meanwhile`: what holds until then.
    """

    field: str
    found: str | int
    fix: str
    meanwhile: str

    @property
    def message(self) -> str:
        """A sentence without a full stop; the same for the same value."""
        return f"{invalid_field(self.field, self.found, self.fix)}; until then {self.meanwhile}"


class Annotation(msgspec.Struct, Generic[T], frozen=True):
    """A key of annotations or labels.

    Attributes:
        parse: the meaning of a text; raises ValueError if it has none.
        fix: what to write, in words.
        otherwise: what a text without a meaning stands for; None: it counts as absent.
        meanwhile: the same in words.
        places: where the key is looked for; the first place that has it counts.
    """

    key: str
    parse: Callable[[str], T]
    fix: str
    otherwise: T | None = None
    meanwhile: str = "it counts as absent"
    places: tuple[Place, ...] = (Place.ANNOTATION,)

    def value(self, annotations: Mapping[str, str], labels: Mapping[str, str] = _NONE) -> T | None:
        """What is written; None when nothing is, or `otherwise` when it cannot be read."""
        found = self.read(annotations, labels)
        return self.otherwise if isinstance(found, Unreadable) else found

    def unreadable(self, annotations: Mapping[str, str], labels: Mapping[str, str] = _NONE) -> Unreadable | None:
        """What is wrong with what is written; None for nothing."""
        found = self.read(annotations, labels)
        return found if isinstance(found, Unreadable) else None

    def read(self, annotations: Mapping[str, str], labels: Mapping[str, str] = _NONE) -> T | Unreadable | None:
        """What is written, or what is wrong with it; None when nothing is written."""
        for place in self.places:
            text = (annotations if place is Place.ANNOTATION else labels).get(self.key)
            if text is not None:
                try:
                    return self.parse(text)
                except ValueError:
                    return Unreadable(f"{place.value} {self.key}", cut(text, _LONGEST_VALUE), self.fix, self.meanwhile)
        return None
