"""The cache outside the checkout."""

from __future__ import annotations

import dataclasses
import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from volcano_py.local.binaries import cache, recipes
from volcano_py.local.binaries.recipes import RECIPES, Recipe


def _copy_of_sources(recipe: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    directory = tmp_path / recipe.module
    directory.mkdir()
    for name in ("go.mod", "go.sum", "tools.go"):
        (directory / name).write_bytes((recipe.source / name).read_bytes())
    monkeypatch.setattr(recipes, "_GOMOD", tmp_path)
    return directory


def test_the_cache_is_where_xdg_says() -> None:
    assert cache.cache_root({"XDG_CACHE_HOME": "/var/cache/me", "HOME": "/home/me"}) == Path("/var/cache/me/volcano-py")


@pytest.mark.parametrize("xdg", ["", "relative/path"])
def test_without_a_usable_xdg_cache_home_the_cache_is_below_home(xdg: str) -> None:
    assert cache.cache_root({"XDG_CACHE_HOME": xdg, "HOME": "/home/me"}) == Path("/home/me/.cache/volcano-py")


def test_a_key_says_which_binary_in_which_version() -> None:
    assert RECIPES["kube-apiserver"].cache_key().startswith(f"kube-apiserver-{recipes.KUBERNETES_VERSION}-")


def test_no_two_binaries_share_a_key() -> None:
    assert len({recipe.cache_key() for recipe in RECIPES.values()}) == len(RECIPES)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "tools.go"])
def test_a_changed_pin_is_another_key(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = RECIPES["etcd"]
    before = recipe.cache_key()
    directory = _copy_of_sources(recipe, monkeypatch, tmp_path)
    assert recipe.cache_key() == before, "the same pins elsewhere are the same binary"
    (directory / name).write_text((directory / name).read_text() + "// another pin\n")
    assert recipe.cache_key() != before


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"package": "go.etcd.io/etcd/server/v4"}, id="package"),
        pytest.param({"version": "3.6.99"}, id="version"),
        pytest.param({"variables": {"main.version": "v1"}}, id="link variables"),
    ],
)
def test_another_recipe_is_another_key(changed: dict[str, object]) -> None:
    recipe = RECIPES["etcd"]
    assert dataclasses.replace(recipe, **changed).cache_key() != recipe.cache_key()  # type: ignore[arg-type]


def test_another_platform_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = RECIPES["etcd"].cache_key()
    monkeypatch.setattr("platform.machine", lambda: "riscv128")
    assert RECIPES["etcd"].cache_key() != before


def test_a_key_does_not_depend_on_how_long_a_build_takes() -> None:
    recipe = RECIPES["etcd"]
    assert dataclasses.replace(recipe, expected_seconds=1).cache_key() == recipe.cache_key()


def test_the_pins_in_go_mod_are_the_versions_we_claim() -> None:
    """The version in a key, in the messages and in the server's answer is the one that is built."""
    assert f"k8s.io/kubernetes v{recipes.KUBERNETES_VERSION}\n" in (RECIPES["kubectl"].source / "go.mod").read_text()
    assert f"server/v3 v{recipes.ETCD_VERSION}\n" in (RECIPES["etcd"].source / "go.mod").read_text()
    assert f"sigs.k8s.io/kwok v{recipes.KWOK_VERSION}\n" in (RECIPES["kwok"].source / "go.mod").read_text()


def test_no_module_needs_a_newer_go_than_the_minimum() -> None:
    for recipe in RECIPES.values():
        line = next(line for line in (recipe.source / "go.mod").read_text().splitlines() if line.startswith("go "))
        assert tuple(int(part) for part in line.removeprefix("go ").split(".")[:2]) <= recipes.MINIMUM_GO


def test_every_command_is_named_in_its_tools_go() -> None:
    """Otherwise `go mod tidy` would drop the modules it needs."""
    for recipe in RECIPES.values():
        assert f'_ "{recipe.package}"' in (recipe.source / "tools.go").read_text()


def test_an_entry_appears_when_the_block_ends_well(tmp_path: Path) -> None:
    entry = tmp_path / "cache" / "etcd-1"
    with cache.publishing(entry) as scratch:
        (scratch / "etcd").write_text("binary")
        assert not entry.exists()
    assert (entry / "etcd").read_text() == "binary"
    assert [path.name for path in entry.parent.iterdir()] == ["etcd-1"]


def test_nothing_of_a_failed_build_stays(tmp_path: Path) -> None:
    entry = tmp_path / "cache" / "etcd-1"

    def build() -> None:
        with cache.publishing(entry) as scratch:
            (scratch / "etcd").write_text("half a bin")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build()
    assert list(entry.parent.iterdir()) == []


def test_an_entry_that_appeared_in_the_meantime_stays(tmp_path: Path) -> None:
    entry = tmp_path / "etcd-1"
    with cache.publishing(entry) as scratch:
        (scratch / "etcd").write_text("second")
        entry.mkdir()
        (entry / "etcd").write_text("first")
    assert (entry / "etcd").read_text() == "first"


def _hold(path: Path, held: Event, release: Event) -> None:
    with cache.exclusive(path, lambda: None):
        held.set()
        release.wait()


def test_a_second_builder_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    lock = tmp_path / "etcd.lock"
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    first = context.Process(target=_hold, args=(lock, held, release))
    first.start()
    try:
        held.wait()
        waited: list[str] = []

        def waiting() -> None:
            waited.append("yes")
            release.set()

        with cache.exclusive(lock, waiting):
            assert waited == ["yes"]
    finally:
        release.set()
        first.join()


def test_the_lock_is_free_again_after_the_block(tmp_path: Path) -> None:
    waited: list[str] = []
    for _ in range(2):
        with cache.exclusive(tmp_path / "etcd.lock", lambda: waited.append("yes")):
            pass
    assert waited == []
