"""Volcano's chart names the ConfigMap's key after the file that it was made of."""

from __future__ import annotations

import pytest

from volcano_py.config.config_key import config_key, no_config_key


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        pytest.param(["volcano-scheduler.conf"], "volcano-scheduler.conf", id="the usual key"),
        pytest.param(
            ["a.conf", "volcano-scheduler.conf", "b"], "volcano-scheduler.conf", id="the usual key among others"
        ),
        pytest.param(["volcano-scheduler-ci.conf"], "volcano-scheduler-ci.conf", id="another key alone"),
        pytest.param(["anything"], "anything", id="a key without an ending, alone"),
        pytest.param(["notes", "my.yaml"], "my.yaml", id="one with an ending"),
        pytest.param(["notes", "my.yml"], "my.yml", id="another ending"),
        pytest.param(["a.conf", "b.conf"], None, id="two candidates"),
        pytest.param(["a", "b"], None, id="two without an ending"),
        pytest.param([], None, id="none"),
    ],
)
def test_the_usual_key_or_the_only_one_that_can_be_meant(keys: list[str], found: str | None) -> None:
    assert config_key(keys) == found


def test_without_a_clear_key_the_message_says_which_there_are() -> None:
    assert no_config_key(["b.conf", "a.conf"]) == (
        "it has no key volcano-scheduler.conf, and it is not clear which of a.conf, b.conf is meant: rename that one"
    )
    assert no_config_key([]) == "it has no key volcano-scheduler.conf"
    assert no_config_key("fedcba").count(",") == 6
