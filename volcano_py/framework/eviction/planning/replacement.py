"""One replacement: a unit of a plan goes for something better, or for something that lets the plan succeed.

The search is greedy. What it took first may turn out to be more than was needed, or to be in the way of the rest.
"""

from __future__ import annotations

from typing import Final

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.planning.cost import Costs
from volcano_py.framework.eviction.planning.draft import Draft
from volcano_py.framework.eviction.planning.fill_back import fill_back, groups
from volcano_py.framework.eviction.planning.search import Search
from volcano_py.framework.session import Session

_MOST_TRIED: Final = 4
"""Units for which a replacement is sought; each costs a search."""
_MOST_RETRIED: Final = 16
"""A search that took more units than this and did not succeed is not repeated."""
_MOST_RETRIED_IN_ALL: Final = 64
"""How often searches of one run of an action are repeated: a hundred jobs may wait that come near to success."""


def retry_with_one_later(pool: Candidates, draft: Draft, search: Search) -> tuple[Search | None, bool]:
    """Search again, and take one of the units with which it did not succeed only after all others. The search that
    did, and whether more may go as a last resort."""
    last_resorts = search.found_last_resorts
    for later in groups(draft)[:_MOST_TRIED] if len(draft.evictions) <= _MOST_RETRIED else ():
        if pool.retries == _MOST_RETRIED_IN_ALL:
            break
        pool.retries += 1
        draft.reset()
        retry = search.later(later)
        is_complete = retry.run()
        last_resorts |= retry.found_last_resorts
        if is_complete:
            return retry, last_resorts
    return None, last_resorts


def replace_one(ssn: Session, pool: Candidates, draft: Draft, search: Search) -> None:
    """Leave out one of the units and search again; the better plan stays."""
    evictions, places = draft.evictions.copy(), draft.places.copy()
    tried = groups(draft)[:_MOST_TRIED]
    draft.reset()
    costs = Costs(ssn, pool, evictions[0].task)
    best = costs.of(evictions)
    for left_out in tried:
        draft.repeat(each for each in evictions if each not in left_out)
        if search.without(left_out).run():
            fill_back(ssn, draft)
            if not draft.evictions or costs.of(draft.evictions) < best:
                return  # (places may be found that need no eviction at all)
        draft.reset()
    draft.repeat(evictions, places)
