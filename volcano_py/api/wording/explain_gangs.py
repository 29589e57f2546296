"""Sentences about gangs: pods that have no place, that do not exist, or that a gang waits for; see `explain.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from volcano_py.api.names import GROUP_MIN_MEMBER, TASK_SPEC
from volcano_py.api.wording.summarize import counted, plural, summarize

_LONGEST_CAUSE: Final = 300  # characters that are repeated of another pod's message


class PodMaker(msgspec.Struct, frozen=True):
    """What creates a gang's pods (`who`, ready to read: `Job train`), its fields for the minimum of the gang and of
    each role, and what it `needs` to create as many as the minimum."""

    who: str
    minimum: str = "minMember"
    role_minimum: str = "minTaskMember"
    needs: str = ""

    @classmethod
    def with_annotation(cls, kind: str, name: str, minimum: int) -> PodMaker:
        """One of Kubernetes' own workloads, of which an annotation says the minimum."""
        whose = f"the annotation {GROUP_MIN_MEMBER} of it or its Deployment"
        if kind != "ReplicaSet":
            whose = f"its annotation {GROUP_MIN_MEMBER}"
        return cls(f"{kind} {name}", whose, needs=_NEEDS.get(kind, "").format(minimum))


_NEEDS: Final = {
    "StatefulSet": "podManagementPolicy Parallel and at least {} replicas",
    "ReplicaSet": "at least {} replicas",
    "Job": "parallelism, and completions if set, of at least {}",
}


class Strangers(msgspec.Struct, frozen=True):
    """Pods of other schedulers that name a gang: the first of them (namespace/name), its scheduler, how many; and
    `own`, a scheduler name of ours."""

    pod: str
    scheduler: str
    count: int
    own: str

    @property
    def fix(self) -> str:
        """What would help, as the end of a sentence."""
        if self.count == 1:
            return (
                f"; pod {self.pod} belongs to it too, but has schedulerName {self.scheduler}: recreate the pod with "
                f"schedulerName {self.own}"
            )
        return (
            f"; {self.count} more pods belong to it, but have another schedulerName ({self.pod}: {self.scheduler}): "
            f"recreate them with schedulerName {self.own}"
        )


class ShortRole(msgspec.Struct, frozen=True):
    """A role with fewer pods than its minimum."""

    name: str
    existing: int
    minimum: int

    @property
    def text(self) -> str:
        return f"role {self.name} has {self.existing} of {self.minimum} pods"


class ShortPolicy(msgspec.Struct, frozen=True):
    """A policy of which fewer sub-groups are complete, with `size` pods each, than its minSubGroups."""

    name: str
    complete: int
    minimum: int
    size: int

    @property
    def text(self) -> str:
        of = f" of policy {self.name}" if self.name else ""
        return f"{self.complete} of {self.minimum} sub-groups{of} have {counted(self.size, 'pod')} each"


def gang_incomplete(
    placed: int, total: int, min_member: int, *, short: Sequence[ShortRole] = (), cause: str = ""
) -> str:
    """`2 of 3 pods have a place, minMember is 3: 1 more must fit before any is bound`, and why it does not. `short`:
    roles of which too few pods have a place."""
    missing = max(min_member - placed, sum(role.minimum - role.existing for role in short), 0)
    roles = f", minTaskMember is not met ({summarize([role.text for role in short])})" if short else ""
    sentence = (
        f"{placed} of {counted(total, 'pod')} {'has' if placed == 1 else 'have'} a place, minMember is "
        f"{min_member}{roles}: {missing} more must fit before any is bound"
    )
    return f"{sentence}; {cause}" if cause else sentence


def sub_group_incomplete(name: str, placed: int, total: int, cause: str) -> str:
    """A sub-group is placed whole: why its other pods have no place, with those in place that have one."""
    if not placed:
        return f"sub-group {name}: {cause}"
    have = "has" if placed == 1 else "have"
    it = "it" if placed == 1 else "them"
    return f"sub-group {name}: {placed} of {counted(total, 'pod')} {have} a place; with {it} in place, {cause}"


def sub_group_too_small(name: str, existing: int, size: int) -> str:
    """A sub-group has fewer pods than make it complete, so none of them is placed."""
    missing = size - existing
    fix = f": create {missing} more or lower subGroupSize" if missing > 0 else ", some of which cannot be placed now"
    return f"sub-group {name} has {existing} of {counted(size, 'pod')}{fix}"


def room_is_kept(name: str, others: Sequence[tuple[str, int]]) -> str:
    """A sub-group would take places that others of its job (name, pods) need when their missing pods come back."""
    kept = [f"{counted(pods, 'pod')} of sub-group {other}" for other, pods in others]
    return f"sub-group {name}: the room that it needs is kept for missing pods of the job: {summarize(kept)}"


