"""YAML that is small and stands for much, or nests without end: refused with a place, before anything is made of it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from volcano_py import yaml_events
from volcano_py.cluster import manifests
from volcano_py.cluster.manifests import ManifestError, read_paths, read_text
from volcano_py.cluster.yaml_bounds import DEEPEST, MOST_ALIASED

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
MERGED = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12))


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def _each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(yaml_events, "_LOADER", yaml.SafeLoader)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(BOMB, f"line 6, column 20: aliases expand to more than {MOST_ALIASED} values", id="bomb"),
        pytest.param(MERGED, f"aliases expand to more than {MOST_ALIASED} values", id="merged"),
        pytest.param(f"a: &a {'x' * 200_000}\nb: [{'*a, ' * 60}]", "aliases expand to more than", id="long text"),
        pytest.param("a: &a [*a]", "line 1, column 8: the alias *a is inside the value that it refers to", id="itself"),
        pytest.param("[" * 100_000, f"nested deeper than {DEEPEST} levels", id="lists"),
        pytest.param('{"a":' * 100_000, f"nested deeper than {DEEPEST} levels", id="mappings"),
        pytest.param("- " * 100_000, f"nested deeper than {DEEPEST} levels", id="indented"),
        pytest.param('{"a":' * 500 + "1" + "}" * 500, f"nested deeper than {DEEPEST} levels", id="JSON"),
        pytest.param(
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200)),
            f"nested deeper than {DEEPEST} levels",
            id="deep by aliases",
        ),
        pytest.param("a: " + "9" * 10_000, "a number of more than 1000 characters", id="digits"),
        pytest.param("a: " + "1:" * 10_000 + "1", "a number of more than 1000 characters", id="base of 60"),
        pytest.param("a: 2026-13-01", "a value cannot be read: month must be in 1..12", id="no such day"),
        pytest.param("a: *b", "found undefined alias", id="undefined"),
    ],
)
def test_it_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ManifestError) as refused:
        read_text(text, "x.yaml")
    assert str(refused.value).startswith("x.yaml: ")
    assert problem in str(refused.value)


def test_aliases_that_stand_for_little_are_read() -> None:
    (document,) = read_text("kind: X\nlabels: &l {a: b}\nfirst: *l\nsecond: {<<: *l, c: d}")
    assert document.body["first"] == {"a": "b"}
    assert document.body["second"] == {"a": "b", "c": "d"}


def test_an_anchor_ends_with_its_document() -> None:
    one, two = read_text("a: &x 1\nb: *x\n---\na: &x 3\nb: *x")
    assert (one.body["b"], two.body["b"]) == (1, 3)
    with pytest.raises(ManifestError, match="undefined alias"):
        read_text("a: &x 1\n---\nb: *x")


def test_nesting_within_the_bound_is_read() -> None:
    text = "a: " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert len(read_text(text)) == 1
    with pytest.raises(ManifestError):
        read_text(text.replace("a: ", "a: [").replace("]", "]]", 1))


def test_a_huge_file_is_refused_without_being_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MOST_CHARACTERS", 1000)
    (tmp_path / "x.yaml").write_text("a: " + "x" * 1000)
    with pytest.raises(ManifestError, match=r"x\.yaml: more than 1000 characters; split it into several files"):
        read_paths([tmp_path / "x.yaml"])


@given(st.lists(st.sampled_from(["&a ", "*a ", "[", "]", "{", "}", "- ", "x", ": ", ", ", "\n", "<<", "  ", "1"])))
@example(["&a ", "[", "*a ", "]"])
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    with contextlib.suppress(ManifestError):
        assert all(isinstance(each.body, dict) for each in read_text("".join(pieces)))
