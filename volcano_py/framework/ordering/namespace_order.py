"""The next job inside a queue: the best of all or, where a plugin orders namespaces, that of the best namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from volcano_py.framework.job import Job
from volcano_py.framework.ordering.heaps import Heap
from volcano_py.state.infos import QueueInfo

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

T = TypeVar("T")


class Waiting(Protocol[T]):
    """What waits in a queue. An element that was popped and has more to do is pushed back after its turn."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T]: ...

    def in_order(self) -> Iterator[T]:
        """What would be popped next if no turn changed the order, as far as that can be said."""
        ...

    def push(self, element: T) -> None: ...

    def pop(self) -> T: ...


def waiting_in(ssn: Session, queue: QueueInfo, elements: Iterable[T], job_of: Callable[[T], Job]) -> Waiting[T]:
    """The elements, one for each job of the queue, in the order of this session's plugins."""

    def job_key(element: T) -> tuple[Any, ...]:
        return ssn.ask.job_key(job_of(element))

    if not ssn.dispatch.calls("namespace_order"):
        return Heap(job_key, elements)
    return _ByNamespace(
        namespace_key=lambda namespace: ssn.ask.namespace_key(queue, namespace),
        namespace_of=lambda element: job_of(element).namespace,
        element_key=job_key,
        elements=elements,
    )


class _ByNamespace(Generic[T]):
    """A heap of namespaces, each with a heap of its own.

    A turn changes the rank of its namespace, and with it that of all jobs in the namespace. So the rank cannot be part
    of the jobs' own keys, which were computed earlier. The namespace that had its turn is ranked again before the next
    pop.
    """

    def __init__(
        self,
        *,
        namespace_key: Callable[[str], tuple[Any, ...]],
        namespace_of: Callable[[T], str],
        element_key: Callable[[T], tuple[Any, ...]],
        elements: Iterable[T],
    ) -> None:
        self._namespace_of = namespace_of
        self._element_key = element_key
        self._elements: dict[str, Heap[T]] = {}
        self._order: Heap[str] = Heap(namespace_key)
        self._to_rank: dict[str, None] = {}
        self._size = 0
        for element in elements:
            self.push(element)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        for heap in self._elements.values():
            yield from heap

    def in_order(self) -> Iterator[T]:
        """Nothing: with every turn another namespace may be next."""
        return iter(())

    def push(self, element: T) -> None:
        namespace = self._namespace_of(element)
        heap = self._elements.get(namespace)
        if heap is None:
            heap = self._elements[namespace] = Heap(self._element_key)
        if not heap:
            self._to_rank[namespace] = None
        heap.push(element)
        self._size += 1

    def pop(self) -> T:
        for namespace in self._to_rank:
            if self._elements[namespace]:
                self._order.push(namespace)
        namespace = self._order.pop()
        self._to_rank = {namespace: None}
        self._size -= 1
        return self._elements[namespace].pop()
