"""Which device class offers an extended resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from volcano_py.api.devices.claims import CLASS_AS_RESOURCE
from volcano_py.state.devices.claims import Class


class Offers:
    """Device classes by the resources that they offer: each by `deviceclass.resource.kubernetes.io/NAME`, and some by a
    name of their own. Of several classes with one name the newest offers it, and of those the first by name."""

    def __init__(self, class_of: Callable[[str], Class | None]) -> None:
        self._class_of = class_of
        self._by_name: dict[str, set[str]] = {}
        """Resource → classes that name it."""

    def __contains__(self, resource: object) -> bool:
        """Whether a class offers the resource."""
        return isinstance(resource, str) and self.device_class(resource) is not None

    def put(self, name: str, old: Class | None, new: Class | None) -> set[str]:
        """The class has come, changed or gone; returns the resources that it concerns."""
        concerned = {CLASS_AS_RESOURCE + name}
        for each in (old, new):
            if each is not None and each.extended_resource:
                concerned.add(each.extended_resource)
        if old is not None and old.extended_resource:
            self._by_name[old.extended_resource].discard(name)
            if not self._by_name[old.extended_resource]:
                del self._by_name[old.extended_resource]
        if new is not None and new.extended_resource:
            self._by_name.setdefault(new.extended_resource, set()).add(name)
        return concerned

    def device_class(self, resource: str) -> str | None:
        """The name of the class that offers the resource; None if none does."""
        if resource.startswith(CLASS_AS_RESOURCE):
            name = resource.removeprefix(CLASS_AS_RESOURCE)
            return name if self._class_of(name) is not None else None
        classes = self._by_name.get(resource)
        return min(classes, key=self._order) if classes else None

    def resources(self) -> Iterator[str]:
        """Those that classes name themselves."""
        yield from self._by_name

    def _order(self, name: str) -> tuple[float, str]:
        found = self._class_of(name)
        return (0.0 if found is None else -found.created, name)
