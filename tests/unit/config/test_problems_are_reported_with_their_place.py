"""Every problem, all at once, with path, line and column, what was found and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from volcano_py.config import Code, ParseResult, Severity, default_configuration_text

Parse = Callable[..., ParseResult]

PLUGINS = "tiers:\n- plugins:\n  - name: gang\n  - name: predicates\n"


def only(result: ParseResult) -> tuple[str, int, int, Code, str]:
    assert len(result.problems) == 1, result.problems
    problem = result.problems[0]
    return problem.path, problem.line, problem.column, problem.code, problem.message


def test_all_errors_are_reported_at_once_in_the_order_of_the_text(parse: Parse) -> None:
    result = parse(
        """\
actions: "enqueue, alocate, ,shuffle"
tiers:
- plugins:
  - name: gang
    enableJobReady: maybe
  - name: binpack
    arguments:
      binpack.weight: many
- plugins:
  - name: numa-aware
  - name: binpak
  - gang
  - enableJobReady: true
configurations: none
"""
    )
    assert result.config is None
    assert [(problem.path, problem.line, problem.column, problem.code) for problem in result.errors] == [
        ("actions[1]", 1, 20, Code.UNKNOWN_ACTION),
        ("actions[2]", 1, 29, Code.UNKNOWN_ACTION),
        ("actions[3]", 1, 30, Code.UNSUPPORTED),
        ("tiers[0].plugins[0].enableJobReady", 5, 21, Code.WRONG_TYPE),
        ("tiers[0].plugins[1].arguments.binpack.weight", 8, 23, Code.WRONG_TYPE),
        ("tiers[1].plugins[0].name", 10, 11, Code.UNSUPPORTED),
        ("tiers[1].plugins[1].name", 11, 11, Code.UNKNOWN_PLUGIN),
        ("tiers[1].plugins[2]", 12, 5, Code.WRONG_TYPE),
        ("tiers[1].plugins[3]", 13, 5, Code.MISSING),
        ("configurations", 14, 1, Code.WRONG_TYPE),
    ]


def test_an_unknown_plugin_is_reported_with_the_closest_name(parse: Parse) -> None:
    result = parse(f"actions: allocate\n{PLUGINS}  - name: overcomit\n")
    (problem,) = result.errors
    assert problem.message.startswith('unknown plugin "overcomit" (did you mean "overcommit"?); known: binpack, ')


def test_a_plugin_of_volcano_that_is_absent_here_is_named(parse: Parse) -> None:
    result = parse(f"actions: allocate\n{PLUGINS}  - name: deviceshare\n")
    assert only(result) == (
        "tiers[0].plugins[2].name",
        6,
        11,
        Code.UNSUPPORTED,
        "the plugin deviceshare exists in Volcano but not in this scheduler; remove it",
    )


@pytest.mark.parametrize("name", ["shuffle", "gangpreempt", "gangreclaim"])
def test_an_action_of_volcano_that_is_absent_here_is_named(parse: Parse, name: str) -> None:
    result = parse(f"actions: allocate, {name}\n{PLUGINS}")
    path, line, column, code, message = only(result)
    assert (path, line, column, code) == ("actions[1]", 1, 20, Code.UNSUPPORTED)
    assert message == f"the action {name} exists in Volcano but not in this scheduler; remove it"


def test_an_action_that_volcano_dropped_is_reported_as_such(parse: Parse) -> None:
    message = only(parse(f"actions: allocate, elect\n{PLUGINS}"))[-1]
    assert message == "Volcano has dropped the action elect, and this scheduler does not have it; remove it"


@pytest.mark.parametrize("line", ["", "actions:", 'actions: ""', 'actions: "  "', "actions: ~ "])
def test_a_file_without_actions_is_invalid(parse: Parse, line: str) -> None:
    result = parse(f"{PLUGINS}{line}\n")
    assert [problem.path.partition("[")[0] for problem in result.errors] == ["actions"]


@pytest.mark.parametrize("text", ["", "   \n", "# nothing but a comment\n", "---\n", "null"])
def test_an_empty_file_is_invalid(parse: Parse, text: str) -> None:
    (problem,) = parse(text).problems
    assert (problem.severity, problem.code) == (Severity.ERROR, Code.MISSING)


@pytest.mark.parametrize("text", ["- allocate", "allocate", "42", "[]"])
def test_a_file_that_is_no_mapping_is_invalid(parse: Parse, text: str) -> None:
    _, line, column, code, message = only(parse(text))
    assert (line, column, code) == (1, 1, Code.MISSING)
    assert message.startswith("a configuration is a mapping with the keys actions and tiers, found ")


def test_for_actions_written_as_a_list_the_right_form_is_reported(parse: Parse) -> None:
    message = only(parse(f"actions: [allocate]\n{PLUGINS}"))[-1]
    assert message == 'must be text such as "enqueue, allocate, backfill", found a list'


def test_a_name_among_actions_on_several_lines_points_at_the_text(parse: Parse) -> None:
    result = parse(f"actions: >\n  enqueue,\n  nonsense\n{PLUGINS}")
    assert [(problem.path, problem.line, problem.column) for problem in result.errors] == [("actions[1]", 1, 10)]


@pytest.mark.parametrize(
    ("wrong", "path", "message"),
    [
        ("tiers: 3", "tiers", "must be a list of tiers, each with `plugins:`, found 3"),
        ("tiers: [gang]", "tiers[0]", 'a tier must be a mapping with the key plugins, found "gang"'),
        ("tiers: [{plugins: gang}]", "tiers[0].plugins", 'must be a list of plugins, each with `name:`, found "gang"'),
        (
            "tiers: [{plugins: [[]]}]",
            "tiers[0].plugins[0]",
            "a plugin must be a mapping with the key name, found a list",
        ),
        (
            "tiers: [{plugins: [~]}]",
            "tiers[0].plugins[0]",
            "a plugin must be a mapping with the key name, found nothing",
        ),
        ("tiers: [{plugins: [{name: []}]}]", "tiers[0].plugins[0].name", "must be the name of a plugin, found a list"),
        ("tiers: [{plugins: [{name: }]}]", "tiers[0].plugins[0]", "the plugin has no name; add `name:`"),
        (
            "tiers: [{plugins: [{name: gang, arguments: 3}]}]",
            "tiers[0].plugins[0].arguments",
            "must be a mapping of arguments, found 3; write each as `key: value` below it",
        ),
        ("configurations: [3]", "configurations[0]", "must be a mapping with the keys name and arguments, found 3"),
        ("configurations: [{arguments: {}}]", "configurations[0]", "the action has no name; add `name:`"),
        ("metrics: prometheus", "metrics", 'must be a mapping such as `type: prometheus`, found "prometheus"'),
        ("metrics: {tls: {a: b}}", "metrics.tls", "must be text, found a mapping; write nested keys with dots"),
        (
            "metrics: {interval: 30}",
            "metrics.interval",
            '"30" is not a duration, and a number needs its unit; write one such as 30s, 5m or 1h30m',
        ),
    ],
)
def test_a_value_of_the_wrong_shape(parse: Parse, wrong: str, path: str, message: str) -> None:
    (problem,) = parse(f"actions: allocate\n{wrong}\n").errors
    assert (problem.path, problem.message, problem.line) == (path, message, 2)


def test_a_key_that_occurs_twice_is_reported_with_both_places(parse: Parse) -> None:
    result = parse(f"actions: allocate\n{PLUGINS}    enableJobOrder: false\n    enableJobOrder: true\n")
    assert only(result) == (
        "tiers[0].plugins[1].enableJobOrder",
        7,
        5,
        Code.DUPLICATE_KEY,
        'the key "enableJobOrder" occurs twice, first at line 6, column 5; remove one',
    )


def test_all_duplicates_of_a_file_are_reported(parse: Parse) -> None:
    result = parse(f"actions: allocate\nactions: enqueue\n{PLUGINS}    name: x\ntiers: []\n")
    assert [(problem.path, problem.line) for problem in result.errors] == [
        ("actions", 2),
        ("tiers[0].plugins[1].name", 7),
        ("tiers", 8),
    ]


def test_an_argument_given_flat_and_nested_is_a_duplicate(parse_plugin: Parse) -> None:
    result = parse_plugin("binpack", "binpack.weight: 1\nbinpack:\n  weight: 2")
    assert only(result) == (
        "tiers[1].plugins[0].arguments.binpack.weight",
        11,
        17,
        Code.DUPLICATE_KEY,
        "gives the same argument as tiers[1].plugins[0].arguments.binpack.weight at line 9; remove one",
    )


def test_an_argument_given_flat_and_nested_alike_is_repeated(parse_plugin: Parse) -> None:
    result = parse_plugin("binpack", "binpack.weight: 2\nbinpack:\n  weight: 2\n  cpu: 3")
    assert result.config is not None
    assert list(result.config.plugins())[-1].arguments.model_dump()["weight"] == 2
    [problem] = [problem for problem in result.problems if problem.code is Code.REPEATED]
    assert (problem.path, problem.line) == ("tiers[1].plugins[0].arguments.binpack.weight", 11)
    assert problem.message == (
        "gives the same argument as tiers[1].plugins[0].arguments.binpack.weight at line 9; remove one"
    )


def test_an_argument_in_two_spellings_is_repeated(parse_plugin: Parse) -> None:
    result = parse_plugin("resource-strategy-fit", "sra.weight: 7\nsra.retention.weight: 7")
    assert result.config is not None
    arguments = list(result.config.plugins())[-1].arguments
    assert arguments.model_dump()["retention_weight"] == 7.0
    assert [problem.code for problem in result.problems] == [Code.REPEATED]


@pytest.mark.parametrize(
    ("text", "path", "earlier"),
    [
        ("sra.weight: 7\nsra.retention.weight: 2", "sra.retention.weight", "sra.weight"),
        ("sra.retention.weight: 2\nsra.weight: 7", "sra.weight", "sra.retention.weight"),
        ("sra:\n  retention: {a: 1}\n  resourceWeight: {b: 1, a: 2}", "sra.resourceWeight.a", "sra.retention.a"),
    ],
)
def test_two_spellings_that_contradict_each_other_are_refused(
    parse_plugin: Parse, text: str, path: str, earlier: str
) -> None:
    (problem,) = parse_plugin("resource-strategy-fit", text).problems
    assert problem.path == f"tiers[1].plugins[0].arguments.{path}"
    assert problem.code is Code.CONFLICT
    assert problem.message in (f"contradicts {earlier} at line {line}; remove one" for line in (9, 10))


@pytest.mark.parametrize(
    ("line", "path", "column", "message"),
    [
        ("tires: []", "tires", 1, 'unknown key, ignored (did you mean "tiers"?)'),
        ("metric: {}", "metric", 1, 'unknown key, ignored (did you mean "metrics"?)'),
        ("something: {}", "something", 1, "unknown key, ignored"),
    ],
)
def test_an_unknown_key_is_a_warning_and_an_error_when_strict(
    parse: Parse, line: str, path: str, column: int, message: str
) -> None:
    text = f"actions: allocate\n{PLUGINS}{line}\n"
    lenient = parse(text)
    assert only(lenient) == (path, 6, column, Code.UNKNOWN_KEY, message)
    assert lenient.config is not None
    strict = parse(text, strict=True)
    assert strict.config is None
    assert [problem.severity for problem in strict.problems] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("switch", "meant"),
    [
        ("enablePredicates", "enablePredicate"),
        ("enabledPreemptable", "enablePreemptable"),
        ("enableOverused", "enabledOverused"),
        ("enablejoborder", "enableJobOrder"),
        ("hierarchyEnable", "enableHierarchy"),
    ],
)
def test_a_misspelt_switch_is_reported_with_the_right_spelling(parse: Parse, switch: str, meant: str) -> None:
    result = parse(f"actions: allocate\n{PLUGINS}    {switch}: false\n")
    assert only(result)[-1] == f'unknown key, ignored (did you mean "{meant}"?)'


def test_a_key_of_the_same_plugin_is_not_suggested_for_its_common_beginning(parse_plugin: Parse) -> None:
    near, far = parse_plugin("binpack", "binpack.memroy: 1"), parse_plugin("binpack", "binpack.storage: 1")
    assert only(near)[-1] == 'unknown key, ignored (did you mean "binpack.memory"?)'
    assert only(far)[-1] == "unknown key, ignored"


def test_unknown_keys_of_tiers_and_action_entries(parse: Parse) -> None:
    result = parse(
        "actions: allocate\ntiers:\n- plugin: []\n  plugins:\n  - name: gang\n  - name: predicates\n"
        "configurations:\n- name: allocate\n  argument: {}\n"
    )
    assert [(problem.path, problem.code) for problem in result.problems] == [
        ("tiers[0].plugin", Code.UNKNOWN_KEY),
        ("configurations[0].argument", Code.UNKNOWN_KEY),
    ]


def test_arguments_of_an_action_that_is_not_configured_have_no_effect(parse: Parse) -> None:
    result = parse(
        f"actions: enqueue\n{PLUGINS}configurations:\n"
        "- name: preempt\n- name: shuffle\n- name: allocate\n- name: alocate\n"
    )
    reported = [(p.path, p.severity, p.message) for p in result.problems if p.path.startswith("configurations")]
    assert reported == [
        (
            "configurations[0].name",
            Severity.WARNING,
            "the action preempt is not among `actions`, so its arguments have no effect",
        ),
        (
            "configurations[1].name",
            Severity.WARNING,
            "the action shuffle does not exist in this scheduler, so its arguments have no effect",
        ),
        (
            "configurations[3].name",
            Severity.ERROR,
            'unknown action "alocate" (did you mean "allocate"?)',
        ),
    ]


def test_of_two_entries_for_an_action_the_first_holds(parse: Parse) -> None:
    result = parse(
        f"actions: allocate\n{PLUGINS}configurations:\n"
        "- name: allocate\n  arguments: {predicateErrorCacheEnable: false}\n"
        "- name: allocate\n  arguments: {predicateErrorCacheEnable: true}\n"
    )
    assert result.config is not None
    assert result.config.configurations["allocate"].model_dump() == {"predicate_cache": False}
    assert [(problem.path, problem.code) for problem in result.problems] == [("configurations[1]", Code.REPEATED)]


def test_a_plugin_listed_twice_is_allowed_and_reported(parse: Parse) -> None:
    result = parse(f"actions: allocate\n{PLUGINS}  - name: gang\n- plugins:\n  - name: gang\n")
    assert result.config is not None
    assert [(problem.path, problem.line, problem.message) for problem in result.problems] == [
        (
            "tiers[0].plugins[2]",
            6,
            "the plugin gang is listed at tiers[0].plugins[0] already; one entry is enough",
        ),
        ("tiers[1].plugins[0]", 8, "the plugin gang is listed at tiers[0].plugins[0] already; one entry is enough"),
    ]


def test_a_plugin_listed_twice_with_other_arguments_is_reported(parse: Parse) -> None:
    result = parse(
        f"actions: allocate\n{PLUGINS}  - name: binpack\n- plugins:\n"
        "  - name: binpack\n    arguments: {binpack.weight: 3}\n"
    )
    assert only(result)[-1] == (
        "the plugin binpack is listed at tiers[0].plugins[2] already, with other arguments, which are used; "
        "one entry is enough"
    )


def test_metrics_that_read_no_load_are_reported(parse: Parse) -> None:
    base = default_configuration_text()
    unknown = parse(base + "metrics:\n  type: promethius\n")
    assert only(unknown)[-1] == (
        'unknown source "promethius" (did you mean "prometheus"?), so no load is read; '
        "known: prometheus, metrics-server, prometheus_adaptor, elasticsearch"
    )
    addressless = parse(base + "metrics:\n  type: prometheus\n")
    assert only(addressless)[-1] == "prometheus needs an address, so no load is read; add `address:`"
    assert unknown.config is not None
    assert addressless.config is not None
    assert parse(base + "metrics:\n").problems == ()
    assert parse(base + "metrics:\n  type: metrics-server\n  interval: 1m\n").problems == ()
    for name in ("prometheus_adaptor", "prometheus_adapt"):
        assert parse(base + f"metrics:\n  type: {name}\n").problems == ()
    assert only(parse(base + "metrics: {type: elasticsearch}\n"))[-1].startswith("elasticsearch needs an address")
    crooked = parse(base + "metrics: {type: metrics-server, tls.insecureSkipVerify: maybe}\n")
    assert "write true or false" in only(crooked)[-1]


def test_a_list_of_actions_without_end_is_refused(parse: Parse) -> None:
    path, line, column, code, message = only(parse(f"actions: '{',' * 1_000_000}'\n"))
    assert (path, line, column, code) == ("actions", 1, 1, Code.TOO_LARGE)
    assert message == "1000001 actions; a cycle may have 1000 at most"


def test_many_problems_are_cut_off_and_counted(parse: Parse) -> None:
    result = parse("actions: allocate\n" + "".join(f"key{number}: 1\n" for number in range(500)), strict=True)
    assert result.config is None
    assert len(result.problems) == 201
    assert result.problems[-1].message == "300 more problems are not shown; fix those above first"
    assert result.problems[-1].severity is Severity.ERROR
