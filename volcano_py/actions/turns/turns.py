"""Which kind of turn a job has."""

from __future__ import annotations

from volcano_py.actions.turns.gathered import GatheredTurn
from volcano_py.actions.turns.grouped import GroupedTurn
from volcano_py.actions.turns.turn import Turn, Work
from volcano_py.framework.session import Session


def turn_of(ssn: Session, work: Work, *, alone: bool, leaves: int | None = None) -> Turn:
    """The turn of a job; see `Turn`."""
    if work.job.info.topology is None:
        return Turn(ssn, work, alone=alone, leaves=leaves)
    limit = ssn.topology.limit(work.job)
    if ssn.sub_groups(work.job) is not None:
        return GroupedTurn(ssn, work, limit, alone=alone, leaves=leaves)
    if limit is None or not ssn.topology.is_structured():
        return Turn(ssn, work, alone=alone, leaves=leaves)
    return GatheredTurn(ssn, work, limit, alone=alone, leaves=leaves)
