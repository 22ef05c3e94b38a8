"""`IngressSettings`: where an ingress listens, when a replica counts as lost, and limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from .words import checked_path


@dataclass(frozen=True)
class IngressSettings:
    """Where an ingress listens, when a replica counts as lost, and limits. Times are seconds.

    Attributes:
        address: IP address to listen at; one of a private network, unless `certificate` is set.
        port: Port to listen at.
        certificate: PEM file with a certificate chain and its private key; None: no TLS.
        threads: Threads of HAProxy.
        max_connections: Connections of clients at once; further ones wait in the system's queue.
        weight: Points of a replica on the hash ring, divided by 16, up to 256. More points share sessions out
            more evenly: with 16 points, the busiest of 20 replicas has 48 % more sessions than the mean.
        load_factor: Most requests of a replica, in percent of the mean of all replicas, above which its
            sessions move to the next replica on the ring; 0: sessions never move because of load.
        health_path: Path that answers 200 if a replica takes requests, and 404 while it drains.
        check_interval: Time between two health checks.
        check_timeout: Time within which a check must be answered.
        fall: Failed checks in a row after which a replica is down: its requests are ended, and its sessions
            move until it is up.
        rise: Successful checks in a row after which it is up.
        connect_timeout: Time for a connection to a replica; then the request goes to another one.
        retries: Further attempts for a request whose replica did not begin to answer.
        timeout: Longest silence of a replica or a client amid a request.
        body_timeout: Time within which a body must arrive, where the session is read from it.
        drain: Time for which a former configuration serves its running requests after a reload.
        buffer: Bytes of a request that are held. A longer request is not retried once it was sent, and its
            session is looked for in its first bytes alone.
    """

    address: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    threads: int = 1
    max_connections: int = 4096
    weight: int = 100
    load_factor: int = 0
    health_path: str = "/ready"
    check_interval: float = 0.5
    check_timeout: float = 1.0
    fall: int = 3
    rise: int = 2
    connect_timeout: float = 0.5
    retries: int = 3
    timeout: float = 600.0
    body_timeout: float = 5.0
    drain: float = 600.0
    buffer: int = 64 << 10

    def __post_init__(self) -> None:
        checked_address("address", self.address)
        checked_path("health_path", self.health_path)
        if self.certificate is not None:
            checked_path("certificate", str(self.certificate))
        for name, least, most in (
            ("port", 1, 65535),
            ("threads", 1, 64),
            ("max_connections", 1, 1_000_000),
            ("weight", 1, 256),
            ("fall", 1, 100),
            ("rise", 1, 100),
            ("retries", 0, 100),
            ("buffer", 16 << 10, 16 << 20),
        ):
            _checked(name, getattr(self, name), least, most)
        if self.load_factor != 0:
            _checked("load_factor", self.load_factor, 101, 65535)
        for name in (
            "check_interval",
            "check_timeout",
            "connect_timeout",
            "timeout",
            "body_timeout",
            "drain",
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.001 <= value <= 86400:
                raise ValueError(f"invalid {name} '{value!r}': expected seconds between 0.001 and 86400")

    @property
    def detection(self) -> float:
        """Longest time until a replica that vanished is down: one interval, then checks that time out."""
        return self.check_interval + self.fall * (self.check_timeout + FAST * self.check_interval)


FAST = 0.2  # part of `check_interval` between checks after the first failure


def checked_address(name: str, value: str) -> str:
    """Returns an IP address. Raises `ValueError` if it is none."""
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError(f"invalid {name} '{value!s:.100}': expected an IP address") from None


def _checked(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"invalid {name} '{value!r}': expected an integer between {least} and {most}")
