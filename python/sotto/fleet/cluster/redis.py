"""The head's state in Redis: what is wrong with it is said before Ray starts, within seconds."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import NamedTuple

from ...errors import ArgumentError
from .start_hook import PASSWORD

_TIMEOUT = 5.0  # seconds for a connection and for each answer
_LINE = 1 << 16  # bytes of the longest answer


class Redis(NamedTuple):
    """Where the head keeps its state.

    Attributes:
        address: `HOST:PORT` of Redis.
        password: Its password; empty: none.
        wait: Seconds for which nodes wait for a head that is lost.
    """

    address: str
    password: str
    wait: int


class _Refused(Exception):
    """Redis answered with an error, which is the message."""


class _Connection:
    """A connection to Redis. Used in a `with` statement."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), _TIMEOUT)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self._answers.close()
        self._socket.close()

    def ask(self, *words: str) -> str | None:
        """Returns the answer of a command. Raises `_Refused`, or `OSError` if it is none of Redis."""
        parts = [f"*{len(words)}\r\n".encode()]
        for word in words:
            data = word.encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self._socket.sendall(b"".join(parts))
        line = self._answers.readline(_LINE)
        kind, rest = line[:1], line[1:].decode(errors="replace").rstrip("\r\n")
        if kind == b"-":
            raise _Refused(rest)
        if kind == b"+":
            return rest
        if kind == b"$" and rest.lstrip("-").isdecimal() and int(rest) < _LINE:
            return None if int(rest) < 0 else self._answers.read(int(rest) + 2)[:-2].decode(errors="replace")
        raise OSError("what answers there is not Redis")


def password(file: Path | None) -> str:
    """Returns the password of Redis: that of the file, or of the environment; empty: none.

    Raises:
        ArgumentError: The file cannot be read, is empty, or other users may read it.
    """
    if file is None:
        return os.environ.get(PASSWORD, "")
    try:
        found = file.read_text(encoding="utf-8").strip()
        shared = file.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read --redis-password-file '{file}': {error}") from None
    if not found:
        raise ArgumentError(f"invalid --redis-password-file '{file}': expected a password; it is empty")
    if shared:
        raise ArgumentError(
            f"invalid --redis-password-file '{file}': other users may read it; `chmod 600 {file}` prevents it"
        )
    return found


def namespace(token_file: Path) -> str:
    """Returns the name of the fleet's state in Redis; fleets with other tokens have others."""
    return f"sotto-{hashlib.sha256(token_file.read_bytes().strip()).hexdigest()[:16]}"


def claim(redis: Redis, head: str, token_file: Path) -> None:
    """Notes in Redis that the fleet of this token has its head at `HOST:PORT`.

    Raises:
        ArgumentError: Redis does not answer, refuses the password or to write, or knows another head.
    """
    host, _, port = redis.address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ArgumentError(f"invalid --redis '{redis.address}': expected HOST:PORT, as 10.0.0.9:6379")
    key = f"{namespace(token_file)}:head"
    try:
        with _Connection(host.strip("[]"), int(port)) as connection:
            if redis.password:
                connection.ask("AUTH", redis.password)
            connection.ask("SET", key, head, "NX")
            known = connection.ask("GET", key)
    except _Refused as error:
        raise ArgumentError(_refusal(redis, str(error))) from None
    except OSError as error:
        raise ArgumentError(
            f"no Redis at --redis '{redis.address}': {error.strerror or error}; start redis-server there, or "
            "leave --redis out: the fleet then ends with its head"
        ) from None
    if known != head:
        raise ArgumentError(
            f"--redis '{redis.address}' holds the state of this fleet with its head at {known}, not {head}, "
            f"and its nodes wait there; start the head with --address and --head-port of {known}, or begin "
            "another fleet with a new --token-file"
        )


def _refusal(redis: Redis, reason: str) -> str:
    """Returns an error of Redis in words that name the parameter."""
    if reason.startswith("NOAUTH"):
        return (
            f"--redis '{redis.address}' needs a password: --redis-password-file or the variable {PASSWORD} "
            "gives it"
        )
    if reason.startswith("WRONGPASS") or "AUTH" in reason:
        return (
            f"--redis '{redis.address}' refuses the password of --redis-password-file or {PASSWORD}: {reason}"
        )
    return f"--redis '{redis.address}' cannot keep the state of the head: {reason}"


def variables(redis: Redis, token_file: Path) -> dict[str, str]:
    """Returns the environment of the head's node, for `start_hook`."""
    return {
        "RAY_REDIS_ADDRESS": redis.address,
        "RAY_external_storage_namespace": namespace(token_file),
        PASSWORD: redis.password,
    }
