"""spare-devices: keep nodes with devices free for the pods that ask for them."""

from __future__ import annotations

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.config import Arguments, GoBool, ResourceNames, argument
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.state.task_class import TaskClass


class SpareDevicesArguments(Arguments):
    resources: ResourceNames = argument("spare-devices.resources", ("nvidia.com/gpu",), "What counts as a device.")
    weight: float = argument("spare-devices.weight", 10.0, "How strongly such nodes are avoided; 100 points each.")
    required: GoBool = argument("spare-devices.required", False, "Refuse such nodes rather than avoid them.")


class SpareDevices(Plugin):
    """A pod that asks for no device goes to a node without any: if it can, or (`required`) in any case."""

    name = "spare-devices"
    arguments_type = SpareDevicesArguments

    def on_session_open(self, ssn: Session) -> None:
        places = (ssn.axis.index(name) for name in self.arguments.resources)
        self._devices = [place for place in places if place is not None]
        amounts = ssn.ledger.nodes.allocatable[:, self._devices]
        self._equipped: Scores = np.asarray(amounts.any(axis=1), dtype=np.float64)
        self._refusal = ssn.refusal(Reason.NODES_REFUSE, "node(s) were kept free for pods that ask for devices")

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        codes = np.full(len(view), FITS, dtype=np.int32)
        if self.arguments.required:
            codes[self._unwanted(task_class, view) > 0] = self._refusal
        return codes

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        weight: float = self.arguments.weight
        return -100 * weight * self._unwanted(task_class, view)

    def _unwanted(self, task_class: TaskClass, view: NodeView) -> Scores:
        """[K] 1 for nodes with devices when the class asks for none, else 0."""
        asks = task_class.request[self._devices].any()
        return np.zeros(len(view)) if asks else self._equipped[view.rows]
