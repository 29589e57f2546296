"""ip() and cidr(), and what can be done with their results.

Source: "Kubernetes IP address library" and "Kubernetes CIDR library" in
https://kubernetes.io/docs/reference/using-api/cel/.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface
from typing import Final

from volcano_py.plugins.predicates.devices.cel.functions import (
    ADDRESS,
    NETWORK,
    CelType,
    Function,
    Tagged,
    is_valid,
    text_of,
)

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network


def _read(text: str) -> _Address:
    """Raises ValueError: as Kubernetes, without zones, and without IPv4 inside IPv6."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and (address.scope_id is not None or address.ipv4_mapped is not None):
        raise ValueError(f"{text!r}: an address with a zone, or of IPv4 inside IPv6, is not accepted")
    return address


def _ip(text: str) -> Tagged:
    return {ADDRESS: str(_read(text))}


def _cidr(text: str) -> Tagged:
    """The text keeps the bits of the host."""
    address, slash, length = text.partition("/")
    if not slash or not length.isdigit() or str(int(length)) != length:
        raise ValueError(f"{text!r} is not a network (an example: 192.168.0.0/24)")
    return {NETWORK: str(ip_interface((str(_read(address)), int(length))))}


def _address(value: Tagged) -> _Address:
    return ip_address(text_of(value, ADDRESS))


def _network(value: Tagged) -> _Network:
    return ip_interface(text_of(value, NETWORK)).network


def _has_address(network: Tagged, address: Tagged | str) -> bool:
    return (_read(address) if isinstance(address, str) else _address(address)) in _network(network)


def _has_network(network: Tagged, other: Tagged | str) -> bool:
    outer, inner = _network(network), _network(_cidr(other) if isinstance(other, str) else other)
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


def _is_canonical(text: str) -> bool:
    return str(_read(text)) == text


def _masked(network: Tagged) -> Tagged:
    return {NETWORK: str(_network(network))}


def _address_of(network: Tagged) -> Tagged:
    return {ADDRESS: str(ip_interface(text_of(network, NETWORK)).ip)}


def _is_global(address: _Address) -> bool:
    """As Go's IsGlobalUnicast: private addresses are global too."""
    is_broadcast = isinstance(address, IPv4Address) and address == IPv4Address(2**32 - 1)
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local or is_broadcast
    )


def _is_link_local_multicast(address: _Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in IPv4Network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 2


def _of(test: Callable[[_Address], bool]) -> Callable[[Tagged], bool]:
    return lambda value: test(_address(value))


_BOOL, _INT, _MAP, _STRING = CelType.BOOL, CelType.INT, CelType.MAP, CelType.STRING

FUNCTIONS: Final = (
    Function("ip", (_STRING,), _MAP, _ip),
    Function("isIP", (_STRING,), _BOOL, is_valid(_ip)),
    Function("ip.isCanonical", (_STRING,), _BOOL, _is_canonical),
    Function("family", (_MAP,), _INT, lambda value: _address(value).version, is_member=True),
    Function("isUnspecified", (_MAP,), _BOOL, _of(lambda address: address.is_unspecified), is_member=True),
    Function("isLoopback", (_MAP,), _BOOL, _of(lambda address: address.is_loopback), is_member=True),
    Function("isLinkLocalUnicast", (_MAP,), _BOOL, _of(lambda address: address.is_link_local), is_member=True),
    Function("isLinkLocalMulticast", (_MAP,), _BOOL, _of(_is_link_local_multicast), is_member=True),
    Function("isGlobalUnicast", (_MAP,), _BOOL, _of(_is_global), is_member=True),
    Function("cidr", (_STRING,), _MAP, _cidr),
    Function("isCIDR", (_STRING,), _BOOL, is_valid(_cidr)),
    Function("ip", (_MAP,), _MAP, _address_of, is_member=True),
    Function("masked", (_MAP,), _MAP, _masked, is_member=True),
    Function("prefixLength", (_MAP,), _INT, lambda value: _network(value).prefixlen, is_member=True),
    *(Function("containsIP", (_MAP, other), _BOOL, _has_address, is_member=True) for other in (_MAP, _STRING)),
    *(Function("containsCIDR", (_MAP, other), _BOOL, _has_network, is_member=True) for other in (_MAP, _STRING)),
)
