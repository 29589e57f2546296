"""The configuration of a living daemon: from the mounted file, from the watched ConfigMap, or the built-in default."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.registries import checked_registry
from tests.unit.cluster.fakes import FakeClock
from tests.unit.state.watched import with_meta
from volcano_py.api.effects import Event
from volcano_py.api.names import CONFIG_KEY, CONFIG_MAP, SYSTEM_NAMESPACE
from volcano_py.api.objects import ObjectMeta
from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
from volcano_py.config import Outcome, OutcomeKind, Reloader
from volcano_py.daemon.live_configuration import LOOK_EVERY, ConfigurationError, LiveConfiguration

CATALOGUE = checked_registry().catalogue()
GOOD = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
BETTER = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
BAD = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gnag\n'


def config_map(text: str | None, version: str = "1") -> ConfigMap:
    meta = ObjectMeta(name=CONFIG_MAP, namespace=SYSTEM_NAMESPACE, uid="cm", resource_version=version)
    return ConfigMap(metadata=meta, data={} if text is None else {CONFIG_KEY: text})


class Bench:
    """A live configuration, and the events that it has recorded."""

    def __init__(self, file: Path | None = None, **options: bool) -> None:
        self.clock = FakeClock()
        self.changes = 0
        self.outcomes: list[Outcome] = []
        self.events: list[Event] = []
        self.live = LiveConfiguration(
            Reloader(CATALOGUE, **options),
            file=file,
            on_change=self._changed,
            on_outcome=self.outcomes.append,
            record=self.events.append,
            clock=self.clock,
        )

    def _changed(self) -> None:
        self.changes += 1

    @property
    def actions(self) -> list[str]:
        """The actions in force; none while there is no configuration."""
        return list(self.live.current.actions) if self.live.current is not None else []

    def reported(self) -> list[tuple[str, str]]:
        """Type and reason of the events since the last look."""
        reported = [(event.type, event.reason) for event in self.events]
        self.events.clear()
        return reported


# -- where it comes from -----------------------------------------------------------------------------------------


def test_without_a_file_and_without_a_config_map_the_default_holds() -> None:
    bench = Bench()
    bench.live.start(strict=False)
    assert bench.actions == []
    assert bench.live.problem() is not None, "the ConfigMap has not been listed yet"
    bench.live.replace("ConfigMap", [])
    assert bench.actions == ["enqueue", "allocate", "backfill"]
    assert bench.live.problem() is None
    assert bench.changes == 1


def test_a_config_map_that_is_there_is_taken_first() -> None:
    bench = Bench()
    bench.live.start(strict=False)
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    assert bench.actions == ["allocate"]
    assert bench.changes == 1


def test_nothing_is_scheduled_by_default_while_the_config_map_is_invalid() -> None:
    """Another text was wanted, but it cannot be read."""
    bench = Bench()
    bench.live.start(strict=False)
    bench.live.replace("ConfigMap", [config_map(BAD)])
    assert bench.live.current is None
    problem = bench.live.problem()
    assert problem is not None
    assert "no valid scheduler configuration" in problem
    bench.live.upsert("ConfigMap", config_map(GOOD, "2"))
    assert bench.actions == ["allocate"]


def test_unless_the_default_was_asked_for_in_that_case() -> None:
    bench = Bench(use_default_on_invalid=True)
    bench.live.start(strict=False)
    bench.live.replace("ConfigMap", [config_map(BAD)])
    assert bench.actions == ["enqueue", "allocate", "backfill"]


def test_the_mounted_file_holds_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "volcano-scheduler.conf"
    file.write_text(GOOD)
    bench = Bench(file)
    bench.live.start(strict=False)
    assert bench.actions == ["allocate"]
    bench.live.replace("ConfigMap", [])
    assert bench.actions == ["allocate"], "the default is for those without a file"


@pytest.mark.parametrize("text", [None, BAD])
def test_strict_refuses_to_start_without_a_valid_file(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "volcano-scheduler.conf"
    if text is not None:
        file.write_text(text)
    with capture_logs(), pytest.raises(ConfigurationError, match=r"conf is not a valid configuration and --strict"):
        Bench(file, strict=True).live.start(strict=True)


# -- edits -------------------------------------------------------------------------------------------------------


def test_an_edit_of_the_config_map_is_in_force_at_once_and_reported() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    assert bench.reported() == [("Normal", "ConfigurationLoaded")]
    bench.live.upsert("ConfigMap", config_map(BETTER, "2"))
    assert bench.actions == ["enqueue", "allocate"]
    assert (bench.changes, bench.reported()) == (2, [("Normal", "ConfigurationLoaded")])


def test_an_invalid_edit_keeps_the_last_good_one_and_says_where_it_is_wrong() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.reported()
    with capture_logs() as logs:
        bench.live.upsert("ConfigMap", config_map(BAD, "2"))
    assert bench.actions == ["allocate"]
    assert bench.changes == 1
    (event,) = bench.events
    assert (event.about.kind, event.about.key, event.type, event.reason) == (
        "ConfigMap",
        f"{SYSTEM_NAMESPACE}/{CONFIG_MAP}",
        "Warning",
        "InvalidConfiguration",
    )
    assert event.message.startswith("the last good one stays in force: line 4, column ")
    assert "gnag" in event.message
    assert "\n" not in event.message, "kubectl get events shows the first line"
    assert [entry["event"] for entry in logs] == ["configuration rejected"]


def test_a_key_that_is_misspelt_is_reported_although_nothing_else_changes() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.reported()
    with capture_logs() as logs:
        bench.live.upsert("ConfigMap", config_map(f"{GOOD}    enablePreemtable: true\n", "2"))
        bench.live.upsert("ConfigMap", config_map(f"{GOOD}    enablePreemtable: true\n", "3"))
    assert bench.changes == 1
    (event,) = bench.events
    assert (event.type, event.reason) == ("Warning", "ConfigurationWarning")
    assert event.message.startswith("line 6, column 5: ")
    assert "enablePreemtable" in event.message
    assert [entry["event"] for entry in logs] == ["configuration warnings"]


def test_a_new_configuration_with_warnings_is_in_force_and_they_are_reported() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.reported()
    bench.live.upsert("ConfigMap", config_map(f"{BETTER}    enablePreemtable: true\n", "2"))
    assert bench.reported() == [("Normal", "ConfigurationLoaded"), ("Warning", "ConfigurationWarning")]
    assert bench.changes == 2


def test_the_same_edit_again_is_reported_once() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.live.upsert("ConfigMap", with_meta(config_map(GOOD), labels={"a": "b"}))
    assert bench.changes == 1
    assert [outcome.kind for outcome in bench.outcomes] == [
        OutcomeKind.ACCEPTED,
        OutcomeKind.UNCHANGED,
        OutcomeKind.UNCHANGED,
    ]


def test_the_note_of_an_event_is_as_long_as_the_api_server_takes() -> None:
    bench = Bench()
    wrong = "".join(f"  - name: no-such-plugin-{index}\n" for index in range(200))
    with capture_logs():
        bench.live.upsert("ConfigMap", config_map(f"actions: allocate\ntiers:\n- plugins:\n{wrong}"))
    (event,) = bench.events
    assert 700 < len(event.message) <= 1000
    assert event.message.endswith(" more in the log and by volcano-py config check"), "none is cut in two"


def test_a_config_map_without_the_key_is_reported() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.reported()
    with capture_logs():
        bench.live.upsert("ConfigMap", config_map(None, "2"))
    (event,) = bench.events
    assert event.reason == "InvalidConfiguration"
    assert "it has no key volcano-scheduler.conf" in event.message
    assert bench.actions == ["allocate"]


def test_a_deleted_config_map_leaves_its_configuration_in_force() -> None:
    bench = Bench()
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    with capture_logs():
        bench.live.delete("ConfigMap", config_map(GOOD))
        bench.live.replace("ConfigMap", [])
    assert bench.actions == ["allocate"]


@pytest.mark.parametrize("broken", [BAD, None])
@pytest.mark.parametrize("is_reported", [True, False])
def test_with_the_config_map_goes_what_was_wrong_with_it(broken: str | None, is_reported: bool) -> None:
    """Nothing is left that could be fixed; the same text, should it come again, is as wrong as before."""
    bench = Bench()
    with capture_logs():
        bench.live.replace("ConfigMap", [config_map(GOOD)])
        bench.live.upsert("ConfigMap", config_map(broken, "2"))
        if is_reported:
            bench.live.delete("ConfigMap", config_map(broken, "2"))
        else:
            bench.live.replace("ConfigMap", [])
        bench.live.upsert("ConfigMap", config_map(broken, "3"))
    assert [outcome.valid for outcome in bench.outcomes] == [True, False, True, False]
    assert bench.outcomes[-1].kind is OutcomeKind.REJECTED
    assert bench.actions == ["allocate"]


def test_a_deleted_config_map_that_never_was_valid_leaves_the_default() -> None:
    """No other text is wanted any more; a restart would have the same result."""
    bench = Bench()
    with capture_logs() as logs:
        bench.live.replace("ConfigMap", [config_map(BAD)])
        bench.live.delete("ConfigMap", config_map(BAD))
    assert bench.actions == ["enqueue", "allocate", "backfill"]
    assert [(entry["event"], entry["origin"]) for entry in logs[1:]] == [("configuration in force", "built-in default")]


def test_with_an_invalid_file_that_is_mounted_from_it_nothing_is_scheduled_either_way(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "conf").write_text(BAD)
    (tmp_path / "..data").symlink_to(data)
    (tmp_path / "conf").symlink_to(tmp_path / "..data" / "conf")
    bench = Bench(tmp_path / "conf")
    with capture_logs() as logs:
        bench.live.start(strict=False)
        bench.live.delete("ConfigMap", config_map(BAD))
    assert bench.actions == []
    assert logs[-1]["event"] == "ConfigMap deleted; nothing is scheduled until the file is valid"


# -- the file ----------------------------------------------------------------------------------------------------


class Mounted:
    """A file that a user edits."""

    def __init__(self, path: Path, text: str | None = GOOD) -> None:
        self.path = path
        if text is not None:
            self.write(text)

    def write(self, content: str | bytes) -> None:
        self.path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def remove(self) -> None:
        self.path.unlink()


@pytest.fixture
def file(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path / "volcano-scheduler.conf")


async def followed(bench: Bench, seconds: float = LOOK_EVERY) -> None:
    """The file is followed for so long."""
    task = asyncio.create_task(bench.live.follow_file())
    await bench.clock.advance(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_edit_of_the_file_is_seen_at_the_next_look(file: Mounted) -> None:
    bench = Bench(file.path)
    bench.live.start(strict=False)
    file.write(BETTER)
    await followed(bench, LOOK_EVERY / 2)
    assert bench.actions == ["allocate"]
    await followed(bench)
    assert bench.actions == ["enqueue", "allocate"]
    assert bench.changes == 2


def link_to(mount: Path, name: str, text: str) -> None:
    """`..data` is from now on a folder of that name with that configuration."""
    (mount / name).mkdir()
    (mount / name / "conf").write_text(text)
    (mount / "next").symlink_to(mount / name)
    (mount / "next").rename(mount / "..data")


async def test_a_file_that_is_swapped_by_a_link_is_seen(tmp_path: Path) -> None:
    """As a kubelet updates a mounted ConfigMap: the path stays, what it points at is another file."""
    link_to(tmp_path, "old", GOOD)
    bench = Bench(tmp_path / "..data" / "conf")
    bench.live.start(strict=False)
    link_to(tmp_path, "new", BETTER)
    await followed(bench)
    assert bench.actions == ["enqueue", "allocate"]


def test_of_a_mounted_config_map_an_edit_counts_before_the_kubelet_brings_it(tmp_path: Path) -> None:
    link_to(tmp_path, "old", GOOD)
    (tmp_path / "conf").symlink_to(tmp_path / "..data" / "conf")
    bench = Bench(tmp_path / "conf")
    bench.live.start(strict=False)
    bench.live.replace("ConfigMap", [config_map(GOOD)])
    bench.live.upsert("ConfigMap", config_map(BETTER, "2"))
    assert bench.actions == ["enqueue", "allocate"]


def test_with_a_file_of_its_own_the_config_map_of_the_cluster_does_not_count(file: Mounted) -> None:
    bench = Bench(file.path)
    bench.live.start(strict=False)
    with capture_logs() as logs:
        bench.live.replace("ConfigMap", [config_map(BETTER)])
        bench.live.upsert("ConfigMap", config_map(BAD, "2"))
        bench.live.delete("ConfigMap", config_map(BAD, "2"))
    assert bench.actions == ["allocate"]
    assert (bench.changes, bench.reported()) == (1, [])
    assert {entry["event"] for entry in logs} == {"ConfigMap ignored: a configuration file is in use"}


async def test_a_file_that_is_not_touched_is_not_read(file: Mounted) -> None:
    bench = Bench(file.path)
    bench.live.start(strict=False)
    await followed(bench, 10 * LOOK_EVERY)
    assert [outcome.kind for outcome in bench.outcomes] == [OutcomeKind.ACCEPTED]


@pytest.mark.parametrize("content", [BAD.encode(), b"\xff\xfe\x00", b"actions: [\n"])
async def test_an_invalid_file_keeps_the_last_good_one_and_is_reported_once(file: Mounted, content: bytes) -> None:
    bench = Bench(file.path)
    bench.live.start(strict=False)
    file.write(content)
    with capture_logs() as logs:
        await followed(bench, 5 * LOOK_EVERY)
    assert bench.actions == ["allocate"]
    assert [entry["event"] for entry in logs] == ["configuration rejected"]


async def test_a_file_that_vanishes_and_comes_back_is_reported_once(file: Mounted) -> None:
    bench = Bench(file.path)
    bench.live.start(strict=False)
    file.remove()
    with capture_logs() as logs:
        await followed(bench, 5 * LOOK_EVERY)
    assert [entry["event"] for entry in logs] == ["configuration rejected"]
    assert [outcome.valid for outcome in bench.outcomes] == [True, False]
    file.write(GOOD)
    await followed(bench)
    assert [outcome.valid for outcome in bench.outcomes] == [True, False, True]
    assert bench.actions == ["allocate"]


async def test_a_file_that_is_missing_at_the_start_is_taken_when_it_comes(tmp_path: Path) -> None:
    file = Mounted(tmp_path / "conf", None)
    bench = Bench(file.path)
    with capture_logs() as logs:
        bench.live.start(strict=False)
        await followed(bench, 5 * LOOK_EVERY)
    assert [entry["event"] for entry in logs] == ["configuration rejected"]
    assert len(bench.outcomes) == 1, "an absence that lasts is no news"
    file.write(GOOD)
    await followed(bench)
    assert bench.actions == ["allocate"]


def test_a_config_map_whose_key_has_the_name_of_its_file_counts() -> None:
    bench = Bench()
    bench.live.upsert("ConfigMap", with_data({"volcano-scheduler-ci.conf": GOOD}))
    assert bench.actions == ["allocate"]


def test_of_several_keys_none_is_guessed() -> None:
    bench = Bench()
    bench.live.upsert("ConfigMap", with_data({"a.conf": GOOD, "b.conf": GOOD}))
    assert bench.actions == []
    assert "not clear which of a.conf, b.conf" in bench.live.rejected


def test_what_is_wrong_with_the_newest_text_is_known_until_it_is_fixed_or_gone() -> None:
    """`/status` shows it."""
    bench = Bench()
    bench.live.upsert("ConfigMap", config_map(GOOD))
    assert bench.live.rejected == ""
    bench.live.upsert("ConfigMap", config_map(BAD, "2"))
    assert "gnag" in bench.live.rejected
    assert ":4:11: error" in bench.live.rejected
    bench.live.upsert("ConfigMap", config_map(GOOD, "3"))
    assert bench.live.rejected == ""
    bench.live.upsert("ConfigMap", config_map(BAD + "\n", "4"))
    bench.live.delete("ConfigMap", config_map(BAD + "\n", "4"))
    assert bench.live.rejected == ""


def with_data(data: dict[str, str]) -> ConfigMap:
    return ConfigMap(metadata=config_map(None).metadata, data=data)
