"""Parts that the manifests share, and their form as YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError

Manifest = dict[str, Any]
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}:[0-9]{1,5}")


def check_name(parameter: str, name: str) -> str:
    """Returns a name of Kubernetes. Raises `ArgumentError` if it is not one."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"invalid {parameter} '{name}': expected 1 to 40 of a-z, 0-9 and '-', with a letter first and no "
            "'-' at the end"
        )
    return name


def check_image(image: str) -> str:
    """Returns the name of a container image. Raises `ArgumentError` if it is not one."""
    if not _IMAGE.fullmatch(image):
        raise ArgumentError(f"invalid --image '{image}': expected the name of an image, as registry/name:tag")
    return image


def check_host(parameter: str, address: str) -> str:
    """Returns `HOST:PORT`. Raises `ArgumentError` if it is not one."""
    if not _HOST.fullmatch(address) or not 0 < int(address.rpartition(":")[2]) < 65536:
        raise ArgumentError(f"invalid {parameter} '{address}': expected HOST:PORT")
    return address


def metadata(name: str, namespace: str, **labels: str) -> Manifest:
    """Returns the metadata of an object."""
    return {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "sotto", **labels}}


def from_secret(name: str, secret: str, key: str) -> Manifest:
    """Returns a variable of a container whose value is in a Secret."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def resources(cores: int, memory_mb: int, gpus: int = 0) -> Manifest:
    """Returns the resources of a container: it gets what it asks for, and no more."""
    sizes = {"cpu": str(cores), "memory": f"{memory_mb}Mi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {"requests": dict(sizes), "limits": sizes}


def to_yaml(manifests: Sequence[Manifest]) -> str:
    """Returns manifests as YAML, one document each."""
    import yaml

    apart = json.loads(json.dumps(manifests))  # else parts that are used twice become references
    return str(yaml.safe_dump_all(apart, sort_keys=False, explicit_start=True, width=100))
