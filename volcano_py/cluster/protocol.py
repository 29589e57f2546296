"""Between a cluster adapter and the scheduler: objects come in by `Sink`, effects go out by
`EffectWriter`, results come back by `Outcomes`.

All methods are plain functions, called on the event loop; they must neither block nor wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from volcano_py.api.effects import Bind, Effect, Evict
from volcano_py.api.objects import ApiObject, Condition

BadObjectHandler = Callable[[str, str, str, Exception], None]
"""Called with (kind, namespace/name, uid, error) for an object that exists but cannot be read.

The last version that could be read, if there was one, stays in the sink.
"""

ConditionLookup = Callable[[str, str], Condition | None]
"""Called with (pod UID, condition type): the condition the pod is known to have, None when there is none."""


class Sink(Protocol):
    """Takes the objects that the informers bring: the cluster's state, and what else follows objects.

    Objects of one kind arrive in the order of their resource versions: an older version never follows a newer one, and
    a namesake with another UID replaces its predecessor.
    """

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all the objects of the kind there are; those the sink has beyond them are gone."""

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """The object is new or has changed."""

    def delete(self, kind: str, obj: ApiObject) -> None:
        """The object is gone. Only its metadata (name, namespace, UID) may be relied on."""


@runtime_checkable
class BulkSink(Sink, Protocol):
    """A sink for which many objects at once are less work than each by itself."""

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`upsert` for each of these, in their order. When it fails, it is not known for which."""


def upsert_all(sink: Sink) -> Callable[[str, Sequence[ApiObject]], None]:
    """The method of a `BulkSink`, or one that gives the objects to the sink one by one."""
    if isinstance(sink, BulkSink):
        return sink.upsert_all

    def one_by_one(kind: str, objects: Sequence[ApiObject]) -> None:
        for obj in objects:
            sink.upsert(kind, obj)

    return one_by_one


class EffectWriter(Protocol):
    """Carries out effects."""

    def apply(self, effects: Sequence[Effect]) -> None:
        """Begin to carry these out, and return at once."""


class BindOutcomes(Protocol):
    """Gets the results of bindings."""

    def bound(self, bind: Bind, ago: float) -> None:
        """The API server has the pod on the node, since so many seconds."""

    def bind_failed(self, bind: Bind, error: Exception, *, gone: bool) -> None:
        """The pod is not on the node as far as is known; `gone`: the pod itself does not exist any more."""


class Outcomes(BindOutcomes, Protocol):
    """Gets the results of effects that the scheduler has assumed to succeed."""

    def evicted(self, evict: Evict) -> None:
        """The pod is being deleted, or was gone already."""

    def evict_failed(self, evict: Evict, error: Exception) -> None:
        """The pod stays."""
