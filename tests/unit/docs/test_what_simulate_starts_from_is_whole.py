"""The page says how a real cluster is taken down for `simulate`: with all that decisions follow from."""

from __future__ import annotations

import re

from tests.unit.docs.pages import PROJECT
from volcano_py.cluster.kubernetes.watching.kinds import KINDS, VOLCANO_JOB

PAGE = PROJECT / "docs" / "guide" / "simulate.md"


def test_every_kind_that_the_daemon_follows_is_asked_for() -> None:
    (listed,) = re.findall(r"^kubectl get (\S+) -A -o json > cluster\.json$", PAGE.read_text("utf-8"), re.MULTILINE)
    asked = {resource.partition(".")[0] for resource in listed.split(",")}
    followed = {kind.path.plural for kind in KINDS.values()}
    assert followed - asked == set()
    assert VOLCANO_JOB.path.group_version.partition("/")[0] in listed, (
        "pods that are not made yet are known from their Job"
    )
