"""Text from a cluster, made safe to print."""

from __future__ import annotations


def plain(text: str) -> str:
    """One line without control characters: what comes from a cluster must not move the cursor."""
    return "".join(each if each.isprintable() else " " for each in text)
