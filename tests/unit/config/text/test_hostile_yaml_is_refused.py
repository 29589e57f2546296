"""Broken, oversized and malicious YAML: always a problem with a place, never an exception or a hang."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from volcano_py import yaml_events
from volcano_py.config import Code, ParseResult, Severity
from volcano_py.config.text import document as document_module
from volcano_py.config.text.document import MAX_BYTES, MAX_DEPTH, MAX_NODES, read_document
from volcano_py.config.text.problems import Problem, Problems
from volcano_py.config.text.tree import Node, plain

Parse = Callable[..., ParseResult]


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def _each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's parsers must behave alike: which one there is depends on how PyYAML was built."""
    if request.param == "python":
        monkeypatch.setattr(yaml_events, "_LOADER", yaml.SafeLoader)


def read(text: str) -> tuple[Node | None, tuple[Problem, ...]]:
    problems = Problems()
    return read_document(text, problems), problems.in_order()


def refused(text: str) -> Problem:
    _, problems = read(text)
    (problem,) = problems
    assert problem.severity.value == "error"
    return problem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("actions: [allocate\ntiers: []\n", 2),
        ('actions: "allocate\n', 2),
        ("actions: allocate\n tiers: []\n", 2),
        ("actions: allocate: enqueue\n", 1),
        ("actions: @allocate\n", 1),
        ("a: b\n- c\n", 2),
        ("%YAML 3.0\n---\na: b\n", 1),
        ("a: 'b\n\n\n", 4),
    ],
)
def test_text_that_is_not_yaml_is_refused_at_its_line(parse: Parse, text: str, line: int) -> None:
    (problem,) = parse(text).problems
    assert (problem.severity, problem.code, problem.line) == (Severity.ERROR, Code.SYNTAX, line)
    assert problem.message.startswith("not valid YAML: ")


def test_the_message_for_broken_yaml_says_what_was_expected() -> None:
    problem = refused("actions: [allocate\ntiers: {}\n")
    assert (problem.code, problem.line) == (Code.SYNTAX, 2)
    assert problem.message.startswith("not valid YAML: ")
    assert "starts at line 1" in problem.message


def test_tabs_are_named_as_the_cause() -> None:
    problem = refused("tiers:\n- plugins:\n\t- name: gang\n")
    assert problem.line == 3
    assert problem.message.endswith("; indent with spaces, tabs are not allowed")


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x7f", "\ud800", "\ufffe"])
def test_characters_that_yaml_forbids_are_named_with_their_place(character: str) -> None:
    problem = refused(f"actions: allocate\ntiers: x{character}\n")
    assert (problem.line, problem.column) == (2, 9)
    assert problem.message == f"the character U+{ord(character):04X} is not allowed in YAML; remove it"


def test_a_byte_order_mark_is_no_problem() -> None:
    node, problems = read("\ufeffactions: allocate\n")
    assert node is not None
    assert problems == ()


def test_text_beyond_the_size_of_a_config_map_is_refused() -> None:
    problem = refused("#" * (MAX_BYTES + 1))
    assert problem.code is Code.TOO_LARGE
    assert problem.message == f"{MAX_BYTES + 1} bytes; a configuration may have {MAX_BYTES} at most"


def test_size_is_counted_in_bytes() -> None:
    assert refused("#" + "é" * (MAX_BYTES // 2)).code is Code.TOO_LARGE
    assert read("#" + "é" * 1000)[1] == ()


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    problem = refused("\n".join(levels))
    assert problem.code is Code.TOO_LARGE
    assert problem.message.startswith(f"more than {MAX_NODES} values once aliases are expanded")


def test_a_deep_chain_of_aliases_is_refused() -> None:
    levels = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MAX_DEPTH + 1)]
    problem = refused("\n".join(levels))
    assert (problem.code, problem.message) == (Code.TOO_LARGE, f"nested deeper than {MAX_DEPTH} levels")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "[{a: "])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert refused(opening * 5_000).code is Code.TOO_LARGE


