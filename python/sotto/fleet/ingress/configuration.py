"""Renders the configuration of an ingress: replicas, hashing of sessions, health checks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .settings import FAST, IngressSettings, checked_address
from .words import checked_name, checked_path

HEADER = "x-session-id"
AFFINITY = "x-sotto-affinity"  # what is hashed; set here, whatever a client sends
HEALTH = "/-/healthz"  # of the ingress itself
# HAProxy hashes 4096 * id + point in 32 bits: ids that differ above their 20 lower bits share all points.
_IDS = 1 << 20
# Members of a body that name its session, by precedence. The first message, the system message as a rule,
# stays the same in all turns of a conversation.
_BODY_KEYS = ("$.session", "$.prompt_cache_key", "$.user", "$.system", "$.messages[0].content")


@dataclass(frozen=True)
class Replica:
    """A server of a workload.

    Attributes:
        name: Its name, from which its place on the hash ring follows: a replica with the name of a former one
            takes over the sessions of that one.
        address: IP address.
        port: Port.
    """

    name: str
    address: str
    port: int

    def __post_init__(self) -> None:
        checked_name("name of a replica", self.name)
        checked_address(f"address of the replica '{self.name}'", self.address)
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 1 <= self.port <= 65535:
            raise ValueError(
                f"invalid port of the replica '{self.name}' '{self.port!r}': expected 1 to 65535"
            )


@dataclass(frozen=True)
class Route:
    """A workload: where clients find it, and its replicas.

    Attributes:
        prefix: Path before those of the replica's routes, such as `/endpoint/acme/smith`, which replicas do
            not see; "": the workload takes all paths that no other one takes.
        replicas: Its replicas; none: requests get status 503.
    """

    prefix: str
    replicas: tuple[Replica, ...] = ()

    def __post_init__(self) -> None:
        if self.prefix != "":
            checked_path("prefix", self.prefix)
            if self.prefix.endswith("/"):
                raise ValueError(f"invalid prefix '{self.prefix}': expected no / at its end")
        names = [one.name for one in self.replicas]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"invalid replicas of '{self.prefix}': expected '{twice}' once")

    @property
    def backend(self) -> str:
        """Its name in the configuration."""
        return f"workload{self.prefix.replace('/', ':')}"


def ring_ids(names: Iterable[str]) -> dict[str, int]:
    """Returns a number for each name, by which HAProxy places it on the hash ring.

    The number depends on the name alone, so that every ingress has the same ring, and a replica that goes
    moves no session of another one. (Without it, HAProxy counts servers from 1, and all after the one that
    went change places.) Of names with one number, all but the first in the alphabet get another.
    """
    ids: dict[str, int] = {}
    taken: set[int] = set()
    for name in sorted(set(names)):
        tries = (_digest(f"{name}\0{number}") for number in range(10 * _IDS))
        ids[name] = next(one for one in tries if one not in taken)
        taken.add(ids[name])
    return ids


def configuration(routes: Sequence[Route], settings: IngressSettings, folder: Path) -> str:
    """Returns the configuration of HAProxy, 2.6 or newer. It depends on the arguments alone.

    Args:
        routes: The workloads.
        settings: The ingress.
        folder: Folder of the admin socket.

    Raises:
        ValueError: two workloads have one prefix, or the folder's path has other signs than a route's.
    """
    ordered = sorted(routes, key=lambda one: (-len(one.prefix), one.prefix))
    for one, other in pairwise(ordered):
        if one.prefix == other.prefix:
            raise ValueError(f"invalid routes: expected one workload with the prefix '{one.prefix}'")
    checked_path("folder", str(folder))
    lines = [*_globals(settings, folder), *_defaults(settings), *_frontend(ordered, settings)]
    for route in ordered:
        lines += _backend(route, settings)
    return "\n".join(lines) + "\n"


def _digest(text: str) -> int:
    """Returns a number between 1 and `_IDS` - 1."""
    return 1 + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % (_IDS - 1)


def _ms(seconds: float) -> str:
    return f"{max(round(seconds * 1000), 1)}ms"


def _globals(settings: IngressSettings, folder: Path) -> Iterator[str]:
    yield "global"
    yield "    log fd@2 format raw local0 notice"
    yield f"    stats socket {folder}/admin.sock mode 600 level admin expose-fd listeners"
    yield "    stats timeout 30s"
    yield f"    nbthread {settings.threads}"
    yield f"    maxconn {settings.max_connections}"
    yield f"    hard-stop-after {_ms(settings.drain)}"
    yield f"    tune.bufsize {settings.buffer}"


def _defaults(settings: IngressSettings) -> Iterator[str]:
    yield "defaults"
    yield "    mode http"
    yield "    log global"
    yield f"    timeout connect {_ms(settings.connect_timeout)}"
    yield f"    timeout client {_ms(settings.timeout)}"
    yield f"    timeout server {_ms(settings.timeout)}"
    yield "    timeout http-request 10s"
    yield "    timeout http-keep-alive 60s"
    yield "    timeout queue 10s"
    yield "    option http-no-delay"  # a token is sent when it comes
    yield "    option redispatch 1"  # each further attempt goes to another replica
    yield f"    retries {settings.retries}"
    yield "    retry-on conn-failure empty-response"
    yield "    http-reuse always"
    for status, code, message in (
        (502, "replica_lost", "the replica ended before it answered; ask again"),
        (503, "no_replica", "no replica of this workload is up; ask again later"),
        (504, "timeout", "the replica did not answer in time"),
    ):
        body = _error(status, code, message)
        again = "" if status == 504 else " hdr Retry-After 1"
        yield f"    http-error status {status} content-type application/json string {body}{again}"


def _error(status: int, code: str, message: str) -> str:
    """Returns a body with an error in OpenAI's form, quoted for HAProxy."""
    return (
        f'\'{{"error":{{"code":"{code}","message":"{message}","type":"server_error","status":{status}}}}}\''
    )


