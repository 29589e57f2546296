"""What the daemon tells its record, where `--record` asks for one: see `live_record.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from volcano_py.api.effects import Bind, Evict
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.daemon.options import DaemonOptions
from volcano_py.state.cluster_state import ClusterState

if TYPE_CHECKING:
    from volcano_py.record.witness import CycleWitness


class Recording:
    """No record: none of this does anything."""

    def __init__(self, options: DaemonOptions) -> None:
        self.options = options

    def make_state(self) -> ClusterState:
        """The state of the daemon."""
        options = self.options
        return ClusterState(
            scheduler_names=options.scheduler_names,
            default_queue=options.default_queue,
            follows_jobs=True,
            sharding=options.sharding,
        )

    def witness(self, text: Callable[[], str]) -> CycleWitness | None:  # noqa: ARG002
        """Sees the cycles; `text` is that of the configuration in force."""
        return None

    def extender(self, client: ExtenderClient) -> ExtenderClient:
        """The client, whose answers are recorded."""
        return client

    def outcome(self, what: str, effect: Bind | Evict, error: str = "") -> None:
        """What became of an effect."""

    def start(self) -> None:
        """Begin to write."""

    async def run(self) -> None:
        """Until cancelled; then what is left is written, unless this is cancelled again."""
        await asyncio.Event().wait()

    def status(self) -> dict[str, Any] | None:
        """What /status shows; None without a record."""
        return None
