"""One workload: all parts of the answer together."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.capture.model import CapturedEvent
from volcano_py.explain.forecast import forecast
from volcano_py.explain.history import Story, history, no_story
from volcano_py.explain.holders import holders
from volcano_py.explain.limits import limits
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.nodes import nodes
from volcano_py.explain.position import position
from volcano_py.explain.remedies.verified import verified
from volcano_py.explain.status.now import now
from volcano_py.explain.status.reported import as_reported
from volcano_py.explain.target import find
from volcano_py.explain.world import World


def explain_workload(
    world: World,
    kind: str,
    name: str,
    events: Sequence[CapturedEvent] = (),
    story: Story = no_story,
    *,
    decides: bool = True,
) -> WorkloadExplanation:
    """`kind` and `name` (namespace/name) are those of a workload, as `target.find` takes them. Of the events, those
    about the workload are shown, and the story of its PodGroup. Not `decides`: too little of the cluster could be read
    for decisions, so what the scheduler has written counts, and what would need decisions is left out.

    Raises:
        ExplainError: there is no such object, or it is not this scheduler's.
    """
    target = find(world, kind, name)
    stands = now(world, target) if decides else as_reported(world, target)
    past = history(world, target, events, story)
    if not stands.reason or not decides:
        return WorkloadExplanation(name, stands, history=past)
    refused = nodes(world, target)
    chain = limits(world, target, stands, refused)
    binding = next((limit for limit in chain if limit.binding), None)
    place = position(world, target)
    remedies = tuple(found.remedy for found in verified(world, target))
    return WorkloadExplanation(
        name=name,
        now=stands,
        position=place,
        limits=chain,
        nodes=refused,
        remedies=remedies,
        tried_all=world.tries_left > 0,
        holders=holders(world, binding, target),
        forecast=forecast(world, target, place.before if place is not None else None),
        history=past,
    )
