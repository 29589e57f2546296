"""Whatever a tenant writes into an annotation or label has a meaning, or is reported in a short and printable text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.annotations import known, of_nodes
from volcano_py.api.annotations.reading import Annotation
from volcano_py.api.shards import node_shards


def found_in(value: Any) -> list[Annotation[Any]]:
    """Alone, or in a tuple or table."""
    several = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)
    return [each for each in several if isinstance(each, Annotation)]


ALL: dict[str, Annotation[Any]] = {
    found.key: found
    for module in (known, of_nodes, node_shards)
    for value in vars(module).values()
    for found in found_in(value)
}
TEXTS = st.one_of(
    st.text(),
    st.from_regex(r"[+-]?[0-9٣]{0,25}(\.[0-9]*)?(ns|us|ms|s|m|h|%|e[0-9]+)?"),
    st.sampled_from(["true", "T", "*", "hard", "none", "1h30m", "25%"]),
    st.text(min_size=1).map(lambda text: text * 1000),
)


@pytest.mark.parametrize("annotation", ALL.values(), ids=ALL)
@given(text=TEXTS)
def test_any_text_is_read_or_reported(annotation: Annotation[Any], text: str) -> None:
    annotations = labels = {annotation.key: text}
    value, wrong = annotation.value(annotations, labels), annotation.unreadable(annotations, labels)
    if wrong is None:
        assert value is not None
    else:
        assert value == annotation.otherwise
        assert len(wrong.message) < 600
        assert wrong.message.isprintable()
        assert wrong.message.endswith(f": {annotation.fix}; until then {annotation.meanwhile}")
