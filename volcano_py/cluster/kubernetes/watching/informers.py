"""All reflectors of one process: started together, ready together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping

from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
from volcano_py.cluster.kubernetes.watching.kinds import Kind
from volcano_py.cluster.kubernetes.watching.reflector import FRESH_FOR, Reflector
from volcano_py.cluster.kubernetes.watching.reflector_stats import ReflectorStats
from volcano_py.cluster.protocol import BadObjectHandler, Sink

# Seconds. By design watches lose nothing; should one lose an event all the same, this bounds how long it is missed.
RESYNC_EVERY = 3600.0


class Informers:
    """Keeps a sink in step with several kinds; none is ever watched twice."""

    def __init__(
        self,
        client: KubernetesClient,
        sink: Sink,
        kinds: Iterable[Kind],
        *,
        early: EarlyLists | None = None,
        go_before: asyncio.Event | None = None,
        on_bad_object: BadObjectHandler | None = None,
        resync_every: float | None = RESYNC_EVERY,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`early` has lists that are under way; `go_before`: see `Reflector`. `resync_every` (seconds) is spread by a
        quarter, so that the kinds are not all listed at once.

        Raises:
            ValueError: two kinds have the same name.
        """
        rng = rng or random.Random()
        self.on_followed: Callable[[bool], None] | None = None
        """See `Reflector`; to be set before `run`."""
        self.reflectors: dict[str, Reflector] = {}
        for kind in kinds:
            if kind.name in self.reflectors:
                raise ValueError(f"{kind.name} would be watched twice")
            self.reflectors[kind.name] = Reflector(
                client,
                kind,
                sink,
                begun=early.take(kind) if early is not None else None,
                on_bad_object=on_bad_object,
                go_before=go_before,
                on_followed=self._followed,
                resync_every=resync_every and resync_every * rng.uniform(0.75, 1.25),
                clock=clock,
                rng=rng,
            )

    async def run(self) -> None:
        """List and watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, reflector in self.reflectors.items():
                group.create_task(reflector.run(), name=f"reflector of {name}")

    async def wait_synced(self) -> None:
        """Return when the sink has had a list of every kind: before that, a snapshot would be incomplete."""
        for reflector in self.reflectors.values():
            await reflector.synced.wait()

    async def relist(self, *kinds: str) -> None:
        """Return when the sink has lists of these kinds that were begun after this call."""
        await asyncio.gather(*(self.reflectors[kind].relist() for kind in kinds))

    def learn(self, kind: str, obj: ApiObject) -> None:
        """The server has shown this object in an answer (see `Reflector.learn`). Ignored if the kind is not watched
        here."""
        if (reflector := self.reflectors.get(kind)) is not None:
            reflector.learn(obj)

    async def list_since(self, moment: float, *kinds: str) -> None:
        """Return when the sink has lists of these kinds that were begun at this monotonic time or later."""
        await self.relist(*(kind for kind in kinds if self.reflectors[kind].listed_from < moment))

    def behind(self, *kinds: str) -> dict[str, float]:
        """Those of these kinds whose state is out of date, and for how many seconds."""
        found = ((kind, self.reflectors[kind].behind) for kind in kinds)
        return {kind: seconds for kind, seconds in found if seconds > FRESH_FOR}

    def _followed(self, was_behind: bool) -> None:
        if was_behind:
            # The server is back. Decisions wait for the last kind, so all should come back together.
            for reflector in self.reflectors.values():
                reflector.hurry()
        if self.on_followed is not None:
            self.on_followed(was_behind)

    @property
    def unsynced(self) -> tuple[str, ...]:
        """Kinds not listed yet; readiness names them."""
        return tuple(name for name, reflector in self.reflectors.items() if not reflector.synced.is_set())

    def stats(self) -> Mapping[str, ReflectorStats]:
        """The numbers by kind."""
        return {name: reflector.stats() for name, reflector in self.reflectors.items()}
