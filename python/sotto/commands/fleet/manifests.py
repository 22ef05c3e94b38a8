"""`sotto fleet manifests`: prints YAML for Kubernetes: the fleet by KubeRay, or game servers of Agones."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import needs_extra

if TYPE_CHECKING:
    from ...fleet.manifests.parts import Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto fleet manifests` to `parser`."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    kuberay = kinds.add_parser(
        "kuberay", help="a RayCluster with Sotto's nodes, and a Service of the gateway"
    )
    _add_common(kuberay, "sotto", "image with sotto-runtime[fleet,fleet-ray]")
    kuberay.add_argument(
        "--nodes", type=types.count(1, 1000), default=2, metavar="N", help="nodes (%(default)s)"
    )
    kuberay.add_argument(
        "--cores", type=types.count(1, 4096), default=4, metavar="N", help="cores of a node (%(default)s)"
    )
    kuberay.add_argument(
        "--memory", type=types.count(1, types.MOST_MB), default=8192, metavar="MB",
        help="memory of a node for replicas (%(default)s)",
    )  # fmt: skip
    kuberay.add_argument("--gpu", metavar="ID=MB", help="id of each node's GPU, and its memory (no GPU)")
    kuberay.add_argument(
        "--secret", default="sotto-fleet", metavar="NAME",
        help="Secret with the keys token and database (%(default)s)",
    )  # fmt: skip
    kuberay.add_argument(
        "--redis", metavar="HOST:PORT", help="Redis that keeps the state of Ray's head (none)"
    )
    kuberay.add_argument("--models", metavar="CLAIM", help="PersistentVolumeClaim, mounted at /models (none)")
    agones = kinds.add_parser("agones", help="a Fleet of game servers that call workloads")
    _add_common(agones, "game", "image of the game server")
    agones.add_argument("--endpoint", required=True, metavar="URL", help="address of the gateway")
    agones.add_argument("--project", required=True, metavar="SLUG", help="project of the workloads")
    agones.add_argument(
        "--nodes", type=types.count(0, 100_000), default=2, metavar="N", help="game servers (%(default)s)"
    )
    agones.add_argument(
        "--port", type=types.count(1, 65535), default=7777, metavar="N", help="its UDP port (%(default)s)"
    )
    agones.add_argument(
        "--cores", type=types.count(1, 4096), default=1, metavar="N", help="cores of each one (%(default)s)"
    )
    agones.add_argument(
        "--memory", type=types.count(1, types.MOST_MB), default=1024, metavar="MB",
        help="memory of each one (%(default)s)",
    )  # fmt: skip
    agones.add_argument(
        "--secret", default="sotto-game", metavar="NAME",
        help="Secret with the key api-key, an ik_live_ token (%(default)s)",
    )  # fmt: skip


def _add_common(parser: argparse.ArgumentParser, name: str, image: str) -> None:
    parser.add_argument("--image", required=True, help=image)
    parser.add_argument("--name", default=name, help="name of the objects (%(default)s)")
    parser.add_argument("--namespace", default="default", help="their namespace (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Prints the manifests. Returns the exit status."""
    try:
        from ...fleet.manifests import to_yaml

        made = _cluster(arguments) if arguments.kind == "kuberay" else _game(arguments)
        text = to_yaml(made)
    except ModuleNotFoundError as error:
        raise needs_extra(error) from None
    screen.say(text.rstrip())
    return 0


def _cluster(arguments: argparse.Namespace) -> list[Manifest]:
    from ...fleet.cluster.settings import check_name as check_id
    from ...fleet.manifests import Cluster, cluster
    from ...fleet.manifests.parts import check_host, check_image, check_name

    gpu = None
    if arguments.gpu is not None:
        id, _, size = arguments.gpu.partition("=")
        if not size.isdecimal() or not 0 < int(size) <= types.MOST_MB:
            raise ArgumentError(f"invalid --gpu '{arguments.gpu}': expected ID=MB, as gpu0=24576")
        gpu = (check_id(id), int(size))
    return cluster(
        Cluster(
            image=check_image(arguments.image),
            name=check_name("--name", arguments.name),
            namespace=check_name("--namespace", arguments.namespace),
            nodes=arguments.nodes,
            cores=arguments.cores,
            memory_mb=arguments.memory,
            gpu=gpu,
            secret=check_name("--secret", arguments.secret),
            redis=None if arguments.redis is None else check_host("--redis", arguments.redis),
            models=None if arguments.models is None else check_name("--models", arguments.models),
        )
    )


def _game(arguments: argparse.Namespace) -> list[Manifest]:
    from ...fleet.manifests import Game, game_servers
    from ...fleet.manifests.parts import check_image, check_name

    return game_servers(
        Game(
            image=check_image(arguments.image),
            endpoint=arguments.endpoint,
            project=arguments.project,
            name=check_name("--name", arguments.name),
            namespace=check_name("--namespace", arguments.namespace),
            replicas=arguments.nodes,
            port=arguments.port,
            cores=arguments.cores,
            memory_mb=arguments.memory,
            secret=check_name("--secret", arguments.secret),
        )
    )
