"""Fields of a Queue that only some plugins read."""

from __future__ import annotations

from enum import StrEnum

from volcano_py.api.names import HIERARCHY


class QueueField(StrEnum):
    """The field, as messages name it."""

    PARENT = "spec.parent"
    DESERVED = "spec.deserved"
    GUARANTEE = "spec.guarantee"
    DEVICES = "spec.capability.deviceclass/…"
    HIERARCHY = f"metadata.annotations.{HIERARCHY}"
