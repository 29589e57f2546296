"""Which devices are held by claims."""

from __future__ import annotations

from collections import Counter

from volcano_py.state.devices.claims import DeviceKey


class Holders:
    """Devices by claim (namespace/name). Other schedulers may have given a device to several claims."""

    def __init__(self) -> None:
        self._devices: dict[str, tuple[DeviceKey, ...]] = {}
        self._claims: Counter[DeviceKey] = Counter()
        """How many claims hold it."""

    def put(self, claim: str, devices: tuple[DeviceKey, ...]) -> bool:
        """The claim holds these devices now; returns whether it held others before, which it does no more."""
        before = self._devices.pop(claim, ())
        if devices:
            self._devices[claim] = devices
        self._claims.update(devices)
        self._claims.subtract(before)
        for device in before:
            if not self._claims[device]:
                del self._claims[device]
        return not set(before) <= set(devices)

    def is_held(self, device: DeviceKey) -> bool:
        """Whether some claim holds it."""
        return device in self._claims
