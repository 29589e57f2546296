"""The arguments of nodegroup."""

from __future__ import annotations

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import GoBool


class NodeGroupArguments(Arguments):
    strict: GoBool = argument(
        "strict",
        True,
        "Nodes without the label volcano.sh/nodegroup-name accept no pods. If false, they accept pods of queues "
        "without rules.",
    )
    preferred_order: GoBool = argument(
        "enablePreferredOrder", False, "Preferred node groups that are earlier in the list score more."
    )
