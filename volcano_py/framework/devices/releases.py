"""Releases devices that only waiting pods have, so that others can use them and the next cycle chooses again.

A claim keeps its devices when the scheduler stops between writing them and binding the pod. They may be on a node that
takes the pod no more, and no other pod gets them. So a claim is released once its pods have waited through a cycle:
no node took them with what the claim has, their gang is incomplete, or their job had to wait for its queue or to be
admitted. That costs these pods nothing, because they get devices with their next place. Pods that are gated, or in a
pause after a failed binding, had no turn: they alone release nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.api.effects import ObjectRef, ReleaseDevices
from volcano_py.framework.devices.claim_users import RELEASES, SHOWS_WITHIN, ClaimUsers
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def released_devices(ssn: Session) -> Iterator[ReleaseDevices]:
    """Of claims whose pods have waited through this cycle, each once until that shows."""
    released: dict[str, float] = ssn.memory(RELEASES)
    claims = ssn.snapshot.devices.claims
    if released:
        given = {claim.uid for claim in claims.values() if claim.is_given}
        for uid in [uid for uid, since in released.items() if uid not in given or since + SHOWS_WITHIN <= ssn.now]:
            del released[uid]
    if claims and (rows := _in_vain(ssn)):
        yield from _released_of(ssn, rows, released)
    if released:
        ssn.wakeups.recheck_at(min(released.values()) + SHOWS_WITHIN)


def _released_of(ssn: Session, rows: Sequence[int], released: dict[str, float]) -> Iterator[ReleaseDevices]:
    """Of claims of these tasks; `released` gets them."""
    claim_users, claims = ssn.shared(ClaimUsers), ssn.snapshot.devices.claims
    used = {claim: row for row in rows for claim in ssn.task_info(row).device_claims}
    for key, row in used.items():
        claim = claims.get(key)
        if claim is None or not claim.is_given or claim.uid in released:
            continue
        users = claim_users.rows(key, row)
        pods = {ref.uid: ref for ref in (ssn.task_info(at).ref for at in users.tolist())}
        if claim.users <= pods.keys() and _only_wait(ssn, users):
            released[claim.uid] = ssn.now
            namespace = key.partition("/")[0]
            reserved_for = tuple(ref for uid, ref in pods.items() if uid in claim.users)
            yield ReleaseDevices(ObjectRef("ResourceClaim", namespace, claim.name, claim.uid), reserved_for)


def _in_vain(ssn: Session) -> list[int]:
    """Rows of pods that have devices and got no place in this cycle, although they or their jobs were looked at."""
    tasks, findings = ssn.ledger.tasks, ssn.findings
    waiting = (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0) & ~tasks.gated & (tasks.retry_at <= ssn.now)
    rows = np.flatnonzero(waiting & np.isin(tasks.task_class, ssn.shared(ClaimUsers).given))
    refused = (job for job, errors in findings.fit_errors.items() if errors)
    incomplete = tasks.job[list(findings.tentative)].tolist()
    jobs = {*findings.notes, *refused, *incomplete, *ssn.resting}
    found: list[int] = rows[np.isin(tasks.job[rows], list(jobs))].tolist()
    return found


def _only_wait(ssn: Session, rows: Rows) -> bool:
    """Whether none of these tasks has a place, or the promise of one."""
    if (ssn.ledger.tasks.status[rows] != TaskStatus.PENDING).any() or ssn.reservations.promised(rows).any():
        return False
    return not any(row in ssn.findings.nominations for row in rows.tolist())
