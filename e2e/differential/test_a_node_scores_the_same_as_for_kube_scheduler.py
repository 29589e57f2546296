"""The single scores of nodeorder against kube-scheduler's plugins, over generated clusters.

kube-scheduler scores the nodes, logs what each plugin gave, and fails to bind. Scores are compared as they stand to
each other: what all nodes get alike decides nothing.
"""

from __future__ import annotations

import pytest

from e2e.differential.clusters import make_cluster
from e2e.differential.components import COMPONENTS, scored
from e2e.differential.conftest import FIRST, SCORED_CLUSTERS, SEED
from e2e.differential.ours import supported
from e2e.differential.pods.features import FEATURES
from e2e.differential.report import ScoreTally
from e2e.differential.rounds import Arena

CLUSTERS_PER_ROUND = 40


@pytest.mark.timeout(300)
async def test_a_node_scores_the_same(scoring_arena: Arena, score_tally: ScoreTally) -> None:
    features, components = supported(FEATURES, SEED), scored(COMPONENTS)
    score_tally.components = [component.name for component in components]
    score_tally.missing = [component.name for component in COMPONENTS if component not in components]
    for first in range(FIRST, FIRST + SCORED_CLUSTERS, CLUSTERS_PER_ROUND):
        numbers = range(first, min(first + CLUSTERS_PER_ROUND, FIRST + SCORED_CLUSTERS))
        clusters = [make_cluster(SEED, number, features, scored=True) for number in numbers]
        score_tally.add(len(clusters), await scoring_arena.score(f"s{first}", clusters, components))
    assert not score_tally.disagreements, score_tally.explanation()
    undecided = [name for name in score_tally.components if not score_tally.decisive[name]]
    assert not undecided, f"no cluster was found in which these scores matter: {undecided}"
