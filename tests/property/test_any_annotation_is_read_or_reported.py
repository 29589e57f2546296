"""Whatever a tenant writes into an annotation or label has a meaning, or is reported in a short and printable text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.annotations import known
from volcano_py.api.annotations.reading import Annotation

ALL: dict[str, Annotation[Any]] = {
    found.key: found
    for each in vars(known).values()
    for found in (each if isinstance(each, tuple) else (each,))
    if isinstance(found, Annotation)
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
