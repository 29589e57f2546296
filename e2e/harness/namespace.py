"""A namespace of a test's own: what it creates there, and how it waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from e2e.harness.cluster import Cluster
from e2e.harness.views import EventView, PodGroupView, PodView, listed, phases
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import wait_for_default_service_account

_GONE_SECONDS = 30.0


class Namespace:
    """A namespace; every method speaks of what is in it."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name

    async def create(self) -> None:
        """Create it, and wait until pods can be."""
        await self.cluster.client.create("/api/v1/namespaces", {"metadata": {"name": self.name}})
        await wait_for_default_service_account(self.cluster.client, self.name)

    async def remove(self) -> None:
        """Delete it, and wait until none of its pods takes anybody's room; the rest goes in its own time."""
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

        await self.cluster.eventually(f"no pods in {self.name}", gone, seconds=_GONE_SECONDS)

    async def apply(self, *objects: dict[str, Any] | Iterable[dict[str, Any]] | str) -> None:
        """Server-side apply objects, lists of objects, or YAML text."""
        for each in objects:
            if isinstance(each, dict):
                each = [each]  # noqa: PLW2901 - one object is a list of one
            await self.cluster.apply(each, self.name)

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

    async def wait_phases(self, *, seconds: float = 30.0, selector: str = "", **expected: int) -> list[PodView]:
        """Wait until exactly so many pods are in each phase, e.g. `Running=3, Pending=1`, and return them."""
        __tracebackhide__ = True

        async def reached() -> list[PodView]:
            pods = await self.pods(selector)
            assert phases(pods) == expected, f"{phases(pods)}\n{listed(pods)}"
            return pods

        what = " and ".join(f"{count} {phase}" for phase, count in expected.items()) or "no pods"
        return await self.cluster.eventually(f"{what} in {self.name}", reached, seconds=seconds)

    async def wait_pod_group(self, name: str, phase: str, *, seconds: float = 30.0) -> PodGroupView:
        """Wait until a PodGroup is in this phase, and return it."""
        __tracebackhide__ = True

        async def reached() -> PodGroupView:
            try:
                group = await self.pod_group(name)
            except APIError as error:
                raise AssertionError(str(error)) from error
            assert group.phase == phase, str(group)
            return group

        return await self.cluster.eventually(f"PodGroup {self.name}/{name} {phase}", reached, seconds=seconds)

    async def wait_event(self, reason: str, about: str, *, seconds: float = 30.0) -> EventView:
        """Wait for an event of this reason about "Kind/name", and return the last of them."""
        __tracebackhide__ = True

        async def seen() -> EventView:
            found = await self.events(about, reason)
            assert found, listed(await self.events())
            return found[-1]

        return await self.cluster.eventually(f"event {reason} about {about} in {self.name}", seen, seconds=seconds)
