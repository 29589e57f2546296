"""The texts in which HAMi's device plugin and a scheduler tell each other about GPUs, read and written.

A node announces its cards in `volcano.sh/node-vgpu-register`, six fields a card:
`GPU-1a,10,40960,NVIDIA-A100-SXM4-40GB,true,hami-core:`. The cards of a bound pod are in `volcano.sh/vgpu-ids-new`, by
container: `GPU-1a,NVIDIA,4096,30:GPU-2b,NVIDIA,4096,30:;GPU-1a,NVIDIA,1024,0:`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import msgspec

from volcano_py.api.bounds import CARDS

MIG: Final = "mig"
"""The mode of cards that are divided by their hardware."""
_VENDOR: Final = "NVIDIA"
_FIELDS: Final = 6  # of a card's record
_DEVICE_FIELDS: Final = 4  # at least, of a device of a pod
# MB: a thousand times what a card has. Sums over all pods stay far below 2^63.
MOST_MEMORY: Final = 2**30
MOST_USERS: Final = 2**20
_LONGEST_NUMBER: Final = 18  # digits: more than any amount that counts
_INT64_MASK: Final = 2**63 - 1


class Card(msgspec.Struct, frozen=True, gc=False):
    """A GPU of a node. `users`: how many containers may share it; `memory` in MB; `key` stands for its UUID."""

    uuid: str
    key: int
    users: int
    memory: int
    kind: str
    mode: str


class Device(msgspec.Struct, frozen=True, gc=False):
    """What a container uses of a card: MB, and percent of its cores; of one in mode `mig`, an instance such as
    `group2-3`, which is written after the UUID: `GPU-1a[group2-3]`."""

    uuid: str
    memory: int
    cores: int
    instance: str = ""


def card_key(uuid: str) -> int:
    """A number for a UUID, so that cards can be compared in columns; two that differ share one once in 2^63."""
    return int.from_bytes(blake2b(uuid.encode(errors="replace"), digest_size=8).digest(), "big") & _INT64_MASK


@lru_cache(maxsize=8192)  # (nodes report themselves again and again)
def read_register(text: str) -> tuple[Card, ...]:
    """The cards of a node, in their order.

    Raises:
        ValueError: a record cannot be read, two have one UUID, or there are too many. None of them counts then.
    """
    records = [record for record in text.split(":") if record.strip()]
    if len(records) > CARDS.most:
        raise ValueError(text)
    cards = tuple(_card(record) for record in records)
    if len({card.uuid for card in cards}) < len(cards):
        raise ValueError(text)
    return cards


def _card(record: str) -> Card:
    fields = [field.strip() for field in record.split(",")]
    if len(fields) < _FIELDS or not fields[0]:
        raise ValueError(record)
    uuid, users, memory, kind, _, mode = fields[:_FIELDS]
    return Card(uuid, card_key(uuid), _amount(users, MOST_USERS), _amount(memory, MOST_MEMORY), kind, mode)


def read_devices(text: str, most: int) -> list[Device]:
    """The first `most` devices of all containers. What cannot be read is left out: any user may write this."""
    found: list[Device] = []
    for record in text.replace(";", ":").split(":"):
        if len(found) == most:
            break
        fields = [field.strip() for field in record.split(",")]
        if len(fields) < _DEVICE_FIELDS or not fields[0]:
            continue
        try:
            memory, cores = _amount(fields[2], MOST_MEMORY), _amount(fields[3], 100)
        except ValueError:
            continue
        uuid, _, instance = fields[0].partition("[")
        found.append(Device(uuid, memory, cores, instance.removesuffix("]")))
    return found


def write_devices(containers: Iterable[Sequence[Device]]) -> str:
    """The devices of each container that has any."""
    return ";".join("".join(map(_device_text, devices)) for devices in containers)


def _device_text(device: Device) -> str:
    instance = f"[{device.instance}]" if device.instance else ""
    return f"{device.uuid}{instance},{_VENDOR},{device.memory},{device.cores}:"


def _amount(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return min(int(text[:_LONGEST_NUMBER]), most)
