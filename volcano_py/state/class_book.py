"""Which class each pod belongs to: classes are made on first sight and dropped with their last pod."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.requests import resize_of
from volcano_py.state.affinity import heeded_labels
from volcano_py.state.axis import MOST_ASKED, TooManyResourcesError
from volcano_py.state.disks import disks_of
from volcano_py.state.ledger import Ledger
from volcano_py.state.spread import heeded_by_spread
from volcano_py.state.task_class import Refusal, Signature, TaskClass, nonzero_vector, signature_of, strategy_of
from volcano_py.state.term_book import TermBook
from volcano_py.state.unsupported import strict_numa_policy
from volcano_py.state.volume_needs import Need

# Digests of distinct specifications that are remembered as a short cut to their class, for as long as the class lives.
# Cleared when full: they only save time.
_MOST_REMEMBERED = 4096


class ClassBook:
    """Classes by signature, in the rows of the ledger's class table."""

    def __init__(self, ledger: Ledger, terms: TermBook) -> None:
        self._ledger = ledger
        self._terms = terms
        self._classes: list[TaskClass | None] = []
        self._width = len(ledger.axis)
        self._by_key: dict[bytes, TaskClass] = {}
        self._remembered: dict[bytes, bytes] = {}
        self._short_cuts: dict[bytes, list[bytes]] = {}
        """Key of a class → the digests that lead to it."""
        self._encoder = msgspec.msgpack.Encoder()

    def join(self, pod: Pod, volumes: tuple[Need, ...] = ()) -> TaskClass:
        """The pod's class, with one task more in it; `volumes` is what its claims require."""
        short_cut = blake2b(self._encoder.encode((volumes, _raw(pod))), digest_size=16).digest()
        key = self._remembered.get(short_cut)
        found = self._by_key.get(key) if key is not None else None
        if found is None:
            signature = signature_of(pod, volumes)
            key = self._encoder.encode(signature)
            found = self._by_key.get(key) or self._add(key, signature)
            self._remember(short_cut, found.key)
        self._ledger.classes.tasks[found.row] += 1
        return found

    def leave(self, row: int) -> None:
        """One task less in the class of that row."""
        table = self._ledger.classes
        table.tasks[row] -= 1
        if table.tasks[row] == 0:
            gone = self._classes[row]
            assert gone is not None
            del self._by_key[gone.key]
            for short_cut in self._short_cuts.pop(gone.key, ()):
                del self._remembered[short_cut]
            for term in gone.signature.pod_terms():
                self._terms.leave(term)
            self._classes[row] = None
            table.free_row(row)

    def all(self) -> list[TaskClass | None]:
        """By row, each with its request as wide as the axis was at the last `settle`."""
        return self._classes.copy()

    def settle(self) -> None:
        """Follow the axis after it has grown: nodes may have brought names that were too many when pods asked."""
        axis = self._ledger.axis
        if self._width == len(axis):
            return
        for row, known in enumerate(self._classes):
            if known is None or len(known.request) == len(axis):
                continue
            request = axis.vector(dict(known.signature.units))
            if (request != self._ledger.classes.request[row]).any():
                self._ledger.reassess(row, request)
            problem = known.problem and self._problem(known.signature)
            self._classes[row] = replace(known, request=request, problem=problem)
        self._width = len(axis)

    def _remember(self, short_cut: bytes, key: bytes) -> None:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
            self._short_cuts.clear()
        self._remembered[short_cut] = key
        self._short_cuts.setdefault(key, []).append(short_cut)

    def _problem(self, signature: Signature) -> Refusal | None:
        """Why such pods can never be placed; makes columns for what they ask for."""
        try:
            self._ledger.cover(dict(signature.units), MOST_ASKED)
        except TooManyResourcesError as error:
            return Refusal(Reason.INVALID_POD, str(error))
        return Refusal(*signature.problem) if signature.problem else None

    def _add(self, key: bytes, signature: Signature) -> TaskClass:
        units, problem = dict(signature.units), self._problem(signature)
        table = self._ledger.classes
        row = table.new_row()
        request, nonzero = self._ledger.axis.vector(units), nonzero_vector(signature)
        table.request[row], table.nonzero_request[row] = request, nonzero
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
        self._classes[row] = self._by_key[key] = made
        for term in signature.pod_terms():
            self._terms.take(term)
        return made


def _raw(pod: Pod) -> tuple[object, ...]:
    """All fields a signature is made from, unprocessed: equal raws have equal signatures."""
    spec, meta = pod.spec, pod.metadata
    spreads = spec.topology_spread_constraints
    social = bool(spec.affinity or spreads or spec.resource_claims)
    heeded = (heeded_labels(spec.affinity) if spec.affinity else frozenset()) | heeded_by_spread(spreads)
    return (
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        resize_of(pod.status),
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.resource_claims,
        spec.topology_spread_constraints,
        disks_of(pod),
        meta.namespace if social else None,
        [meta.labels.get(key) for key in sorted(heeded)],
        strategy_of(pod),
        strict_numa_policy(pod),
    )
