"""A namespace of a test's own: what it creates there, and how it waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from e2e.harness.cluster import Cluster
from e2e.harness.views import EventView, PodGroupView, PodView, listed, phases
from e2e.harness.waiting import WAIT_SECONDS
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import wait_for_default_service_account


class Namespace:
    """A namespace; every method speaks of what is in it."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name

    async def create(self) -> None:
        """Create it, and wait until pods can be."""
        await self.cluster.client.create("/api/v1/namespaces", {"metadata": {"name": self.name}})
        await wait_for_default_service_account(self.cluster.client, self.name, WAIT_SECONDS)

    async def remove(self) -> None:
        """Delete it, and wait until none of its pods uses a node; the rest may take longer."""
        pods = f"/api/v1/namespaces/{self.name}/pods"
        await self.cluster.delete(f"/api/v1/namespaces/{self.name}")

        async def gone() -> None:
            try:
                await self.cluster.client.delete(pods, {"gracePeriodSeconds": 0})
            except APIError as error:
                if error.status != 404:
                    raise
            left = await self.pods()
            assert not left, listed(left)

        await self.cluster.eventually(f"no pods in {self.name}", gone)

    async def apply(self, *objects: dict[str, Any] | Iterable[dict[str, Any]] | str) -> None:
        """Server-side apply objects, lists of objects, or YAML text."""
        for each in objects:
            if isinstance(each, dict):
                each = [each]  # noqa: PLW2901 - one object is a list of one
            await self.cluster.apply(each, self.name)

    async def recreate(self, *objects: dict[str, Any]) -> None:
        """Apply objects; pods of their names are deleted before, and gone."""
        __tracebackhide__ = True
        names = {each["metadata"]["name"] for each in objects if each["kind"] == "Pod"}
        for name in sorted(names):
            await self.delete_pod(name)

        async def gone() -> None:
            left = [each for each in await self.pods() if each.name in names]
            assert not left, listed(left)

        await self.cluster.eventually(f"none of the old pods is left in {self.name}", gone)
        await self.apply(objects)

    async def delete_pod(self, name: str) -> None:
        await self.cluster.delete(f"/api/v1/namespaces/{self.name}/pods/{name}")

    async def delete_pod_group(self, name: str) -> None:
        await self.cluster.delete(f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{self.name}/podgroups/{name}")

    async def pods(self, selector: str = "") -> list[PodView]:
        """Its pods by name; `selector` is a label selector."""
        return await self.cluster.pods(self.name, selector)

    async def pod_groups(self) -> list[PodGroupView]:
        return await self.cluster.pod_groups(self.name)

    async def pod_group(self, name: str) -> PodGroupView:
        return await self.cluster.pod_group(self.name, name)

    async def events(self, about: str = "", reason: str = "") -> list[EventView]:
        """Its events; only those about "Kind/name" and with this reason, if given."""
        return [
            event
            for event in await self.cluster.events(self.name)
            if about in ("", event.about) and reason in ("", event.reason)
        ]

    async def wait_phases(self, *, seconds: float = WAIT_SECONDS, selector: str = "", **expected: int) -> list[PodView]:
        """Wait until exactly so many pods are in each phase, e.g. `Running=3, Pending=1`, and return them."""
        __tracebackhide__ = True

        async def reached() -> list[PodView]:
            pods = await self.pods(selector)
            assert phases(pods) == expected, f"{phases(pods)}\n{listed(pods)}"
            return pods

        what = " and ".join(f"{count} {phase}" for phase, count in expected.items()) or "no pods"
        return await self.cluster.eventually(f"{what} in {self.name}", reached, seconds=seconds)

    async def wait_pod_group(self, name: str, phase: str, *, seconds: float = WAIT_SECONDS) -> PodGroupView:
        """Wait until a PodGroup is in this phase, and return it."""
        __tracebackhide__ = True

        async def reached() -> PodGroupView:
            group = await self.pod_group(name)
            assert group.phase == phase, str(group)
            return group

        return await self.cluster.eventually(f"PodGroup {self.name}/{name} {phase}", reached, seconds=seconds)

    async def wait_no_pod_groups(self) -> None:
        """Wait until the namespace has none."""
        __tracebackhide__ = True

        async def gone() -> None:
            left = await self.pod_groups()
            assert not left, listed(left)

        await self.cluster.eventually(f"no PodGroups in {self.name}", gone)

    async def wait_reported(self, pod: str, *, reason: str = "", saying: str = "") -> PodView:
        """Wait until the pod's PodScheduled condition has this reason, and this in its message."""
        __tracebackhide__ = True

        async def waits() -> PodView:
            (found,) = [each for each in await self.pods() if each.name == pod]
            condition = found.condition("PodScheduled")
            assert reason in ("", condition.get("reason")), str(found)
            assert saying in condition.get("message", ""), str(found)
            return found

        return await self.cluster.eventually(f"pod {self.name}/{pod} has the reason {reason} and {saying!r}", waits)

    async def wait_event(
        self, reason: str, about: str, *, saying: str = "", seconds: float = WAIT_SECONDS
    ) -> EventView:
        """Wait for an event of this reason about "Kind/name" that has `saying` in its message, and return it.

        Without `saying` any event of the reason will do, also one that was true for a moment only: that of a gang
        half of whose pods had been created, for one.
        """
        __tracebackhide__ = True

        async def seen() -> EventView:
            found = [each for each in await self.events(about, reason) if saying in each.message]
            assert found, listed(await self.events())
            return found[-1]

        what = f"event {reason} about {about} in {self.name}" + (f" saying {saying!r}" if saying else "")
        return await self.cluster.eventually(what, seen, seconds=seconds)
