"""Which pods of a cluster in memory belong to a PodGroup, and which bring claims of their own."""

from __future__ import annotations

from collections.abc import Iterable, Set

from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import Pod


class MemoryPods:
    """Follows the pods by their keys, so that no question looks at all of them."""

    def __init__(self) -> None:
        self._groups: dict[str, str] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._with_own_claims: dict[str, None] = {}
        self._with_templates: dict[str, None] = {}

    def put(self, key: str, pod: Pod) -> None:
        group = group_of(pod)
        if self._groups.get(key) != group:
            self.remove(key)
            self._groups[key] = group
            self._members.setdefault(group, {})[key] = None
        if any(volume.ephemeral is not None for volume in pod.spec.volumes):
            self._with_own_claims[key] = None
        if any("resourceClaimTemplateName" in claim for claim in pod.spec.resource_claims):
            self._with_templates[key] = None

    def remove(self, key: str) -> None:
        group = self._groups.pop(key, None)
        if group is not None:
            members = self._members[group]
            del members[key]
            if not members:
                del self._members[group]
        self._with_own_claims.pop(key, None)
        self._with_templates.pop(key, None)

    def members(self, group: str) -> Iterable[str]:
        """Keys of the pods of a PodGroup (namespace/name); of "" those without one."""
        return tuple(self._members.get(group, ()))

    @property
    def with_own_claims(self) -> Set[str]:
        """Keys of pods with ephemeral volumes."""
        return self._with_own_claims.keys()

    @property
    def with_claim_templates(self) -> Set[str]:
        """Keys of pods for which ResourceClaims are generated."""
        return self._with_templates.keys()


def group_of(pod: Pod) -> str:
    """namespace/name of its PodGroup, "" when it has none."""
    name = pod.metadata.annotations.get(GROUP_NAME, "")
    return f"{pod.metadata.namespace}/{name}" if name else ""
