"""Manifests for Kubernetes: the fleet by KubeRay, and game servers of Agones that use it."""

from .agones import Game, game_servers
from .kuberay import Cluster, cluster
from .parts import to_yaml

__all__ = ["Cluster", "Game", "cluster", "game_servers", "to_yaml"]