def gang_unschedulable(missing: int, total: int, summary: str) -> str:
    """Volcano's message of the condition Unschedulable: `1/3 tasks in gang unschedulable: …`."""
    return f"{missing}/{total} tasks in gang unschedulable: {summary}"


def not_enough_tasks(
    group: str,
    existing: int,
    min_member: int,
    *,
    ended: int = 0,
    maker: PodMaker | None = None,
    strangers: Strangers | None = None,
) -> str:
    """The gang cannot start because pods of it do not exist; `group` as namespace/name, `ended` are the pods that have
    failed or are being deleted, which do not count, like `strangers`."""
    ends = f" ({ended} more failed or {'is' if ended == 1 else 'are'} being deleted)" if ended else ""
    missing = max(min_member - existing, 0)
    fix = f": create {missing} more or lower minMember"
    if maker is not None:
        fix = f"{_to_create(missing, maker)} or lower {maker.minimum}"
    if strangers is not None:
        fix = strangers.fix
    exist = "of this scheduler exists" if existing == 1 else "of this scheduler exist"
    return f"PodGroup {group}: {counted(existing, 'pod')} {exist}{ends}, minMember is {min_member}{fix}"


def not_enough_of_roles(
    group: str, roles: Sequence[ShortRole], *, maker: PodMaker | None = None, strangers: Strangers | None = None
) -> str:
    """As `not_enough_tasks`, when it is the minimums of these roles that are not met."""
    missing = sum(role.minimum - role.existing for role in roles)
    fix = f": create {missing} more of this scheduler with annotation {TASK_SPEC} or lower minTaskMember"
    if maker is not None:
        fix = f"{_to_create(missing, maker)} or lower {maker.role_minimum}"
    if strangers is not None:
        fix = strangers.fix
    return f"PodGroup {group}: minTaskMember is not met ({summarize([role.text for role in roles])}){fix}"


def not_enough_of_groups(group: str, policies: Sequence[ShortPolicy]) -> str:
    """As `not_enough_tasks`, when it is the minimums of these policies that are not met."""
    texts = summarize([policy.text for policy in policies])
    return f"PodGroup {group}: minSubGroups is not met ({texts}): create the missing pods or lower minSubGroups"


def _to_create(missing: int, maker: PodMaker) -> str:
    hint = f"which needs {maker.needs}" if maker.needs else "see its events"
    return f": wait until {maker.who} creates {missing} more ({hint}),"


def held_up(member: str, cause: str) -> str:
    """Why an untried pod waits: another pod of its gang (`member`, as namespace/name) cannot be placed.

    Of a long `cause`, only the first sentences are repeated; the advice after them stands on `member`.
    """
    if len(cause) > _LONGEST_CAUSE:
        end = cause.rfind(". ", 0, _LONGEST_CAUSE)
        end = end if end > 0 else cause.find(". ")
        cause = cause[: end + 1] or cause
    return f"held up by {member} of its gang: {cause}"


class Leavers(msgspec.Struct, frozen=True):
    """Pods that are terminating, and whose they are; each sorted, pods and groups as namespace/name."""

    pods: Sequence[str] = ()
    groups: Sequence[str] = ()
    queues: Sequence[str] = ()


_NONE: Final = Leavers()


def waiting_for_release(nodes: Sequence[str], leavers: Leavers = _NONE, *, held_for: float = 0.0) -> str:
    """`leavers`: the pods that are terminating on these nodes. `held_for`: seconds that the place is kept beyond the
    time at which they should be gone; 0 when no pod was evicted for it, so that it is looked for again each time."""
    if not leavers.pods:
        return f"{_places_kept(nodes)} until other pods have left the node or pods that it must run near have started"
    sentence = f"{_places_kept(nodes)} until the pods terminating there are gone: {summarize(leavers.pods)}"
    if leavers.groups:
        sentence += f" of {_named('PodGroup', leavers.groups)} in {_named('queue', leavers.queues)}"
    return f"{sentence}; the place is kept until {held_for:g} s after they should be gone" if held_for else sentence


def waiting_for_another_try(nodes: Sequence[str]) -> str:
    """Pods were evicted for it, and then its binding failed: the event says why, and when it is tried again."""
    return f"{_places_kept(nodes)} until its failed binding is tried again"


def _places_kept(nodes: Sequence[str]) -> str:
    places = f"a place on node {nodes[0]} is" if len(nodes) == 1 else f"places on nodes {summarize(nodes)} are"
    return f"{places} kept for it"


def _named(kind: str, names: Sequence[str]) -> str:
    return f"{plural(kind, len(names))} {summarize(names)}"
