"""Which class offers a resource: the newest of those that name it, then the first by name."""

from __future__ import annotations

from volcano_py.state.devices.claims import Class
from volcano_py.state.extended.offers import Offers

GPU = "example.com/gpu"


class Book:
    """Classes as they come and go."""

    def __init__(self) -> None:
        self.classes: dict[str, Class] = {}
        self.offers = Offers(self.classes.get)

    def put(self, name: str, resource: str = "", *, created: float = 0.0) -> set[str]:
        old, new = self.classes.get(name), Class((), (), resource, created)
        self.classes[name] = new
        return self.offers.put(name, old, new)

    def remove(self, name: str) -> set[str]:
        return self.offers.put(name, self.classes.pop(name), None)


def test_the_newest_class_wins_and_then_the_first_by_name() -> None:
    book = Book()
    book.put("b", GPU, created=1.0)
    assert book.offers.device_class(GPU) == "b"
    book.put("a", GPU, created=1.0)
    assert book.offers.device_class(GPU) == "a"
    book.put("z", GPU, created=2.0)
    assert book.offers.device_class(GPU) == "z"
    book.remove("z")
    assert book.offers.device_class(GPU) == "a"
    book.remove("a")
    book.remove("b")
    assert book.offers.device_class(GPU) is None
    assert (GPU in book.offers, list(book.offers.resources())) == (False, [])


def test_every_class_is_offered_under_its_own_name() -> None:
    book = Book()
    book.put("gpu")
    assert book.offers.device_class("deviceclass.resource.kubernetes.io/gpu") == "gpu"
    assert "deviceclass.resource.kubernetes.io/other" not in book.offers


def test_a_class_that_names_another_resource_concerns_both() -> None:
    book = Book()
    assert book.put("gpu", GPU) == {GPU, "deviceclass.resource.kubernetes.io/gpu"}
    assert book.put("gpu", "example.com/tpu") == {GPU, "example.com/tpu", "deviceclass.resource.kubernetes.io/gpu"}
    assert (book.offers.device_class(GPU), book.offers.device_class("example.com/tpu")) == (None, "gpu")
