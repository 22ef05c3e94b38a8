"""Settings of a Ray cluster that all its processes share: authentication, telemetry, names of labels."""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import os
import re
import secrets
import socket
import time
from pathlib import Path

from ...errors import ArgumentError

NEEDS = "needs the extra 'fleet-ray', and Python 3.11 or later: pip install sotto-runtime[fleet,fleet-ray]"
NODE, VERSION, GPU, GPU_MB = "sotto-node", "sotto-version", "sotto-gpu", "sotto-gpu-mb"  # labels of a node
DATABASE = "SOTTO_FLEET_DATABASE"  # variable: a store that the replicas of a node know
HEAD_WAIT = "sotto-head-wait"  # label of a head that comes back: seconds for which nodes wait for it
WAIT_VARIABLE = "RAY_gcs_rpc_server_reconnect_timeout_s"  # after which a process without a head ends
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")  # values of Ray's labels
_CONNECT_TIMEOUT = 5.0  # seconds
_FREE_TIMEOUT = 5.0  # seconds until the port of a head has to be free
_MIN_TOKEN = 32  # characters


def check_installed() -> None:
    """Raises `ArgumentError` if Ray is not installed."""
    for name in ("ray", "aiohttp", "fastapi"):  # of `ray[serve]`; not imported before its variables are set
        if importlib.util.find_spec(name) is None:
            raise ArgumentError(f"placement 'ray' {NEEDS} ({name} is missing)")


def variables(token_file: Path) -> dict[str, str]:
    """Returns the environment of each process that starts or joins a cluster.

    Ray's ports require the token of the file; Ray sends no usage statistics.

    Raises:
        ArgumentError: The file holds no token, or other users may read it.
    """
    try:
        token = token_file.read_text(encoding="ascii").strip()
        shared = token_file.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"cannot read the token of the cluster, {token_file}: {error}; `sotto fleet up` makes it, and "
            "each machine that joins needs a copy"
        ) from None
    if len(token) < _MIN_TOKEN:
        raise ArgumentError(f"invalid token in {token_file}: expected at least {_MIN_TOKEN} characters")
    if shared:
        raise ArgumentError(f"other users may read {token_file}; `chmod 600 {token_file}` prevents it")
    return environment(str(token_file.absolute()))


def environment(token_path: str) -> dict[str, str]:
    """Returns the variables of `variables()` for a file of another machine."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": token_path,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_SERVE_ENABLE_HA_PROXY": "0",  # it would listen at all addresses
        "RAY_worker_niceness": "0",  # else 15: other programs of the machine would slow the answers
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a replica without a GPU sees none
    }


def make_token(token_file: Path) -> None:
    """Makes the token of a cluster, if the file does not exist; this user alone may read it."""
    token_file.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))


def check_name(name: str) -> str:
    """Returns the name of a node or a GPU. Raises `ArgumentError` if Ray's labels cannot hold it."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"invalid name '{name}': expected 1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', with a letter or a "
            "digit at both ends"
        )
    return name


def check_private(host: str) -> str:
    """Returns an address of a private network. Raises `ArgumentError` if it is not one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise ArgumentError(f"invalid address '{host}': expected an IP address of this machine") from None
    if not address.is_private or address.is_unspecified or host in ("127.0.0.1", "::1"):
        raise ArgumentError(
            f"invalid address '{host}': expected one of a private network, as 10.0.0.5, or 127.0.0.2 for a "
            "fleet of this machine alone; Ray's ports are for machines of the fleet"
        )
    return host


def check_reachable(head: str) -> None:
    """Raises `ArgumentError` if nothing listens at `HOST:PORT`; Ray would wait for a minute."""
    host, _, port = head.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ArgumentError(f"invalid head '{head}': expected HOST:PORT, as `sotto fleet up` says it")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT).close()
    except OSError as error:
        raise ArgumentError(
            f"no head of a fleet answers at {head}: {error.strerror or error}; `sotto fleet up` starts one"
        ) from None


def check_free(head: str) -> None:
    """Raises `ArgumentError` if this machine cannot listen at `HOST:PORT`, now and for some seconds more.

    A head that was killed may take that long to end.
    """
    host, _, port = head.rpartition(":")
    end = time.monotonic() + _FREE_TIMEOUT
    while True:
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, int(port)))
                return
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ArgumentError(
                    f"invalid --address '{host}': expected an IP address of this machine"
                ) from None
            if time.monotonic() > end:
                raise ArgumentError(
                    f"invalid --head-port '{port}': cannot listen at {head}: {error.strerror}; end the head "
                    "that runs there, or choose another port"
                ) from None
        time.sleep(0.2)


def version_label() -> str:
    """Returns this version of Sotto as the value of a label."""
    from ... import __version__

    return re.sub(r"[^A-Za-z0-9_.-]", "-", __version__)[:63]
