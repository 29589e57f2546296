"""Fuzzing: nothing raises, places lie inside the text, meaning does not depend on spelling."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from volcano_py.config import ParseResult, Severity, default_configuration_text, format_problems

Parse = Callable[..., ParseResult]

TOP_KEYS = ["actions", "tiers", "configurations", "metrics", "<<", ""]
ENTRY_KEYS = ["plugins", "name", "arguments", "enableHierarchy", "enablePreemptable", "interval", "type"]
DOTTED_KEYS = ["binpack.weight", "binpack", "weight", "binpack.resources", "binpack.resources.a", "sra", "resources"]
OTHER_KEYS = ["overcommit-factor", "sla-waiting-time", "tdm.evict.period"]
KEYS = [*TOP_KEYS, *ENTRY_KEYS, *DOTTED_KEYS, *OTHER_KEYS]
NAMES = ["gang", "binpack", "resource-strategy-fit", "sla", "overcommit", "drf", "proportion", "shuffle", "allocate"]
WORDS = st.one_of(
    st.sampled_from([*KEYS, *NAMES, "enqueue, allocate", ", ,", "1m30s", "1e999", "nan"]), st.text(max_size=8)
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=20,
)
ENTRIES = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES), "arguments": st.dictionaries(WORDS, TREES, max_size=4)}
)
CONFIGURATIONS = st.fixed_dictionaries(
    {
        "actions": st.one_of(st.just("enqueue, allocate"), TREES),
        "tiers": st.lists(
            st.fixed_dictionaries({"plugins": st.lists(st.one_of(ENTRIES, TREES), max_size=4)}), max_size=3
        ),
    },
    optional={"configurations": TREES, "metrics": TREES},
)
VALID = (
    default_configuration_text()
    + "  - name: binpack\n    arguments: {binpack.weight: '10', binpack: {resources: 'a, b'}}\n"
    + "configurations:\n- name: allocate\n  arguments: &x\n    predicateErrorCacheEnable: off\n- *x\n"
)
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)


def check(result: ParseResult, text: str) -> None:
    has_error = any(problem.severity is Severity.ERROR for problem in result.problems)
    assert (result.config is None) is has_error
    lines = text.count("\n") + text.count("\r") + sum(text.count(c) for c in "\x85\u2028\u2029") + 1
    for problem in result.problems:
        assert 0 <= problem.line <= lines + 1
        assert problem.column >= 0
        assert problem.message
    assert isinstance(format_problems(result.problems, text), str)


@FUZZ
@given(st.text(max_size=200))
@example("\ud800")
@example("? ")
@example('"\\ud800": "\\ud800"')
@example("!!float .nan: &a [*a]")
@example("- - - ? : -")
@example("%TAG ! tag:x\n---\n!a b")
def test_any_text(parse: Parse, text: str) -> None:
    check(parse(text), text)


@FUZZ
@given(st.text(alphabet="[]{}:-,?&*!|>%@`\"'#\n \tab0.~<", max_size=120))
def test_any_text_of_the_characters_that_mean_something_to_yaml(parse: Parse, text: str) -> None:
    check(parse(text), text)


@FUZZ
@given(tree=st.one_of(CONFIGURATIONS, TREES), strict=st.booleans())
def test_any_tree_of_values(parse: Parse, tree: Any, strict: bool) -> None:
    """JSON is YAML, except that YAML has other words for what is not finite."""
    text = json.dumps(tree, ensure_ascii=False).replace("NaN", ".nan").replace("Infinity", ".inf")
    check(parse(text, strict=strict), text)


@FUZZ
@given(
    start=st.integers(0, len(VALID)),
    length=st.integers(0, 30),
    inserted=st.one_of(st.text(max_size=5), st.sampled_from(["\n", "\t", " ", ":", "- ", "*x", "<<: *x\n", "'", "["])),
)
def test_any_slip_of_the_editor(parse: Parse, start: int, length: int, inserted: str) -> None:
    text = VALID[:start] + inserted + VALID[start + length :]
    check(parse(text), text)


@FUZZ
@given(tree=CONFIGURATIONS, comment=st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"])))
def test_spelling_does_not_change_the_meaning(parse: Parse, tree: dict[str, Any], comment: str) -> None:
    """The same tree with keys in another order, other indentation and a comment has the same digest."""
    flow, block = json.dumps(tree), json.dumps(dict(reversed(tree.items())), indent=2) + f"\n#{comment}\n"
    first, second = parse(flow), parse(block)
    assert (first.config is None) is (second.config is None)
    if first.config is not None and second.config is not None:
        assert first.config.digest == second.config.digest
        assert first.config == second.config
