"""Disks that pods name directly in their volumes, without a claim.

Which of them are one and the same, and which are written, is as kube-scheduler's filter VolumeRestrictions has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from volcano_py.api.objects import Pod, Volume

_DEFAULT_POOL: Final = "rbd"  # where the API server fills in none (SetDefaults of RBDVolumeSource)


class Disk(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A disk as one pod mounts it. `source` is the field of the volume that names it, `server` where it is reached, for
    kinds that distinguish disks by that."""

    source: str
    name: str
    server: str = ""
    reading: bool = False


def disks_of(pod: Pod) -> tuple[Disk, ...]:
    """The disks that a pod names, each once."""
    if not pod.spec.volumes:
        return ()
    return tuple(sorted({disk for volume in pod.spec.volumes for disk in _disks(volume)}))


def _disks(volume: Volume) -> Iterator[Disk]:
    if (google := volume.gce_persistent_disk) is not None:
        yield Disk("gcePersistentDisk", google.pd_name, reading=google.read_only)
    if (amazon := volume.aws_elastic_block_store) is not None:
        yield Disk("awsElasticBlockStore", amazon.volume_id)  # one pod to a node, even if all of them read
    if (iscsi := volume.iscsi) is not None:
        yield Disk("iscsi", iscsi.iqn, reading=iscsi.read_only)
    if (ceph := volume.rbd) is not None:
        # One monitor in common makes it the same disk.
        for monitor in ceph.monitors:
            yield Disk("rbd", f"{ceph.pool or _DEFAULT_POOL}/{ceph.image}", monitor, ceph.read_only)
