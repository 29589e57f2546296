"""Objects as tests look at them: a few fields by name, the rest in `raw`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class View:
    """Any object of the API."""

    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.raw["metadata"]["name"])

    @property
    def annotations(self) -> dict[str, str]:
        return self.raw["metadata"].get("annotations") or {}

    @property
    def labels(self) -> dict[str, str]:
        return self.raw["metadata"].get("labels") or {}

    @property
    def spec(self) -> dict[str, Any]:
        return self.raw.get("spec") or {}

    @property
    def status(self) -> dict[str, Any]:
        return self.raw.get("status") or {}

    def condition(self, kind: str) -> dict[str, Any]:
        """The condition of this type, or {}."""
        return next((c for c in self.status.get("conditions") or [] if c["type"] == kind), {})


class PodView(View):
    """A pod."""

    @property
    def phase(self) -> str:
        """Its phase; `Terminating` from its deletion on, as kubectl shows it."""
        if self.raw["metadata"].get("deletionTimestamp"):
            return "Terminating"
        return str(self.status.get("phase", "Pending"))

    @property
    def node(self) -> str:
        return str(self.spec.get("nodeName") or "")

    def __str__(self) -> str:
        scheduled = self.condition("PodScheduled")
        waits = (
            f" ({scheduled.get('reason')}: {scheduled.get('message')})" if scheduled.get("status") == "False" else ""
        )
        return f"{self.name} {self.phase} on {self.node or '-'}{waits}"


class PodGroupView(View):
    """A PodGroup."""

    @property
    def phase(self) -> str:
        return str(self.status.get("phase") or "")

    def __str__(self) -> str:
        conditions = ", ".join(
            f"{c['type']}={c['status']} {c.get('reason')}: {c.get('message')}"
            for c in self.status.get("conditions") or []
        )
        return f"{self.name} {self.phase or 'without phase'} [{conditions}]"


class QueueView(View):
    """A Queue."""

    @property
    def state(self) -> str:
        return str(self.status.get("state") or "")

    def __str__(self) -> str:
        return f"{self.name} {self.state or 'without state'} {self.status}"


class EventView(View):
    """An event of v1."""

    @property
    def about(self) -> str:
        """Kind/name of the object it is about."""
        involved = self.raw["involvedObject"]
        return f"{involved['kind']}/{involved['name']}"

    @property
    def reason(self) -> str:
        return str(self.raw.get("reason") or "")

    @property
    def message(self) -> str:
        return str(self.raw.get("message") or "")

    @property
    def kind(self) -> str:
        """Normal or Warning."""
        return str(self.raw.get("type") or "")

    def __str__(self) -> str:
        return f"{self.kind} {self.reason} {self.about}: {self.message}"


def phases(pods: Iterable[PodView]) -> dict[str, int]:
    """How many pods are in which phase."""
    return dict(Counter(pod.phase for pod in pods))


def listed(views: Iterable[View]) -> str:
    """One line each, for messages."""
    return "\n".join(f"  {view}" for view in views) or "  none"
