"""gangreclaim: reclaim for whole gangs, with Volcano's name and arguments."""

from __future__ import annotations

from volcano_py.actions.eviction_arguments import GangEvictionArguments
from volcano_py.actions.reclaim import Reclaim


class GangReclaim(Reclaim):
    """As reclaim, which takes for whole gangs, too."""

    name = "gangreclaim"
    arguments_type = GangEvictionArguments
