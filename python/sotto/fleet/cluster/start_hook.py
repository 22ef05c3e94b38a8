"""Runs in `ray start`, before the node: what no argument of that command says."""

from __future__ import annotations

import os
from typing import Any

PATH = f"{__name__}.prepare"  # Ray imports it from the variable RAY_START_HOOK
PASSWORD = "SOTTO_FLEET_REDIS_PASSWORD"


def prepare(parameters: Any, head: bool) -> None:
    """Turns the server for Ray clients off, which would listen at all addresses, and hides the password."""
    parameters.ray_client_server_port = None
    secret = os.environ.pop(PASSWORD, "")
    if head and secret:
        _hide(secret)


def _hide(secret: str) -> None:
    """Gives the password of Redis to the GCS alone, in its environment.

    Ray would write it on the command lines of the GCS and of each worker, which all users of the machine can
    read.
    """
    from ray._private import node, ray_constants, services

    read, start = node.get_session_key_from_storage, services.start_ray_process

    def read_session(host: str, port: int, user: str, _: str, *rest: Any) -> Any:
        return read(host, port, user, secret, *rest)

    def start_process(command: list[str], kind: str, *rest: Any, **options: Any) -> Any:
        if kind == ray_constants.PROCESS_TYPE_GCS_SERVER:
            command = [*command, "--fromenv=redis_password"]  # gflags: from FLAGS_redis_password
            options["env_updates"] = {"FLAGS_redis_password": secret}
        return start(command, kind, *rest, **options)

    node.get_session_key_from_storage = read_session
    services.start_ray_process = start_process
