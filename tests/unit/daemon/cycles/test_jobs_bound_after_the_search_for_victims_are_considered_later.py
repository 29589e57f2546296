"""Where evictions come before allocate, what it binds may bring a queue beyond its share: nothing wakes for that."""

from __future__ import annotations

from typing import Final

from tests.support.sessions import gang, node, queue
from tests.unit.daemon.cycling import REGISTRY, Bench
from tests.unit.state.watched import as_status, on
from volcano_py.api.effects import Bind, Evict
from volcano_py.api.objects import Pod
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.cycles import DECISIVE_PAUSE

RECLAIM_FIRST: Final = """
actions: "reclaim, allocate"
tiers:
- plugins: [{name: gang, enableReclaimable: false}, {name: predicates}, {name: capacity}]
"""


async def test_a_queue_that_has_more_than_its_share_since_gives_it_back(bench: Bench) -> None:
    bench.configuration = parse_configuration(RECLAIM_FIRST, REGISTRY.catalogue()).config
    bench.put(node("n1", cpu="2"), node("n2", cpu="2"))
    bench.put(queue("mine", deserved={"cpu": "2"}), queue("theirs", deserved={"cpu": "2"}))
    held = gang("held", pods=2, min_member=0, cpu="1", queue="theirs", running_on=["n1", "n2"])
    large = gang("large", cpu="2", queue="mine")
    more = gang("more", pods=2, min_member=1, cpu="1", queue="theirs")
    bench.put(*held, *large, *more)
    await bench.after(DECISIVE_PAUSE)
    assert sorted(bench.binds) == ["more-0", "more-1"], "the large one fits nowhere, and no queue has too much"
    members = {each.metadata.name: each for each in more if isinstance(each, Pod)}
    for name, place in bench.binds.items():
        bench.put(as_status(on(members[name], place), "Running"))
    await bench.after(60)
    assert sum(isinstance(effect, Evict) for effect in bench.sent) == 2
    assert sum(isinstance(effect, Bind) for effect in bench.sent) == 2
