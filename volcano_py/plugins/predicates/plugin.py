"""predicates: which nodes can take a pod at all.

Cordons, node selector and affinity, taints, host ports, affinity between pods, topology spread, volumes, devices by
ResourceClaims, with kube-scheduler's semantics and mostly in its words; with `predicate.ProportionalEnable`, cpu and
memory that nodes keep for their idle devices. Room for the pod (resources and the number of pods) is the placer's
question.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from hashlib import blake2b
from typing import Any

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_nodes import NODE_PORTS_TAKEN
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import GoesBy, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.plugins.amounts.reserve import Reserve
from volcano_py.plugins.predicates.advice.nodes import NOTHING, NodeAdvice, node_advice
from volcano_py.plugins.predicates.arguments import PredicatesArguments
from volcano_py.plugins.predicates.devices.devices import Devices
from volcano_py.plugins.predicates.devices.extended import stand_ins
from volcano_py.plugins.predicates.host_ports import ports_taken, rival_ports
from volcano_py.plugins.predicates.node_usage import NodeUsages
from volcano_py.plugins.predicates.pod_affinity import PodAffinity
from volcano_py.plugins.predicates.topology_spread import TopologySpread
from volcano_py.plugins.predicates.verdicts import Questions, Verdict, judge, verdict_key
from volcano_py.plugins.predicates.volumes.volumes import Volumes
from volcano_py.plugins.predicates.well_formed import selection_fault, toleration_fault
from volcano_py.state.devices.needs import Ask
from volcano_py.state.nodes.index import Key
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.task_class import Refusal, TaskClass


class Predicates(Plugin):
    """See the module."""

    name = "predicates"
    allows_series = True
    predicate_lasts = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = PredicatesArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._questions = Questions(node_affinity=arguments.node_affinity, taints=arguments.taints)
        self._keys: dict[int, Key] = {}
        self._codes: dict[Key, Codes] = {}
        """Verdict key → refusal id of this session for each of the verdict's messages."""
        self._faults: dict[int, Refusal | None] = {}
        self._advised: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._affinity: PodAffinity | None = None

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._index = ssn.nodes
        self._reserve = Reserve(ssn, self.arguments.reserve())
        self._usages = NodeUsages(ssn)
        self._volumes = Volumes(ssn, self.arguments, self._usages)
        self._devices = Devices(ssn, self.memory)
        if self.arguments.pod_affinity:
            self._affinity = PodAffinity(ssn)
        self._spread = TopologySpread(ssn)

    def chooses_devices(self) -> bool:
        on: bool = self.arguments.dynamic_resources
        return on and self.flags.allow("predicate")

    def stand_ins(self, cluster: ClusterCopy, asks: Mapping[int, Ask]) -> Mapping[int, StandIns]:
        return stand_ins(cluster, self.memory, asks)

    def evictions_follow_from(self) -> Hashable:
        """Claims are reserved and released by others than pods that have nodes, too."""
        return self._ssn.snapshot.devices

    def pre_predicate(self, task_class: TaskClass) -> Refusal | None:
        """Refuses a pod whose affinity or tolerations cannot be read, or whose claims are not ready, with the fix."""
        return self._unreadable(task_class) or self._volumes.fault(task_class) or self._devices.fault(task_class)

    def _unreadable(self, task_class: TaskClass) -> Refusal | None:
        if task_class.row not in self._faults:
            asked = self._questions
            fault = selection_fault(task_class) if asked.node_affinity else None
            if fault is None and asked.taints:
                fault = toleration_fault(task_class)
            self._faults[task_class.row] = None if fault is None else Refusal(Reason.INVALID_POD, fault)
        return self._faults[task_class.row]

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        if (fault := self.pre_predicate(task_class)) is not None:
            return np.full(len(view), self._ssn.refusal(fault.reason, fault.message), dtype=np.int32)
        codes = self._lasting(task_class, view)
        if self._asks_for_ports(task_class):
            ports = self._usages.at(released=view.released).ports
            refused = ports.any_on(rival_ports(task_class.host_ports), view.rows) & (codes == FITS)
            codes[refused] = self._ssn.refusal(Reason.NODES_REFUSE, NODE_PORTS_TAKEN, transient=True)
        if self._affinity is not None:
            self._affinity.refuse(task_class, view, codes)
        self._volumes.refuse(task_class, view, codes)
        self._devices.refuse(task_class, view, codes)
        if self._reserve.concerns(task_class):
            self._reserve.refuse(task_class, view, codes)
        return codes

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:
        """What follows from labels, taints and cordons, labels that a topology spread needs among them. Advice about
        anything else needs a refusal for it."""
        codes = self._lasting(task_class, view)
        if self._heeds_spread(task_class):
            self._spread.refuse_for_good(task_class, view.rows, codes)
        return codes

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        reaches = [self._volumes.reach(task_class), self._devices.reach(task_class)]
        if self._affinity is not None:
            reaches.append(self._affinity.reach(task_class))
        if Reach.DOMAIN in reaches:
            return Reach.DOMAIN
        moves = Reach.ROW in reaches or self._asks_for_ports(task_class) or self._reserve.concerns(task_class)
        return Reach.ROW if moves else Reach.STATIC

    def predicate_goes_by(self, task_class: TaskClass) -> GoesBy:
        if task_class.devices:
            return GoesBy.UNKNOWN  # devices are published, and claims released, by others
        return GoesBy.USE if self._reserve.concerns(task_class) else GoesBy.PODS

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        if Reach.DOMAIN in (self._volumes.reach(task_class), self._devices.reach(task_class)):
            return None  # what one pod takes is gone for all nodes
        rooms = [self._volumes.room(task_class, view), self._devices.room(task_class, view)]
        if self._reserve.concerns(task_class):
            rooms.append(self._reserve.room(task_class, view))
        if self._affinity is not None:
            rooms.append(self._affinity.room(task_class, view))
        if self._asks_for_ports(task_class):
            rooms.append(np.ones(len(view), dtype=np.int64))  # a second one would want the same ports
        return reduce(_less, rooms)

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        if not self._heeds_spread(task_class):
            return None
        return self._spread.domain_filter(task_class, released=view.released)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        if self.pre_predicate(task_class) is not None:
            return []
        lasting = self._lasting_advice(task_class)
        # What the pod asks for comes before what would keep off any pod: what makes a message too long is left out.
        sentences = lasting.of_labels(refused)
        if NODE_PORTS_TAKEN in refused:
            nodes, ports = refused.mask(NODE_PORTS_TAKEN), task_class.host_ports
            sentences += self._once(
                ("ports", ports, nodes),
                lambda: [ports_taken(self._ssn, self._usages.at().ports, ports, np.flatnonzero(nodes))],
            )
        if (affinity := self._affinity) is not None and (about := affinity.asked(task_class, refused)):
            sentences += self._once(("affinity", *about), lambda: affinity.advice(task_class, refused))
        if about := self._spread.asked(task_class, refused):
            sentences += self._once(("spread", *about), lambda: self._spread.advice(task_class, refused))
        sentences.extend(self._volumes.advice(task_class, refused))
        sentences.extend(self._devices.advice(task_class, refused))
        sentences.extend(self._reserve.advice(refused))
        return [*sentences, *lasting.of_others(refused)]

    def _once(self, about: Sequence[object], advise: Callable[[], Iterable[str]]) -> Sequence[str]:
        """What is advised, worked out once for all classes for which all that it is about is the same: thousands may
        wait for the same thing. Masks of nodes are compared by a hash of what is in them."""
        key = (self._ssn.moves.count, *(_digest(part) if isinstance(part, np.ndarray) else part for part in about))
        if key not in self._advised:
            self._advised[key] = tuple(advise())
        return self._advised[key]

    def _lasting_advice(self, task_class: TaskClass) -> NodeAdvice:
        key, present = self._key(task_class), self._ssn.ledger.nodes.present
        verdict = self._verdict(key, task_class)
        if verdict.codes is None:
            return NOTHING
        return self._index.kept.keep(
            ("node advice", *key), lambda: node_advice(self._index, present, task_class, self._questions, verdict)
        )

    def on_allocate(self, placement: Placement) -> None:
        self._follow(placement)

    def on_deallocate(self, placement: Placement) -> None:
        self._follow(placement)

    def _follow(self, placement: Placement) -> None:
        """The tasks are where the node usage says."""
        if not placement.task_class.uses_amounts_only:
            self._usages.update(placement)
            self._volumes.update(placement)
            self._devices.update(placement)

    def _lasting(self, task_class: TaskClass, view: NodeView) -> Codes:
        """[K] the verdicts of nodes that do not depend on placements of this cycle; the caller may write into it."""
        key = self._key(task_class)
        verdict = self._verdict(key, task_class)
        if verdict.codes is None:
            return np.zeros(len(view), dtype=np.int32)
        ids = self._codes.get(key)
        if ids is None:
            ids = self._codes[key] = self._register(verdict.messages)
        return ids.take(verdict.codes.take(view.rows))

    def _key(self, task_class: TaskClass) -> Key:
        key = self._keys.get(task_class.row)
        if key is None:
            key = self._keys[task_class.row] = verdict_key(task_class, self._questions)
        return key

    def _verdict(self, key: Key, task_class: TaskClass) -> Verdict:
        return self._index.kept.keep(key, lambda: judge(self._index, task_class, self._questions))

    def _register(self, messages: tuple[str, ...]) -> Codes:
        refusals = (self._ssn.refusal(Reason.NODES_REFUSE, message, resolvable=False) for message in messages[1:])
        return np.array([FITS, *refusals], dtype=np.int32)

    def _heeds_spread(self, task_class: TaskClass) -> bool:
        on: bool = self.arguments.topology_spread
        return on and bool(task_class.spreads)

    def _asks_for_ports(self, task_class: TaskClass) -> bool:
        on: bool = self.arguments.node_ports
        return on and bool(task_class.host_ports)


def _digest(mask: Mask) -> bytes:
    return blake2b(mask.tobytes(), digest_size=16).digest()


def _less(one: Counts | None, other: Counts | None) -> Counts | None:
    """[K] what both allow; None when either does not know."""
    return None if one is None or other is None else np.minimum(one, other)
