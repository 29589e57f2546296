"""Which class each pod belongs to: classes are made on first sight and dropped with their last pod."""

from __future__ import annotations

import msgspec

from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.state.axis import ResourceAxis, TooManyResourcesError
from volcano_py.state.ledger import Ledger
from volcano_py.state.task_class import Refusal, Signature, TaskClass, nonzero_vector, signature_of

# Distinct specifications remembered as a short cut to their class; cleared when full, as it only saves time.
_MOST_REMEMBERED = 4096


class ClassBook:
    """Classes by signature, in the rows of the ledger's class table."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.classes: list[TaskClass | None] = []
        self._by_key: dict[bytes, TaskClass] = {}
        self._remembered: dict[bytes, bytes] = {}
        self._encoder = msgspec.msgpack.Encoder()

    def join(self, pod: Pod) -> TaskClass:
        """The pod's class, with one task more in it."""
        short_cut = self._encoder.encode(_raw(pod))
        key = self._remembered.get(short_cut)
        found = self._by_key.get(key) if key is not None else None
        if found is None:
            signature = signature_of(pod)
            key = self._encoder.encode(signature)
            found = self._by_key.get(key) or self._add(key, signature)
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[short_cut] = found.key
        self._ledger.classes.tasks[found.row] += 1
        return found

    def leave(self, row: int) -> None:
        """One task less in the class of that row."""
        table = self._ledger.classes
        table.tasks[row] -= 1
        if table.tasks[row] == 0:
            gone = self.classes[row]
            assert gone is not None
            del self._by_key[gone.key]
            self.classes[row] = None
            table.free_row(row)

    def _add(self, key: bytes, signature: Signature) -> TaskClass:
        units = dict(signature.units)
        problem = Refusal(*signature.problem) if signature.problem else None
        try:
            axis = self._ledger.axis.with_names(units)
        except TooManyResourcesError as error:
            axis, problem = self._ledger.axis, Refusal(Reason.INVALID_POD, str(error))
        if axis is not self._ledger.axis:
            self._ledger.widen(axis)
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
        while len(self.classes) <= row:
            self.classes.append(None)
        self.classes[row] = self._by_key[key] = made
        return made


def request_on(axis: ResourceAxis, task_class: TaskClass) -> TaskClass:
    """The class with its request as wide as `axis`, which may have grown since the class was made."""
    if len(task_class.request) == len(axis):
        return task_class
    units = dict(task_class.signature.units)
    return TaskClass(
        row=task_class.row,
        key=task_class.key,
        signature=task_class.signature,
        request=axis.vector(units),
        nonzero_request=task_class.nonzero_request,
        best_effort=task_class.best_effort,
        problem=task_class.problem,
    )


def _raw(pod: Pod) -> tuple[object, ...]:
    """All fields a signature is made from, unprocessed: equal raws have equal signatures."""
    spec, meta = pod.spec, pod.metadata
    social = bool(spec.affinity or spec.topology_spread_constraints or spec.volumes or spec.resource_claims)
    return (
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        pod.status.container_statuses,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.volumes,
        spec.resource_claims,
        spec.topology_spread_constraints,
        (meta.namespace, meta.labels) if social else None,
    )
