"""What it follows from that jobs get no room, apart from the jobs, nodes, pods and queues: compared between cycles."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.eviction_basis import EvictionBasis


class WaitBasis(msgspec.Struct, frozen=True):
    """As things stood when the session opened.

    Attributes:
        refusals: what the plugins with `predicate` say (`Plugin.predicate_follows_from`).
        choices: what all plugins say of the choice among nodes (`Plugin.scores_follow_from`); None if one cannot say.
        evictions: why no pods are evicted for jobs; None where no action evicts.
    """

    refusals: tuple[Hashable, ...]
    choices: tuple[Hashable, ...] | None
    evictions: EvictionBasis | None

    @classmethod
    def of(cls, cluster: ClusterCopy, dispatch: Dispatch, *, evicts: bool) -> WaitBasis | None:
        """`evicts`: an action may evict pods for jobs that wait. None when that is not all that it follows from."""
        refusals: tuple[Hashable, ...] = tuple(
            call.ask("predicate_follows_from", otherwise=None) for call in dispatch.calls("predicate")
        )
        choices: tuple[Hashable, ...] = tuple(
            dispatch.guard(plugin, "scores_follow_from", plugin.scores_follow_from, otherwise=None)
            for plugin in dispatch.plugins
        )
        if None in refusals:
            return None
        evictions = EvictionBasis.of(cluster, dispatch) if evicts else None
        if evicts and evictions is None:
            return None
        return cls(refusals, None if None in choices else choices, evictions)

    def holds(self, before: WaitBasis | None, *, by_luck: bool) -> bool:
        """Whether jobs that got no room `before` get none now, as far as this decides. `by_luck`: with other nodes for
        some of a job's pods, others might have found room. So they might after evictions."""
        if before is None or (self.refusals, self.evictions) != (before.refusals, before.evictions):
            return False
        chooses_alike = self.choices is not None and self.choices == before.choices
        return chooses_alike or not (by_luck or self.evictions)
