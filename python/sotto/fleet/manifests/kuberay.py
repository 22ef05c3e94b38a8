"""`cluster()`: a fleet on Kubernetes, a RayCluster for KubeRay 1.5 or newer, and a Service of the gateway."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..cluster import settings
from .parts import Manifest, from_secret, metadata, resources

RAY = "2.60.0"  # as the extra fleet-ray pins it
GCS, NODE_MANAGER, GATEWAY = 6379, 6380, 8090  # ports
_OBJECT_STORE = 128 << 20  # bytes; answers do not go through it
_OVERHEAD_MB = 1024  # memory of a container beside that of replicas: Ray's own processes and its object store
_TOKEN = "/run/sotto/fleet.token"


class Cluster(NamedTuple):
    """A fleet on Kubernetes.

    Attributes:
        image: Image with `sotto-runtime[fleet,fleet-ray]`.
        name: Name of the objects; nodes are NAME-1, NAME-2, ...
        namespace: Namespace of the objects.
        nodes: Number of nodes, beside that of the head, which runs no replicas.
        cores: Cores of a node.
        memory_mb: Memory of a node for replicas, in MB.
        gpu: Id and memory in MB of the GPU of each node; None: no GPU.
        secret: Secret with the keys `token` (of the cluster) and `database` (address of PostgreSQL).
        redis: `HOST:PORT` of Redis, by which the head comes back with its state; None: it does not.
        models: PersistentVolumeClaim with model files, mounted at /models; None: none.
    """

    image: str
    name: str = "sotto"
    namespace: str = "default"
    nodes: int = 2
    cores: int = 4
    memory_mb: int = 8192
    gpu: tuple[str, int] | None = None
    secret: str = "sotto-fleet"
    redis: str | None = None
    models: str | None = None


def cluster(wanted: Cluster) -> list[Manifest]:
    """Returns the RayCluster and the Service."""
    spec: Manifest = {
        "rayVersion": RAY,
        "headGroupSpec": {
            "serviceType": "ClusterIP",
            "rayStartParams": {"num-cpus": "0", "num-gpus": "0", **_start_params(GCS, "port")},
            "template": _pod(wanted, [_ray(wanted, "ray-head", GCS, 1, _OVERHEAD_MB), _control(wanted)]),
        },
        "workerGroupSpecs": [_worker(wanted, number) for number in range(1, wanted.nodes + 1)],
    }
    if wanted.redis is not None:
        spec = {"gcsFaultToleranceOptions": {"redisAddress": wanted.redis}, **spec}
    return [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": metadata(wanted.name, wanted.namespace),
            "spec": spec,
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(f"{wanted.name}-gateway", wanted.namespace),
            "spec": {
                "type": "ClusterIP",
                "selector": {"ray.io/cluster": wanted.name, "ray.io/node-type": "head"},
                "ports": [{"name": "http", "port": 80, "targetPort": "gateway"}],
            },
        },
    ]


def _start_params(port: int, name: str) -> dict[str, str]:
    """Returns what both kinds of nodes are started with."""
    telemetry = {"include-dashboard": "false"} if name == "port" else {}
    return {name: str(port), "object-store-memory": str(_OBJECT_STORE), **telemetry}


def _worker(wanted: Cluster, number: int) -> Manifest:
    """Returns a group of one node: labels are those of a group, and each node has its own name."""
    name = f"{wanted.name}-{number}"
    labels = {settings.NODE: name, settings.VERSION: settings.version_label()}
    if wanted.gpu is not None:
        labels |= {settings.GPU: wanted.gpu[0], settings.GPU_MB: str(wanted.gpu[1])}
    gpus = 0 if wanted.gpu is None else 1
    memory = wanted.memory_mb + _OVERHEAD_MB
    container = _ray(wanted, "ray-worker", NODE_MANAGER, wanted.cores, memory, gpus)
    return {
        "groupName": f"node-{number}",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "labels": labels,
        "rayStartParams": {
            "num-cpus": str(wanted.cores),
            "num-gpus": str(gpus),
            "memory": str(wanted.memory_mb << 20),
            **_start_params(NODE_MANAGER, "node-manager-port"),
        },
        "template": _pod(wanted, [container]),
    }


def _pod(wanted: Cluster, containers: list[Manifest]) -> Manifest:
    """Returns a pod whose containers have the token as a file of their own user, as Sotto requires."""
    copy = {
        "name": "token",
        "image": wanted.image,
        "command": ["install", "-m", "600", "/run/secret/token", _TOKEN],
        "volumeMounts": [
            {"name": "secret", "mountPath": "/run/secret", "readOnly": True},
            {"name": "token", "mountPath": "/run/sotto"},
        ],
    }
    volumes: list[Manifest] = [
        {
            "name": "secret",
            "secret": {"secretName": wanted.secret, "items": [{"key": "token", "path": "token"}]},
        },
        {"name": "token", "emptyDir": {"medium": "Memory"}},
        {"name": "ray", "emptyDir": {}},
    ]
    if wanted.models is not None:
        volumes.append(
            {"name": "models", "persistentVolumeClaim": {"claimName": wanted.models, "readOnly": True}}
        )
    return {"spec": {"initContainers": [copy], "containers": containers, "volumes": volumes}}


def _ray(wanted: Cluster, name: str, port: int, cores: int, memory_mb: int, gpus: int = 0) -> Manifest:
    """Returns a container of Ray. KubeRay writes its command, and its probes where there are none."""
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 5, "timeoutSeconds": 3}
    return {
        "name": name,
        "image": wanted.image,
        "env": [{"name": key, "value": value} for key, value in settings.environment(_TOKEN).items()],
        "ports": [{"containerPort": port, "name": "gcs" if port == GCS else "node"}],
        "resources": resources(cores, memory_mb, gpus),
        "readinessProbe": {**probe, "failureThreshold": 3},
        "livenessProbe": {**probe, "initialDelaySeconds": 30, "failureThreshold": 24},
        "volumeMounts": _mounts(wanted),
    }


def _control(wanted: Cluster) -> Manifest:
    """Returns the container of the control plane and the gateway, beside Ray's head."""
    probe: Manifest = {"httpGet": {"path": "/health", "port": "gateway"}, "periodSeconds": 5}
    return {
        "name": "control-plane",
        "image": wanted.image,
        "command": [
            "sotto", "fleet", "serve", "--placement", "ray", "--head", f"$(POD_IP):{GCS}",
            "--token-file", _TOKEN, "--host", "$(POD_IP)", "--port", str(GATEWAY),
        ],
        "env": [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            from_secret("SOTTO_FLEET_DATABASE", wanted.secret, "database"),
        ],
        "ports": [{"containerPort": GATEWAY, "name": "gateway"}],
        "resources": resources(1, _OVERHEAD_MB),
        "readinessProbe": {**probe, "failureThreshold": 2},
        "livenessProbe": {**probe, "initialDelaySeconds": 60, "failureThreshold": 12},
        "volumeMounts": _mounts(wanted),
    }  # fmt: skip


def _mounts(wanted: Cluster) -> list[dict[str, Any]]:
    """Returns what is mounted. `/tmp/ray`: sockets by which the control plane reaches Ray's head."""
    mounts: list[dict[str, Any]] = [
        {"name": "token", "mountPath": "/run/sotto", "readOnly": True},
        {"name": "ray", "mountPath": "/tmp/ray"},
    ]
    if wanted.models is not None:
        mounts.append({"name": "models", "mountPath": "/models", "readOnly": True})
    return mounts
