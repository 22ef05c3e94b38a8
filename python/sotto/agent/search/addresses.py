"""Which addresses a search may fetch from: those of the internet, unless it is allowed more."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from ..threads import value_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Origin = tuple[str, str, int]

_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv6 addresses that stand for IPv4 ones


class FetchError(Exception):
    """A server was not asked, or did not answer as expected."""


def parts_of(url: str) -> SplitResult:
    """Returns the parts of an address "http://..." or "https://...".

    Raises:
        FetchError: It is another one, or it contains a user name.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise FetchError("the address is not a URL") from None
    if parts.scheme not in _PORTS or not parts.hostname or len(url) > 8192:
        raise FetchError("the address is not http://... or https://...")
    if "@" in parts.netloc:
        raise FetchError("the address contains a user name")
    return parts


def origin_of(parts: SplitResult) -> Origin:
    """Returns scheme, host and port of an address."""
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]


async def addresses_of(origin: Origin, *, private: bool) -> list[str]:
    """Returns the IP addresses of a host.

    Args:
        origin: Scheme, host and port.
        private: True: also those of this machine and of private networks.

    Raises:
        FetchError: The host is unknown, or one of its addresses is not of the internet.
    """
    _, host, port = origin
    try:
        found = [ipaddress.ip_address(host)]
    except ValueError:
        found = await value_of(lambda: look_up(host, port))
    if not found:
        raise FetchError(f"the host '{host}' is unknown")
    if not private and not all(map(is_public, found)):
        raise FetchError(f"the host '{host}' is not of the internet; pass allow_private=True to allow it")
    return [str(one) for one in found]


def look_up(host: str, port: int) -> list[Address]:
    """Asks the system for the IP addresses of a host. Waits for the network."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def is_public(address: Address) -> bool:
    """Returns True if an address is of the internet, not of a machine, a private network or a group."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
