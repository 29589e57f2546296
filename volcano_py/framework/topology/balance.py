"""Shares of a job that needs several domains: as equal as their room allows, in as few of them as will do."""

from __future__ import annotations

from volcano_py.framework.views import Counts
from volcano_py.state.topology.tree import Tree


def shares(tree: Tree, room: Counts, domain: int, count: int) -> list[tuple[int, int]]:
    """The domains right below `domain` to use for `count` pods, and how many of them each gets; `room` [H].

    12 pods over rooms of 10 and 10 are 6 and 6. Empty when one of them has room for all, or when they have not
    together: nodes that are in none of them may be needed, then.
    """
    below = [each for each in range(domain + 1, int(tree.end[domain])) if tree.parent[each] == domain]
    largest_first = sorted(below, key=lambda each: (-int(room[each]), each))
    used: list[int] = []
    total = 0
    for each in largest_first:
        if total >= count:
            break
        used.append(each)
        total += int(room[each])
    if total < count or len(used) < 2:
        return []
    found: list[tuple[int, int]] = []
    left = count
    for number, each in enumerate(reversed(used)):  # those with the least room first, so that others take their rest
        share = min(int(room[each]), left // (len(used) - number))
        found.append((each, share))
        left -= share
    return sorted(found)
