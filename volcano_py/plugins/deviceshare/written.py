"""What the binding writes on a pod for the device plugin of its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from volcano_py.api import names
from volcano_py.api.annotations.vgpu import Device, write_devices
from volcano_py.state.cards.asked import Sharing

_ALLOCATING: Final = "allocating"
"""What HAMi's device plugin waits for."""
_NANOS: Final = 1_000_000_000


def on_pod(sharing: Sharing, node: str, devices: Sequence[Sequence[Device]], now: float) -> Mapping[str, str]:
    """Annotations. `devices`: by container. `now`: seconds since the epoch."""
    if sharing is not Sharing.VGPU:
        indexes = ",".join(device.uuid for of_one in devices for device in of_one)
        return {names.GPU_TIME: str(int(now * _NANOS)), names.GPU_INDEX: indexes}
    text, seconds = write_devices(devices), str(int(now))
    return {
        names.VGPU_NODE: node,
        names.VGPU_TIME: seconds,
        names.DEVICE_BIND_TIME: seconds,
        names.VGPU_IDS: text,
        names.DEVICES_TO_ALLOCATE: text,
        names.DEVICE_BIND_PHASE: _ALLOCATING,
    }
