"""Which class each pod belongs to: classes are created with their first pod and dropped with their last."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from volcano_py.api import names
from volcano_py.api.bounds import RESOURCES_ASKED
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.requests import resize_of
from volcano_py.state.cards.asked import CardsAsked, wishes_of
from volcano_py.state.devices.needs import DeviceNeed
from volcano_py.state.table.axis import TooManyResourcesError
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.task_class import Refusal, Signature, TaskClass, nonzero_vector, signature_of
from volcano_py.state.terms.affinity import labels_read_by_affinity
from volcano_py.state.terms.spread import labels_read_by_spread
from volcano_py.state.terms.term_shares import TermShares
from volcano_py.state.volumes.disks import disks_of
from volcano_py.state.volumes.needs import Need

# Distinct specifications that are remembered as a short cut to their class, for as long as the class lives. Cleared
# when full: they only save time.
_MOST_REMEMBERED: Final = 4096
_LONGEST_SHORT_CUT: Final = 512  # bytes; of a longer specification, the digest is remembered, which takes longer
# Classes that follow the axis in one slice of work; about 5 ms.
_SLICE: Final = 1_000
# Classes with too many terms that are tried without success before the others wait for the next time.
_REFUSED_AGAIN: Final = 8


class ClassBook:
    """Classes by signature, in the rows of the ledger's class table."""

    def __init__(self, ledger: Ledger, shares: TermShares) -> None:
        self._ledger = ledger
        self._shares = shares
        self._refused: dict[str, dict[int, None]] = {}
        """Namespace → rows of classes whose terms are beyond a bound, the one that has waited longest first."""
        self._classes: list[TaskClass | None] = []
        self._width = self._goal = len(ledger.axis)
        self._followed = 0
        """Classes in rows below this are as wide as the goal."""
        self._by_key: dict[bytes, TaskClass] = {}
        self._remembered: dict[bytes, bytes] = {}
        self._short_cuts: dict[bytes, list[bytes]] = {}
        """Key of a class → the short cuts that lead to it."""
        self._encoder = msgspec.msgpack.Encoder()

    def join(self, pod: Pod, volumes: tuple[Need, ...] = (), devices: tuple[DeviceNeed, ...] = ()) -> TaskClass:
        """The pod's class, with one task more in it; `volumes` and `devices` are what its claims require."""
        short_cut = self._encoder.encode((volumes, devices, _raw(pod)))
        if len(short_cut) > _LONGEST_SHORT_CUT:
            short_cut = blake2b(short_cut, digest_size=16).digest()
        key = self._remembered.get(short_cut)
        found = self._by_key.get(key) if key is not None else None
        if found is None:
            signature = signature_of(pod, volumes, devices)
            key = self._encoder.encode(signature)
            found = self._by_key.get(key) or self._add(key, signature)
            self._remember(short_cut, found.key)
        self._ledger.classes.change(found.row).tasks[found.row] += 1
        return found

    def leave(self, row: int) -> None:
        """One task less in the class of that row."""
        table = self._ledger.classes
        table.change(row).tasks[row] -= 1
        if table.tasks[row] == 0:
            gone = self._classes[row]
            assert gone is not None
            del self._by_key[gone.key]
            for short_cut in self._short_cuts.pop(gone.key, ()):
                del self._remembered[short_cut]
            self._classes[row] = None
            table.free_row(row)
            namespace = gone.signature.namespace
            if row in self._refused.get(namespace, ()):
                self._forget_refused(namespace, row)
            elif terms := gone.signature.pod_terms():
                self._shares.leave(namespace, terms)

    def cards(self, row: int) -> CardsAsked | None:
        """The parts of cards that pods of the class in that row ask for."""
        known = self._classes[row]
        return None if known is None else known.cards

    def without_devices(self, row: int) -> bytes:
        """What tells the class in that row from others once its pods have their devices: what they required of their
        nodes for these is over."""
        known = self._classes[row]
        assert known is not None, "a row without a class"
        return known.key if not known.devices else self._encoder.encode(replace(known.signature, devices=()))

    def all(self) -> list[TaskClass | None]:
        """By row, each with its request as wide as the axis was at the last `settle`."""
        return self._classes.copy()

    @property
    def is_settled(self) -> bool:
        """Whether all requests are as wide as the axis, and no class needs another look."""
        return self._width == len(self._ledger.axis) and not self._shares.has_released

    def settle(self) -> None:
        """Follow the axis after it has grown: nodes may have brought names that were too many when pods asked. And look
        again at classes that had too many terms, where others are gone."""
        while not self.is_settled:
            self.settle_some()

    def settle_some(self) -> None:
        """Do a slice of it."""
        for namespace in self._shares.take_released():
            self._readmit(namespace)
        if self._goal != len(self._ledger.axis):
            self._goal, self._followed = len(self._ledger.axis), 0
        end = min(self._followed + _SLICE, len(self._classes))
        for row in range(self._followed, end):
            self._follow_axis(row)
        self._followed = end
        if end == len(self._classes):
            self._width = self._goal

    def _follow_axis(self, row: int) -> None:
        known, axis = self._classes[row], self._ledger.axis
        if known is None or len(known.request) == len(axis):
            return
        request = axis.vector(dict(known.signature.units))
        if (request != self._ledger.classes.request[row]).any():
            self._ledger.reassess(row, request)
        problem = known.problem
        if row not in self._refused.get(known.signature.namespace, ()):
            problem = problem and self._problem(known.signature)
        self._classes[row] = replace(known, request=request, problem=problem)

    def _remember(self, short_cut: bytes, key: bytes) -> None:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
            self._short_cuts.clear()
        self._remembered[short_cut] = key
        self._short_cuts.setdefault(key, []).append(short_cut)

    def _problem(self, signature: Signature) -> Refusal | None:
        """Why such pods can never be placed; makes columns for what they ask for."""
        try:
            self._ledger.cover(dict(signature.units), RESOURCES_ASKED.most)
        except TooManyResourcesError as error:
            return Refusal(Reason.INVALID_POD, str(error))
        return Refusal(*signature.problem) if signature.problem else None

    def _add(self, key: bytes, signature: Signature) -> TaskClass:
        units, problem = dict(signature.units), self._problem(signature)
        table = self._ledger.classes
        row = table.new_row()
        request, nonzero = self._ledger.axis.vector(units), nonzero_vector(signature)
        columns = table.change(row)
        columns.request[row], columns.nonzero_request[row] = request, nonzero
        made = TaskClass(
            row=row,
            key=key,
            signature=signature,
            request=request,
            nonzero_request=nonzero,
            best_effort=set(units) <= {"pods"} and problem is None,
            problem=problem,
        )
        if row == len(self._classes):
            self._classes.append(None)
        if terms := signature.pod_terms():
            beyond = self._shares.take(signature.namespace, terms)
            if beyond:
                self._refused.setdefault(signature.namespace, {})[row] = None
                made = replace(made, problem=Refusal(Reason.INVALID_POD, beyond), best_effort=False)
        self._classes[row] = self._by_key[key] = made
        return made

    def _readmit(self, namespace: str) -> None:
        """Some of the namespace's terms are gone: admit classes that were refused. Those that are refused again are
        tried after the others the next time."""
        again = 0
        for row in [*self._refused.get(namespace, ())]:
            if again == _REFUSED_AGAIN:
                return
            refused = self._classes[row]
            assert refused is not None, "a row without a class"
            self._forget_refused(namespace, row)
            if beyond := self._shares.take(namespace, refused.signature.pod_terms()):
                self._refused.setdefault(namespace, {})[row] = None
                again += 1
            problem = Refusal(Reason.INVALID_POD, beyond) if beyond else None
            best_effort = set(dict(refused.signature.units)) <= {"pods"} and problem is None
            known = replace(refused, problem=problem or self._problem(refused.signature), best_effort=best_effort)
            self._classes[row] = self._by_key[known.key] = known

    def _forget_refused(self, namespace: str, row: int) -> None:
        del self._refused[namespace][row]
        if not self._refused[namespace]:
            del self._refused[namespace]


def _raw(pod: Pod) -> tuple[object, ...]:
    """All fields a signature is made from, unprocessed: equal raws have equal signatures."""
    spec, meta = pod.spec, pod.metadata
    spreads, annotations = spec.topology_spread_constraints, meta.annotations
    return (
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        resize_of(pod.status),
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spreads,
        disks_of(pod),
        meta.namespace if spec.affinity or spreads else None,
        _labels_read(pod) if spec.affinity or spreads else (),
        annotations.get(names.RESOURCE_STRATEGY_TYPE),
        annotations.get(names.RESOURCE_STRATEGY_WEIGHT),
        annotations.get(names.NUMA_POLICY),
        wishes_of(annotations),
    )


def _labels_read(pod: Pod) -> list[str | None]:
    """The pod's own labels that its affinity and its spread constraints depend on."""
    affinity = pod.spec.affinity
    keys = labels_read_by_affinity(affinity) if affinity else frozenset[str]()
    keys |= labels_read_by_spread(pod.spec.topology_spread_constraints)
    return [pod.metadata.labels.get(key) for key in sorted(keys)]