def _frontend(routes: Sequence[Route], settings: IngressSettings) -> Iterator[str]:
    host = f"[{settings.address}]" if ":" in settings.address else settings.address
    tls = "" if settings.certificate is None else f" ssl crt {settings.certificate} alpn h2,http/1.1"
    unset = "!{ var(txn.session) -m found }"
    json = f"if METH_POST {unset}"
    yield "frontend ingress"
    yield f"    bind {host}:{settings.port}{tls}"
    yield f"    http-request return status 200 content-type text/plain string ok if {{ path {HEALTH} }}"
    yield f"    http-request del-header {AFFINITY}"
    yield f"    http-request set-var(txn.session) req.hdr({HEADER}) if {{ req.hdr({HEADER}),length gt 0 }}"
    yield (
        "    http-request set-var(txn.session) \"path,regsub('^.*/v1/sessions/([^/]+).*','\\1')\""
        f" if {unset} {{ path_sub /v1/sessions/ }}"
    )
    yield f"    http-request wait-for-body time {_ms(settings.body_timeout)} {json}"
    for key in _BODY_KEYS:
        yield f"    http-request set-var(txn.session) req.body,json_query('{key}') {json}"
    # Texts of all sizes become one number: a system message may be longer than a header may be.
    yield (
        f"    http-request set-header {AFFINITY} %[var(txn.session),xxh64]"
        " if { var(txn.session),length gt 0 }"
    )
    for route in routes:
        if route.prefix:
            taken = f"{{ path {route.prefix} }} || {{ path_beg {route.prefix}/ }}"
            yield f"    use_backend {route.backend} if {taken}"
        else:
            yield f"    default_backend {route.backend}"
    if all(route.prefix for route in routes):
        message = _error(404, "not_found", "no workload has this path")
        yield "    default_backend unknown"
        yield "backend unknown"
        yield f"    http-request return status 404 content-type application/json string {message}"


def _backend(route: Route, settings: IngressSettings) -> Iterator[str]:
    fast = _ms(FAST * settings.check_interval)
    yield f"backend {route.backend}"
    yield f"    balance hdr({AFFINITY})"  # round robin where it is absent
    yield "    hash-type consistent"
    if settings.load_factor:
        yield f"    hash-balance-factor {settings.load_factor}"
    if route.prefix:
        yield f"    http-request replace-path ^{route.prefix.replace('.', '[.]')}/?(.*) /\\1"
    yield "    option httpchk"
    yield f"    http-check send meth GET uri {settings.health_path} hdr Host localhost"
    yield "    http-check disable-on-404"  # a replica that drains finishes what it has, and gets nothing new
    yield f"    timeout check {_ms(settings.check_timeout)}"
    yield (
        f"    default-server weight {settings.weight} check inter {_ms(settings.check_interval)}"
        f" fastinter {fast} downinter {_ms(settings.check_interval)}"
        f" fall {settings.fall} rise {settings.rise}"
        " observe layer4 error-limit 1 on-error fastinter on-marked-down shutdown-sessions"
    )
    ids = ring_ids(one.name for one in route.replicas)
    for one in sorted(route.replicas, key=lambda one: one.name):
        host = f"[{one.address}]" if ":" in one.address else one.address
        yield f"    server {one.name} {host}:{one.port} id {ids[one.name]}"
