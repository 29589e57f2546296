"""Some hundred generated clusters, and for every pod asked about the nodes that it fits: by us and by kube-scheduler.

kube-scheduler itself is the reference: it runs on the same API server, looks at every node, and hands the nodes that
passed its filters to an extender of ours. What this scheduler does not evaluate yet is left out of the clusters; it is
found out by asking, so that a feature takes part as soon as it is there.
"""

from __future__ import annotations

import pytest

from e2e.differential.clusters import make_cluster
from e2e.differential.conftest import CLUSTERS, FIRST, SEED
from e2e.differential.ours import supported
from e2e.differential.pods.empty_selectors import FORMS
from e2e.differential.pods.features import FEATURES
from e2e.differential.report import Tally
from e2e.differential.rounds import Arena

CLUSTERS_PER_ROUND = 20
LEAST_CHOOSY = 0.25
"""Of the pods must fit some nodes and not others, or the comparison says little."""


@pytest.mark.timeout(300)
async def test_a_pod_fits_the_same_nodes(arena: Arena, tally: Tally) -> None:
    features = supported(FEATURES, SEED)
    tally.features = [feature.name for feature in features]
    tally.missing = [feature.name for feature in FEATURES if feature not in features]
    for first in range(FIRST, FIRST + CLUSTERS, CLUSTERS_PER_ROUND):
        numbers = range(first, min(first + CLUSTERS_PER_ROUND, FIRST + CLUSTERS))
        clusters = [make_cluster(SEED, number, features) for number in numbers]
        tally.add(len(clusters), await arena.compare(f"r{first}", clusters))
    assert not tally.disagreements, tally.explanation()
    assert tally.choosy > LEAST_CHOOSY * tally.pods
    absent = [form for form in FORMS if not tally.empty_selectors[form]]
    assert not absent, f"no pod was asked about that has such a selector: {absent}"
