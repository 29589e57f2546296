"""`--listen-address` in all its spellings, and what happens when it cannot be had."""

from __future__ import annotations

import errno
import socket

import pytest

from volcano_py.observe.listen import ListenAddress, ListenError, chosen, open_socket


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", ListenAddress("", 8080)),
        ("127.0.0.1:0", ListenAddress("127.0.0.1", 0)),
        ("localhost:80", ListenAddress("localhost", 80)),
        ("[::1]:8080", ListenAddress("::1", 8080)),
        (" 0.0.0.0:65535 ", ListenAddress("0.0.0.0", 65535)),
    ],
)
def test_an_address_is_host_and_port(text: str, address: ListenAddress) -> None:
    assert ListenAddress.parse(text) == address
    assert ListenAddress.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", "8080", "localhost", ":", ":http", ":65536", "::1:8080", ":-1", ":٣"])
def test_what_is_no_address_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT \(examples: :8080, 127\.0\.0\.1:0, \[::1\]:8080\)"):
        ListenAddress.parse(text)


async def test_port_zero_becomes_the_port_that_was_chosen() -> None:
    with await open_socket(ListenAddress("localhost", 0)) as sock:
        assert chosen(sock).port > 0


async def test_all_interfaces_are_one_socket_that_answers_on_ipv4() -> None:
    sock = await open_socket(ListenAddress("", 0))
    with sock, socket.create_connection(("127.0.0.1", chosen(sock).port)) as client:
        assert client.getpeername()[1] == chosen(sock).port


async def test_a_machine_without_ipv6_is_listened_on_with_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.create_server

    def create_server(address: tuple[str, int], *, family: int, **options: object) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return real(address, family=family)

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(socket, "create_server", create_server)
    with await open_socket(ListenAddress("", 0)) as sock:
        assert sock.family == socket.AF_INET


async def test_a_port_that_is_taken_is_named_with_the_way_out() -> None:
    with await open_socket(ListenAddress("127.0.0.1", 0)) as sock:
        taken = chosen(sock)
        with pytest.raises(
            ListenError, match=rf"cannot listen on {taken}: .*; choose another address, or port 0"
        ) as reported:
            await open_socket(taken)
    assert reported.value.errno == errno.EADDRINUSE


async def test_a_host_that_does_not_exist_is_named() -> None:
    with pytest.raises(ListenError, match=r"cannot listen on 192\.0\.2\.1:0: "):
        await open_socket(ListenAddress("192.0.2.1", 0))
