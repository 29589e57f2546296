"""Which devices the claims of a task get with its place, in this cycle, and what is written on the claims before it is
bound.

Pods that share a claim get its devices once: with the first of them that is to be bound. The others are only added to
those for which the claim is reserved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from volcano_py.api.devices.claims import Allocation
from volcano_py.api.effects import DeviceBinding, ExtendedClaim, ObjectRef
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.devices.counting import Budget, Counting
from volcano_py.plugins.predicates.devices.extended import as_claim, claimed
from volcano_py.plugins.predicates.devices.places import Places
from volcano_py.plugins.predicates.devices.search import Chosen, Pick
from volcano_py.plugins.predicates.devices.use import DeviceUse
from volcano_py.state.devices.allocations import allocation
from volcano_py.state.devices.entries import extended_key
from volcano_py.state.devices.needs import Ask, ExtendedDevices, GivenDevices, OpenDevices
from volcano_py.state.devices.shares import consumption
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass


class _Choice(msgspec.Struct, eq=False):
    """What a claim gets, for these tasks; from where it can be used [N]. `is_promise`: pods that are leaving have some
    of it still. `extended`: what the claim to extended resources of a pod asks for."""

    allocation: Allocation
    reach: Mask
    is_promise: bool
    extended: ExtendedClaim | None = None
    rows: list[int] = msgspec.field(default_factory=list)


class Choices:
    """Follows the placements of a cycle. `use` counts what is chosen."""

    def __init__(self, ssn: Session, places: Places, counting: Counting, use: DeviceUse) -> None:
        self._ssn, self._places, self._counting, self._use = ssn, places, counting, use
        self._picture = ssn.snapshot.devices
        self._by_claim: dict[str, _Choice] = {}
        self._tasks: set[int] = set()

    def has(self, row: int) -> bool:
        """Whether devices were chosen for the task, or none had to be."""
        return row in self._tasks

    def open(self, task_class: TaskClass) -> tuple[OpenDevices, ...]:
        """The claims of the class for which nothing was chosen yet."""
        needs = (need for need in task_class.devices if isinstance(need, OpenDevices))
        return tuple(need for need in needs if need.claim not in self._by_claim)

    def reach(self, task_class: TaskClass) -> list[Mask]:
        """[N] each: from where devices can be used that were chosen for claims that the class shares."""
        needs = (need for need in task_class.devices if isinstance(need, OpenDevices) and need.claim)
        return [self._by_claim[need.claim].reach for need in needs if need.claim in self._by_claim]

    def has_promise(self, task_class: TaskClass) -> bool:
        """Whether devices were chosen for a claim that the class shares which are free only once pods have left."""
        needs = (need for need in task_class.devices if isinstance(need, OpenDevices) and need.claim)
        return any((known := self._by_claim.get(need.claim)) is not None and known.is_promise for need in needs)

    def take(
        self,
        row: int,
        node: int,
        task_class: TaskClass,
        extended: Sequence[ExtendedDevices],
        choose: Callable[[Sequence[OpenDevices]], Chosen | None],
    ) -> None:
        """The task gets a place on the node, and its claims their devices; `choose` finds those of open claims.
        `extended`: resources for which devices stand in on that node.

        Raises:
            LookupError: the node does not have them; no pod should have been placed there.
        """
        claims = self._ssn.task_info(row).device_claims
        own = [need for need in task_class.devices if not isinstance(need, ExtendedDevices)]
        # (the last claim may be the one to extended resources, whether it is needed or not)
        open_ = [claim for claim, need in zip(claims, own, strict=False) if isinstance(need, OpenDevices)]
        waiting = [claim for claim in open_ if claim not in self._by_claim]
        needs = (*self.open(task_class), *as_claim(extended))
        if extended:
            waiting.append(claims[-1])
            open_.append(claims[-1])
        found = choose(needs) if needs else Chosen(())
        if found is None:
            name = self._ssn.nodes.names[node]
            raise LookupError(f"{self._ssn.task_info(row).key}: no devices on node {name}")
        chosen = np.array([at for picks in found.picks for _, at in picks], dtype=np.intp)
        budget, is_there = self._counting.budget(chosen, self._use.free(released=False)), True
        for claim, picks in zip(waiting, found.picks, strict=True):
            given = [(ask, at) for ask, at in picks if not ask.is_admin]
            is_there = all([is_there, *(self._spend(budget, ask, at) for ask, at in given)])
            self._by_claim[claim] = self._choice(claim, picks, node, is_promise=not is_there)
            self._use.choose(claim, row, [*dict.fromkeys(at for _, at in given)], self._taken(given))
        self._tasks.add(row)
        for claim in open_:
            self._by_claim[claim].rows.append(row)
        if extended:
            self._by_claim[claims[-1]].extended = claimed(extended)
        self._announce(row)

    def give_back(self, row: int) -> None:
        """The task has no place any more."""
        self._tasks.discard(row)
        self._ssn.findings.drop_devices(row)
        for claim in self._ssn.task_info(row).device_claims:
            choice = self._by_claim.get(claim)
            if choice is None or row not in choice.rows:
                continue
            choice.rows.remove(row)
            for other in choice.rows:
                self._announce(other)  # one of them may have to get the devices now
            if not choice.rows:
                self._use.forget(claim)
                del self._by_claim[claim]

    def _taken(self, picks: Sequence[Pick]) -> Counter[int]:
        """Of each column of shared devices."""
        taken: Counter[int] = Counter()
        for ask, at in picks:
            taken.update(self._takings(ask, at))
        return taken

    def _takings(self, ask: Ask, device: int) -> Mapping[int, int]:
        shares = self._picture.shares
        if device not in shares:
            return {}
        return shares.taken(device, consumption(self._picture.devices[device], ask.capacity) or {})

    def _spend(self, budget: Budget, ask: Ask, device: int) -> bool:
        """Take the device of what is free now; False if pods that are leaving have some of it still."""
        if device in self._picture.shares:
            return budget.share(device, [*self._takings(ask, device).items()])
        return budget.is_free(device) and budget.take(device)

    def _choice(self, claim: str, picks: Sequence[Pick], node: int, *, is_promise: bool) -> _Choice:
        name = self._ssn.snapshot.nodes[node].name
        devices = [self._picture.devices[at] for _, at in picks]
        if any(device.node or device.binds_to_node for device in devices):
            reach = np.zeros(len(self._ssn.nodes.nodes), dtype=np.bool_)
            reach[node] = True
        else:
            everywhere = np.ones(len(self._ssn.nodes.nodes), dtype=np.bool_)
            reach = np.logical_and.reduce([everywhere, *(self._places.reach(at) for _, at in picks)])
        return _Choice(allocation(self._picture, claim, picks, name), reach, is_promise)

    def _announce(self, row: int) -> None:
        """Say what is written for the task. A task with the promise of a place is not bound in this cycle."""
        info = self._ssn.task_info(row)
        bindings: list[DeviceBinding] = []
        for claim in info.device_claims:
            # Also where it is reserved for the pod already: that may have been taken back a moment ago.
            known, choice = self._picture.claims.get(claim), self._by_claim.get(claim)
            namespace, _, name = claim.partition("/")
            if known is not None:
                reference = ObjectRef("ResourceClaim", namespace, known.name, known.uid)
                bindings.append(DeviceBinding(reference, self._given(choice, row), self._mapped(row, claim)))
            elif choice is not None:
                reference = ObjectRef("ResourceClaim", namespace, name, "")
                bindings.append(DeviceBinding(reference, self._given(choice, row), choice.extended))
        self._ssn.findings.reserve_devices(row, tuple(bindings))

    def _given(self, choice: _Choice | None, row: int) -> Allocation | None:
        """What the claim gets with this task: it is the first of those that are to be bound."""
        if choice is None:
            return None
        statuses = self._ssn.ledger.tasks.status
        first = _first(choice.rows, lambda at: statuses[at] != TaskStatus.PIPELINED)
        return choice.allocation if first == row else None

    def _mapped(self, row: int, claim: str) -> ExtendedClaim | None:
        """How the task's containers use the claim, if it is the one to its extended resources."""
        ref = self._ssn.task_info(row).ref
        if claim != extended_key(ref.namespace, ref.uid):
            return None
        given = (need for need in self._ssn.task_class(row).devices if isinstance(need, GivenDevices))
        return next((ExtendedClaim((), need.mappings) for need in given if need.mappings), None)


def _first(rows: Sequence[int], test: Callable[[int], bool]) -> int | None:
    return next((row for row in rows if test(row)), None)