def test_nesting_within_the_limit_is_read() -> None:
    depth = MAX_DEPTH - 2
    node, problems = read("[" * depth + "]" * depth)
    assert node is not None
    assert problems == ()


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list itself is one. With few of them, as PyYAML's own parser takes seconds for as many as there may be."""
    monkeypatch.setattr(document_module, "MAX_NODES", 1000)
    assert read("- x\n" * 999)[1] == ()
    assert refused("- x\n" * 1000).code is Code.TOO_LARGE


def test_an_alias_inside_what_it_refers_to_is_refused() -> None:
    problem = refused("a: &a\n  b: *a\n")
    assert (problem.line, problem.message) == (2, "the alias *a is inside the value that it refers to")


def test_an_alias_without_an_anchor_is_refused() -> None:
    assert refused("a: *nowhere\n").message == "the alias *nowhere has no anchor &nowhere before it"


@pytest.mark.parametrize("tag", ["!!python/object:os.system", "!!binary", "!!set", "!custom", "!!timestamp"])
@pytest.mark.parametrize("value", ["x", "[x]", "{x: 1}"])
def test_tags_beyond_the_basic_ones_are_refused(tag: str, value: str) -> None:
    problem = refused(f"a: {tag} {value}\n")
    assert problem.code is Code.SYNTAX
    assert problem.message.endswith(" is not supported; remove it")


def test_basic_tags_convert() -> None:
    node, problems = read(
        'a: [!!str 1, !!int "2", !!float "3", !!bool "yes", !!null "", ! 4, !!seq [], !!map {}, !!int 0x1_0]'
    )
    assert node is not None
    assert problems == ()
    assert plain(node) == {"a": ["1", 2, 3.0, True, None, "4", [], {}, 16]}


def test_a_basic_tag_that_does_not_fit_is_refused() -> None:
    assert refused("a: !!int many").message == '"many" is tagged !!int but is not one'


def test_keys_must_be_text() -> None:
    assert refused("? [a]\n: b\n").message == "a key must be plain text, not a list or a mapping"


def test_keys_that_look_like_other_types_are_text() -> None:
    node, problems = read("{1: a, true: b, ~: c, 1.5: d, on: e}")
    assert node is not None
    assert plain(node) == {"1": "a", "true": "b", "~": "c", "1.5": "d", "on": "e"}
    assert problems == ()


def test_only_the_first_document_is_read() -> None:
    node, (problem,) = read("a: 1\n---\nb: [\n")
    assert node is not None
    assert plain(node) == {"a": 1}
    assert (problem.line, problem.message) == (2, "only the first YAML document is read; remove the others")


def test_merging_takes_what_is_missing_and_the_first_source_wins() -> None:
    node, problems = read("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {c: 3, <<: [*x, *y]}\nw: {'<<': 1}")
    assert node is not None
    assert problems == ()
    assert plain(node) == {
        "x": {"a": 1, "b": 1},
        "y": {"b": 2, "c": 2},
        "z": {"c": 3, "a": 1, "b": 1},
        "w": {"<<": 1},
    }


@pytest.mark.parametrize("source", ["1", "[1]", "[[]]"])
def test_merging_what_is_no_mapping_is_refused(source: str) -> None:
    assert refused(f"a: {{<<: {source}}}").message.startswith('"<<" merges mappings only')


def test_very_long_names_are_shortened_in_messages(parse: Parse) -> None:
    result = parse(f"actions: {'a' * 100_000}\ntiers:\n- plugins:\n  - name: {'b' * 100_000}\n{'c' * 900}: 1\n")
    assert len(result.errors) >= 2
    assert all(len(problem.message) < 300 and len(problem.path) < 100 for problem in result.problems)


def test_control_characters_from_escapes_do_not_reach_the_terminal(parse: Parse) -> None:
    result = parse('actions: "\\e[2Jx\\u202e"\n"\\e]0;x\\a": 1\n')
    assert all(text.isprintable() for problem in result.problems for text in (problem.message, problem.path))
