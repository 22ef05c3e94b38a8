"""`game_servers()`: a Fleet of Agones whose game servers call workloads with a live key."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from ...errors import ArgumentError
from .parts import Manifest, from_secret, metadata, resources


class Game(NamedTuple):
    """Game servers of Agones.

    Attributes:
        image: Image of the game server.
        endpoint: Address of the fleet's gateway.
        project: Project of the workloads.
        name: Name of the Fleet.
        namespace: Namespace of the Fleet and of the Secret.
        replicas: Game servers that are kept ready.
        port: UDP port of the game server in its container.
        cores: Cores of a game server.
        memory_mb: Memory of a game server in MB.
        secret: Secret with the key `api-key`: a token `ik_live_...`.
    """

    image: str
    endpoint: str
    project: str
    name: str = "game"
    namespace: str = "default"
    replicas: int = 2
    port: int = 7777
    cores: int = 1
    memory_mb: int = 1024
    secret: str = "sotto-game"


def game_servers(wanted: Game) -> list[Manifest]:
    """Returns the Fleet.

    Raises:
        ArgumentError: The endpoint is no address.
    """
    _check_endpoint(wanted.endpoint)
    container = {
        "name": wanted.name,
        "image": wanted.image,
        "env": [
            {"name": "INFERENCEKEY_BASE_URL", "value": wanted.endpoint},
            {"name": "INFERENCEKEY_PROJECT", "value": wanted.project},
            from_secret("INFERENCEKEY_API_KEY", wanted.secret, "api-key"),
        ],
        "resources": resources(wanted.cores, wanted.memory_mb),
    }
    server = {
        "ports": [{"name": "game", "portPolicy": "Dynamic", "containerPort": wanted.port, "protocol": "UDP"}],
        "health": {"initialDelaySeconds": 30, "periodSeconds": 5, "failureThreshold": 3},
        "template": {"spec": {"containers": [container]}},
    }
    return [
        {
            "apiVersion": "agones.dev/v1",
            "kind": "Fleet",
            "metadata": metadata(wanted.name, wanted.namespace),
            "spec": {
                "replicas": wanted.replicas,
                "scheduling": "Packed",
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
                "template": {
                    "metadata": {"labels": {"app.kubernetes.io/part-of": "sotto"}},
                    "spec": server,
                },
            },
        }
    ]


def _check_endpoint(endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.password
    except ValueError:
        valid = False
    if not valid:
        raise ArgumentError(
            f"invalid --endpoint '{endpoint}': expected the address of the gateway, as "
            "http://sotto-gateway.default.svc"
        )
