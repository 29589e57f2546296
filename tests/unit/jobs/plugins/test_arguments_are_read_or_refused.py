"""Arguments of job plugins: what Volcano's plugins take is read, unknown ones are ignored, wrong values refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.jobs.plugins import BUILTIN, JobPlugin, PluginArgumentError
from volcano_py.jobs.plugins.arguments import Arguments


def arguments(*given: str, warnings: list[str] | None = None) -> Arguments:
    found = [] if warnings is None else warnings
    return Arguments("demo", given, known=("port", "on", "name"), switches=frozenset({"on"}), warnings=found)


@pytest.mark.parametrize("spelling", [["--port=80"], ["-port=80"], ["--port", "80"], ["--port=1", "--port=80"]])
def test_values_are_given_in_the_ways_of_go(spelling: list[str]) -> None:
    assert arguments(*spelling).port("port", 22) == 80


@pytest.mark.parametrize(
    ("spelling", "value"), [(["--on"], True), (["--on=true"], True), (["--on=F"], False), (["--on", "--port=1"], True)]
)
def test_switches_need_no_value(spelling: list[str], value: bool) -> None:
    assert arguments(*spelling).switch("on", False) is value


def test_what_is_left_out_has_its_default() -> None:
    none = arguments()
    assert (none.port("port", 22), none.switch("on", True), none.text("name", "n")) == (22, True, "n")


@pytest.mark.parametrize("value", ["0", "65536", "-1", "22x", "", " 22", "2_2", "²", "9" * 5000])
def test_a_port_is_a_number_from_1_to_65535(value: str) -> None:
    with pytest.raises(PluginArgumentError, match=r"spec.plugins.demo: --port is .*whole number from 1 to 65535"):
        arguments(f"--port={value}").port("port", 22)


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        (["--port"], "--port has no value; write --port=VALUE"),
        (["--port=1"] * 101, "101 arguments are given; at most 100 are read"),
    ],
)
def test_an_argument_that_is_not_whole_is_refused(spelling: list[str], message: str) -> None:
    with pytest.raises(PluginArgumentError, match=message):
        arguments(*spelling)


@pytest.mark.parametrize("spelling", ["--prot=22", "22", "port=22", "--prot"])
def test_an_argument_that_is_not_known_is_ignored_with_a_warning(spelling: str) -> None:
    """Volcano logs it, and the Job runs. The other arguments count."""
    warnings: list[str] = []
    given = arguments(spelling, "--port=23", warnings=warnings)
    assert given.port("port", 22) == 23
    assert warnings == [
        f"spec.plugins.demo: '{spelling}' is not one of its arguments, and is ignored (known: --port, --on, --name)"
    ]


def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(PluginArgumentError, match="--on is 'yes'; write true or false"):
        arguments("--on=yes").switch("on", False)


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(PluginArgumentError, match="--name is empty"):
        arguments("--name=").text("name", "n")


@pytest.mark.parametrize("plugin", BUILTIN, ids=lambda plugin: plugin.name)
def test_each_plugin_works_without_arguments_and_with_those_that_it_does_not_know(plugin: type[JobPlugin]) -> None:
    assert (plugin().arguments, plugin().warnings) == ((), [])
    (warning,) = plugin(["--nonsense"]).warnings
    assert warning.startswith(f"spec.plugins.{plugin.name}: '--nonsense' is not one of its arguments, and is ignored")


@given(st.sampled_from(BUILTIN), st.lists(st.text(max_size=30), max_size=4))
def test_any_text_is_either_read_or_refused(plugin: type[JobPlugin], texts: list[str]) -> None:
    """Users write these; whatever they write may stop their job, but nothing else."""
    refusal = ""
    try:
        plugin(texts)
    except PluginArgumentError as error:
        refusal = str(error)
    assert not refusal or refusal.startswith(f"spec.plugins.{plugin.name}: ")
