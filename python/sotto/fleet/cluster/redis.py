"""The head's state in Redis: what is wrong with it is said before Ray starts, within seconds."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ...errors import ArgumentError
from .start_hook import PASSWORD

_TIMEOUT = 5.0  # seconds for a connection and for each answer


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
    import redis as client
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    key = f"{namespace(token_file)}:head"
    try:
        with client.Redis(
            host=host.strip("[]"),
            port=int(port),
            password=redis.password or None,
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        ) as connection:
            connection.set(key, head, nx=True)
            known = connection.get(key)
    except client.AuthenticationError as error:
        raise ArgumentError(_refused_password(redis, str(error))) from None
    except client.ResponseError as error:
        reason = f"cannot keep the state of the head: {error}"
        raise ArgumentError(f"--redis '{redis.address}' {reason}") from None
    except (client.RedisError, OSError) as error:
        wrong = isinstance(error, client.InvalidResponse)
        reason = "what answers there is not Redis" if wrong else str(error).rstrip(".")
        raise ArgumentError(
            f"no Redis at --redis '{redis.address}': {reason}; start redis-server there, or leave --redis "
            "out: the fleet then ends with its head"
        ) from None
    if known != head:
        raise ArgumentError(
            f"--redis '{redis.address}' holds the state of this fleet with its head at {known}, not {head}, "
            f"and its nodes wait there; start the head with --address and --head-port of {known}, or begin "
            "another fleet with a new --token-file"
        )


def _refused_password(redis: Redis, reason: str) -> str:
    """Returns the refusal of a password, or of none, in words that name the parameter."""
    if not redis.password:
        return (
            f"--redis '{redis.address}' needs a password: --redis-password-file or the variable {PASSWORD} "
            "gives it"
        )
    return f"--redis '{redis.address}' refuses the password of --redis-password-file or {PASSWORD}: {reason}"


def variables(redis: Redis, token_file: Path) -> dict[str, str]:
    """Returns the environment of the head's node, for `start_hook`."""
    return {
        "RAY_REDIS_ADDRESS": redis.address,
        "RAY_external_storage_namespace": namespace(token_file),
        PASSWORD: redis.password,
    }
