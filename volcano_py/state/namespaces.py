"""Labels of namespaces, for pod terms with a namespace selector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano_py.api.objects import Namespace
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import ObjectStore

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject
    from volcano_py.state.terms.term_book import TermBook


class Namespaces:
    """Store of namespaces."""

    def __init__(self, terms: TermBook) -> None:
        self._terms = terms
        self._objects: ObjectStore[Namespace] = ObjectStore()

    def upsert(self, namespace: Namespace) -> Change:
        self._objects.put(namespace)
        moved = self._terms.namespace(namespace.metadata.name, namespace.metadata.labels)
        return Change.DECISION if moved else Change.NONE

    def delete(self, namespace: Namespace) -> Change:
        if self._objects.take(namespace) is None:
            return Change.NONE
        return Change.DECISION if self._terms.namespace(namespace.metadata.name, None) else Change.NONE

    def known(self) -> list[ApiObject]:
        return list(self._objects.all())
