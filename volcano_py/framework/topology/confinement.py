"""The nodes that one job may use at this moment, whatever its pods would fit on."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_scores import DomainScore, sum_of


class Confinement(msgspec.Struct, frozen=True, eq=False):
    """See the module.

    Attributes:
        nodes: [N] those that may be used.
        pull: further scores, towards the pods that the job has; None for none.
    """

    nodes: NDArray[np.bool_]
    pull: DomainScore | None = None

    def with_pull(self, domain_score: DomainScore | None) -> DomainScore | None:
        """The sum of the class's own domain score and the pull."""
        found = [each for each in (domain_score, self.pull) if each is not None]
        return sum_of(found) if found else None
