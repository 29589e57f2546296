"""Liveness and readiness as values."""

from __future__ import annotations

import pytest

from volcano_py.observe.checks import Checks


def test_without_checks_all_is_well() -> None:
    assert Checks().ready().document() == {"status": "ok", "checks": []}


def test_a_failing_check_comes_first_and_says_why() -> None:
    checks = Checks()
    checks.add_ready("informers", lambda: None)
    checks.add_ready("configuration", lambda: "line 3: unknown plugin 'dfr'")
    result = checks.ready()
    assert not result.is_ok
    assert result.document() == {
        "status": "failing",
        "checks": [
            {"name": "configuration", "ok": False, "problem": "line 3: unknown plugin 'dfr'"},
            {"name": "informers", "ok": True},
        ],
    }


def test_readiness_includes_liveness_and_not_the_other_way_round() -> None:
    checks = Checks()
    checks.add_live("loop", lambda: None)
    checks.add_ready("informers", lambda: "Pod is not synced")
    assert checks.live().is_ok
    assert [check.name for check in checks.ready().checks] == ["loop", "informers"]


def test_a_check_that_raises_is_a_failing_check() -> None:
    def broken() -> str | None:
        raise KeyError("pods")

    checks = Checks()
    checks.add_live("loop", broken)
    (check,) = checks.live().checks
    assert check.problem == "the check itself failed: KeyError: 'pods'"


def test_a_name_is_used_once_and_can_be_given_back() -> None:
    checks = Checks()
    checks.add_live("loop", lambda: None)
    with pytest.raises(ValueError, match="check 'loop' is registered already"):
        checks.add_ready("loop", lambda: None)
    checks.remove("loop")
    checks.add_ready("loop", lambda: None)
    assert checks.live().checks == ()
