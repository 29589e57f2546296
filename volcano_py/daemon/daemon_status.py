"""What the daemon reports about itself: its checks, /status and /dump."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.daemon.cycles import CycleLoop
from volcano_py.daemon.leading.leadership import Leadership
from volcano_py.daemon.leading.other_scheduler import OtherScheduler
from volcano_py.daemon.leading.picture import Picture
from volcano_py.daemon.live_configuration import LiveConfiguration
from volcano_py.daemon.node_load import NodeLoad
from volcano_py.daemon.observing.dump import dump_state
from volcano_py.daemon.observing.recording import Recording
from volcano_py.daemon.observing.status import configuration_status, cycle_status
from volcano_py.observe.build import build_info
from volcano_py.operator.kopf_host.app import KopfApp
from volcano_py.state.cluster_state import ClusterState

# Seconds after which a cycle that has not ended means that the process is stuck.
_STUCK_AFTER: Final = 300.0


class DaemonStatus(msgspec.Struct, frozen=True, eq=False):
    """Asks the parts for each request; it keeps nothing itself."""

    state: ClusterState
    leadership: Leadership
    configuration: LiveConfiguration
    informers: Informers
    kopf: KopfApp
    picture: Picture
    node_load: NodeLoad
    cycles: CycleLoop
    recording: Recording
    other_scheduler: OtherScheduler

    def stuck(self) -> str | None:
        """A cycle that does not end; may be called from any thread."""
        if self.cycles.running_for() > _STUCK_AFTER:
            return f"a cycle has been running for more than {_STUCK_AFTER:g} s"
        return None

    def unsynced(self) -> str | None:
        """Kinds that have not been listed yet."""
        missing = list(self.informers.unsynced) + ([] if self.kopf.listed.is_set() else ["Queue"])
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def picture_problem(self) -> str | None:
        """Kinds that were listed and are not watched now; `unsynced` reports those that never were listed."""
        return None if self.unsynced() else self.picture.problem()

    def status(self) -> dict[str, Any]:
        """What /status shows."""
        return {
            "version": build_info(),
            "leader": self.leadership.is_leading(),
            "leaseHolder": self.leadership.holder,
            "otherScheduler": self.other_scheduler.status(),
            "configuration": configuration_status(self.configuration.current, self.configuration.rejected),
            "notListed": self.unsynced() or "",
            "behind": {} if self.unsynced() else self.picture.behind(),
            "nodeLoad": self.node_load.status(),
            "record": self.recording.status(),
            "lastCycle": cycle_status(self.cycles.last_report),
        }

    def dump(self) -> dict[str, Any]:
        """What /dump shows."""
        cycles = self.cycles
        state = dump_state(self.state.snapshot(time.time()), cycles.last_report, self.state.drift(), cycles.stand_ins)
        return {"status": self.status(), **state}
