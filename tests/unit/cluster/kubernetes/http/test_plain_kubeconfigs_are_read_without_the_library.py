"""A kubeconfig with a login that is written down gives what kubernetes_asyncio makes of it, without its models."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_asyncio.config import load_kube_config

from tests.unit.cluster.fakes import kubeconfig
from volcano_py.cluster.kubernetes.http.logins import Login
from volcano_py.cluster.kubernetes.http.plain_kubeconfig import plain_kubeconfig


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


USERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a token": {"token": "secret"},
    "a token and its file": {"token": "secret", "tokenFile": "token"},
    "the file of a token": {"tokenFile": "token"},
    "a password": {"username": "jane", "password": "pass"},
    "a user without a password": {"username": "jane"},
    "a certificate": {"client-certificate-data": encoded("cert"), "client-key-data": encoded("key")},
    "the files of a certificate": {"client-certificate": "cert", "client-key": "key"},
    "both": {"client-certificate": "cert", "client-key-data": encoded("key"), "token": "secret", "as": "someone"},
}
CLUSTERS: dict[str, dict[str, Any]] = {
    "plain": {"server": "http://api:8080/"},
    "https": {"server": "https://api"},
    "a CA": {"server": "https://api", "certificate-authority-data": encoded("ca")},
    "the file of a CA": {"server": "https://api/", "certificate-authority": "./ca", "tls-server-name": "other"},
    "no CA": {"server": "https://api", "insecure-skip-tls-verify": True, "proxy-url": "http://proxy"},
}


def written(folder: Path, cluster: dict[str, Any], user: dict[str, Any], name: str = "config") -> Path:
    for file in ("ca", "cert", "key", "token"):
        (folder / file).write_text(f"{file} of {folder.name}")
    content = {
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "one", "context": {"cluster": "here", "user": "me", "namespace": "mine"}}],
        "current-context": "one",
    }
    (folder / name).write_text(yaml.safe_dump(content))
    return folder / name


def shown(login: Login) -> dict[str, Any]:
    """A login with the content of its files."""
    files = {"ssl_ca_cert", "cert_file", "key_file"}
    return {key: Path(value).read_text() if key in files and value else value for key, value in vars(login).items()}


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("user", USERS)
async def test_the_login_is_the_one_that_the_library_reads(cluster: str, user: str, tmp_path: Path) -> None:
    path = str(written(tmp_path, CLUSTERS[cluster], USERS[user]))
    ours, its = Login(), Login()
    plain = plain_kubeconfig(path, None)
    assert plain is not None
    await plain.load_and_set(ours)
    loader = await load_kube_config(path, None, client_configuration=its, persist_config=False)

    assert shown(ours) == shown(its)
    assert plain.current_context == loader.current_context


@pytest.mark.parametrize(
    "user", [{"exec": {"command": "login"}}, {"auth-provider": {"name": "oidc"}}, {"token": 7}, "none"]
)
def test_other_logins_are_left_to_the_library(user: Any, tmp_path: Path) -> None:
    assert plain_kubeconfig(str(written(tmp_path, CLUSTERS["https"], user)), None) is None


@pytest.mark.parametrize("context", ["two", ""])
def test_a_context_that_is_not_there_is_left_to_the_library(context: str, tmp_path: Path) -> None:
    assert plain_kubeconfig(str(written(tmp_path, CLUSTERS["https"], {})), context) is None


async def test_the_first_of_several_files_wins_and_paths_belong_to_their_file(tmp_path: Path) -> None:
    paths = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        cluster = {"server": f"https://{name}", "certificate-authority": "ca"}
        paths.append(str(written(tmp_path / name, cluster, USERS["the files of a certificate"])))
    login = Login()
    plain = plain_kubeconfig(os.pathsep.join([str(tmp_path / "missing"), *paths]), None)
    assert plain is not None
    await plain.load_and_set(login)

    assert login.host == "https://first"
    assert {Path(path or "").parent.name for path in (login.ssl_ca_cert, login.cert_file, login.key_file)} == {"first"}


async def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, CLUSTERS["the file of a CA"], {})
    (tmp_path / "ca").unlink()
    plain = plain_kubeconfig(str(path), None)
    assert plain is not None
    with pytest.raises(FileNotFoundError, match=r"/ca does not exist"):
        await plain.load_and_set(Login())


def test_what_is_written_down_is_for_our_eyes_and_for_as_long_as_we_run(tmp_path: Path) -> None:
    path = written(tmp_path, CLUSTERS["a CA"], USERS["a certificate"])
    code = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from volcano_py.cluster.kubernetes.http.credentials import Login, read_kubeconfig\n"
        "login = Login()\n"
        f"asyncio.run(read_kubeconfig({str(path)!r}, None, login))\n"
        "print(login.key_file, oct(Path(login.key_file).stat().st_mode))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    assert answer[1] == "0o100600"
    assert not Path(answer[0]).exists()


def test_the_library_is_not_loaded(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", "http://api")
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from volcano_py.cluster.kubernetes.http.credentials import Credentials\n"
        f"asyncio.run(Credentials.load(Path({str(path)!r})))\n"
        "assert 'kubernetes_asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
